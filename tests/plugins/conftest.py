"""The fixtures of the core's tests, for the packages that work on an opened project."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.core.conftest import config, note, opened, payload, summarizer
from tests.support import lived_in

from holdfast import Holdfast

__all__ = ["config", "note", "opened", "payload", "summarizer"]


@pytest.fixture
def memory(project, clock) -> Iterator[Holdfast]:
    """The project with the default plugins."""
    with Holdfast.open(project, clock=clock) as opened:
        yield opened


@pytest.fixture(scope="session")
def two_weeks(tmp_path_factory) -> tuple[Path, lived_in.Clock]:
    """A project after two weeks with one blocked compaction, and its clock. Tests only read it and its home."""
    folder = tmp_path_factory.mktemp("weeks")
    with pytest.MonkeyPatch.context() as patch:
        at_home(patch, folder)
        return folder / "shop", lived_in.build(folder / "shop", weeks=2)


def at_home(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Be the user of the project in this folder, who has the key of its private state."""
    patch.setenv("HOME", str(folder / "home"))
    patch.setenv("USERPROFILE", str(folder / "home"))
    patch.delenv("XDG_CONFIG_HOME", raising=False)
