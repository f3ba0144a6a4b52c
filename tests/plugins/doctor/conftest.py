"""Git runs the merge driver of these tests without starting Python anew for each file."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support import processes


@pytest.fixture(scope="session")
def _programs(tmp_path_factory) -> Path:
    return processes.programs(tmp_path_factory.mktemp("programs") / "bin")


@pytest.fixture(autouse=True)
def scripts(_programs, monkeypatch) -> Path:
    """The folder of the programs that git finds."""
    monkeypatch.setattr("tests.support.git.sysconfig", SimpleNamespace(get_path=lambda _: str(_programs)))
    return _programs
