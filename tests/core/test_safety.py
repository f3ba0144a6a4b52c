"""UNSAFE markers by themselves: their lock, their counter, their next step, and stated payloads that are overridden."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.fs import durable
from holdfast.journal import safety
from holdfast.journal.safety import Marker, Stated

AT = "2026-11-21T14:30:00+00:00"


def marker(session: str = "s", **fields: Any) -> Marker:
    return Marker(session=session, at=AT, reason="manual", **fields)


@pytest.fixture
def state(tmp_path):
    return str(tmp_path / "state")


CHANGES: dict[str, Callable[[str], object]] = {
    "begin": lambda state: safety.begin(state, marker()),
    "clear": lambda state: safety.clear(state, "s", settled=["a"]),
    "waive": lambda state: safety.waive(state, "s"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_marker__another_process_holds_the_journals_lock__is_changed_only_afterwards(state, change):
    stated = Stated(digest="a", at=AT, payload={})
    safety.begin(state, marker(stated=[stated]))
    changed = threading.Event()

    def work() -> None:
        CHANGES[change](state)
        changed.set()

    thread = threading.Thread(target=work)
    with durable.lock(f"{state}/sessions/s.lock"):
        thread.start()
        assert not changed.wait(0.3)
        # The holder of the lock states a payload in the meantime. It must not be lost.
        safety._write(state, marker(stated=[stated, Stated(digest="b", at=AT, payload={})]))
    thread.join(10)
    assert changed.is_set()
    left = safety.read(state, "s")
    assert left is not None
    assert [one.digest for one in left.stated] == {"begin": ["a", "b"], "clear": ["b"], "waive": ["a", "b"]}[change]


def test_begin__a_file_named_unsafe_is_in_the_way_in_a_folder_without_the_mark__the_marker_is_durable(tmp_path):
    """The folder is put aside with the file in it; in the user's own it is an error (test_marker_lost.py)."""
    state = str(tmp_path / "project" / "state")
    os.makedirs(state)
    Path(state, "unsafe").write_text("in the way")
    safety.begin(state, marker())
    assert os.path.isfile(safety.path_of(state, "s"))
    assert [one.read_text() for one in tmp_path.glob("project/state.foreign-*/unsafe")] == ["in the way"]
    assert safety.read(state, "s") is not None
