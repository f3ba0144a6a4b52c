"""One victim a test, and servers that nothing may reach."""

from collections.abc import Iterator

import pytest
from tests.support.recorder import Recorder
from tests.trust.clones import Victim


@pytest.fixture
def victim(tmp_path) -> Victim:
    return Victim.make(tmp_path)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder() as server:
        yield server
