"""With ``FUZZ_UNTIL``, a time, the targets run in random order and stop then (``python -m tests.fuzz``)."""

import os
import random
import time
from pathlib import Path

import pytest
from tests.fuzz.project import Project

_UNTIL = float(os.environ.get("FUZZ_UNTIL", "inf"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "FUZZ_UNTIL" in os.environ:
        random.Random(os.environ.get("PYTEST_XDIST_TESTRUNUID", "")).shuffle(items)  # the same in each worker


@pytest.fixture(autouse=True)
def in_time() -> None:
    if time.time() > _UNTIL:
        pytest.skip("the time is over")


@pytest.fixture
def made(project) -> Project:
    return Project(project, Path(os.environ["HOME"]))
