"""Lets the tests of this folder import their kit, here and in the processes that they start."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, os.path.dirname(__file__))


@pytest.fixture
def scratch(tmp_path) -> Iterator[Path]:
    """A folder in memory where there is one: for thousands of crashes, of which none needs a real disk's flush."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="holdfast-") as folder:
        yield Path(folder)
