"""The command line in this process, and a home folder without any client in it."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.core.cli.conftest import Result as Said
from tests.core.cli.conftest import run

__all__ = ["Said", "run"]


@pytest.fixture
def home() -> Path:
    """The home folder of the test."""
    return Path(os.environ["HOME"])


@pytest.fixture
def command(run, monkeypatch) -> Callable[..., Said]:
    """``command("install", "codex", stdin=b"")`` in the project's folder, without a terminal."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return run
