"""Projects opened with this plugin and no other."""

from collections.abc import Callable

import pytest
from tests.core.conftest import NO_PLUGINS

from holdfast_app.config import Config


@pytest.fixture
def config() -> Callable[..., Config]:
    """``config(**changes)``: UTC, only the plugin ``offline`` enabled."""
    plugins = {name: off for name, off in NO_PLUGINS.items() if name != "offline"}
    return lambda **changes: Config(**{"zone": "UTC", "plugins": plugins, **changes})
