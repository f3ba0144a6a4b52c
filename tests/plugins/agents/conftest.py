"""The command line in this process, and a home folder without any client in it."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from holdfast_cli import main


class Said(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def home() -> Path:
    """The home folder of the test."""
    return Path(os.environ["HOME"])


@pytest.fixture
def command(project, home, monkeypatch, capsys) -> Callable[..., Said]:
    """``command("install", "codex", stdin=b"")`` in the project's folder, without a terminal."""
    monkeypatch.chdir(project)
    for name in ("NO_COLOR", "FORCE_COLOR", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

    def call(*words: str, stdin: bytes = b"") -> Said:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        code = main(words)
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return call
