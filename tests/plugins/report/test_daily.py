"""The morning report of several forges, and the one that a day's first session start stores."""

import json
import os
import time
from pathlib import Path

import pytest
from tests.plugins.outbox.test_outbox import Board
from tests.support import processes
from tests.support.git import git
from tests.support.trusting import trusted

from holdfast import Holdfast
from holdfast_app.outbox.forge import Activity


@pytest.fixture
def repo(project) -> Path:
    git(project, "init", "-q", "-b", "main", ".")
    git(project, "commit", "-q", "--allow-empty", "-m", "Fix the login")
    return project


def test_morning__two_forges__each_line_names_its_forge(repo):
    board = Board(repo)
    board.activity = lambda since, until: [Activity("comment", "o/r#1", "x", "well done", until)]  # type: ignore[method-assign]
    with Holdfast.open(repo, plugins=[("test0", board)]) as memory:
        told = [line.text[17:] for line in memory.morning().sections["On the forge"]]
    assert sorted(told) == ["git main commit by t: Fix the login", "the board o/r#1 comment: well done"]


def test_screen__several_commits__are_one_row_with_their_branches(repo):
    git(repo, "commit", "-q", "--allow-empty", "-m", "fix: the logout")
    with Holdfast.open(repo) as memory:
        assert "- commits: main" in memory.morning().screen


def start(repo: Path, session: str) -> None:
    """A session start, as a client's hook runs it."""
    event = {"hook_event_name": "SessionStart", "session_id": session, "cwd": str(repo), "source": "startup"}
    done = processes.run("hook", "claude-code", cwd=repo, data=json.dumps(event))
    assert done.returncode == 0, done.stderr


def stored(repo: Path) -> list[Path]:
    return sorted((repo / ".holdfast" / "memory" / "reports").glob("*.md"))


def test_start__reports_are_daily__the_first_of_a_day_stores_it_once(repo):
    (repo / "holdfast.toml").write_text('[report]\nwhen = "daily"\n[dream]\nwhen = "manual"\n', encoding="utf-8")
    trusted(repo)
    start(repo, "one")
    until = time.monotonic() + 90
    while not stored(repo) and time.monotonic() < until:
        time.sleep(0.1)
    [path] = stored(repo)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Morning report: everything since ")
    assert "main commit by t: Fix the login" in text
    at = os.stat(path).st_mtime_ns
    start(repo, "two")
    time.sleep(1)
    assert [os.stat(one).st_mtime_ns for one in stored(repo)] == [at]
    with Holdfast.open(repo) as memory:
        assert memory.validate().errors == ()
