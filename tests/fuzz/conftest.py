"""With ``FUZZ_UNTIL``, a time, the targets run in random order and stop then (``python -m tests.fuzz``)."""

import os
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fuzz.project import Project

#: Names of variables that no test takes over.
OF_ITS_OWN = re.compile("HOLDFAST_|CLAUDECODE$|OPENCODE$|XDG_CONFIG_HOME$").match
_UNTIL = float(os.environ.get("FUZZ_UNTIL", "inf"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "FUZZ_UNTIL" in os.environ:
        random.Random(os.environ.get("PYTEST_XDIST_TESTRUNUID", "")).shuffle(items)  # the same in each worker


@pytest.fixture(autouse=True)
def in_time() -> None:
    if time.time() > _UNTIL:
        pytest.skip("the time is over")


@pytest.fixture(scope="session")
def template(tmp_path_factory) -> Project:
    """One project for all targets, with a home of its own: to make it takes longer than to fuzz a file of it."""
    folder = tmp_path_factory.mktemp("fuzz")
    home, root = folder / "home", folder / "project"
    home.mkdir()
    root.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name in [*filter(OF_ITS_OWN, os.environ)]:
            patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("USERPROFILE", str(home))
        patch.setattr("holdfast_app.background.start", lambda *_: None)
        return Project(root, home)


@pytest.fixture
def made(template, monkeypatch) -> Iterator[Project]:
    """The project as it was made."""
    monkeypatch.setenv("HOME", str(template.home))
    monkeypatch.setenv("USERPROFILE", str(template.home))
    yield template
    template.put_back()


@pytest.fixture
def other(project) -> Project:
    """A project that a test may change for good."""
    return Project(project, Path(os.environ["HOME"]))
