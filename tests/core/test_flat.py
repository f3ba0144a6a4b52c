"""Values built without cattrs are those that cattrs builds, and everything else is left to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config import converter, flat
from holdfast.config.values import Config, FlushConfig, StorageConfig
from holdfast.flush.handoff import Work
from holdfast.journal.safety import Marker
from holdfast.models import Payload, Receipt

AT = "2026-11-21T14:30:00Z"
TEXT = st.text(max_size=8)
ANY = st.one_of(TEXT, st.booleans(), st.integers(), st.none(), st.floats(), st.lists(TEXT | st.integers(), max_size=2))
WRITTEN = st.fixed_dictionaries(
    {"surface": TEXT, "name": TEXT, "revision": TEXT, "sha256": TEXT, "size": st.integers()}, optional={"more": ANY}
)
RECEIPT = st.fixed_dictionaries(
    {"flush_id": TEXT, "session_id": TEXT, "reason": TEXT, "at": st.just(AT) | ANY},
    optional={
        "written": st.lists(WRITTEN, max_size=2),
        "derived": st.lists(TEXT, max_size=2) | ANY,
        "summary": TEXT | ANY,
        "pending": st.integers() | ANY,
        "repeated": st.booleans() | ANY,
        "evidence": ANY,
        "unknown": ANY,
    },
)
WORK = st.fixed_dictionaries(
    {"session": TEXT},
    optional={"flush": TEXT, "facts": st.lists(TEXT, max_size=2) | ANY, "derived": ANY, "at": ANY, "unknown": ANY},
)


def by_cattrs(row: object, cls: type[Any]) -> object:
    try:
        return converter.structure(row, cls)
    except converter.INVALID:
        return None


STATED = {"digest": "d", "at": AT, "payload": {"objective": "o"}, "why": "", "waived": False}
MARKER = st.fixed_dictionaries(
    {"session": TEXT, "at": TEXT, "reason": TEXT},
    optional={"attempts": ANY, "pending": st.just({"payload": {"x": [1]}}) | ANY, "stated": st.just([STATED]) | ANY},
)
PAYLOAD = st.dictionaries(
    st.sampled_from(["objective", "facts", "handoff", "curated", "state_mutations", "work_open", "derived", "x"]),
    st.sampled_from([["a"], [{"kind": "created", "target": "t"}], {"memory": [{"text": "t"}]}, {}, "none"]) | ANY,
    max_size=4,
)


@given(RECEIPT)
def test_built__a_receipts_row__the_receipt_of_cattrs_or_nothing(row: dict[str, Any]) -> None:
    assert flat.built(row, Receipt) in (by_cattrs(row, Receipt), None)


@given(WORK | ANY)
def test_built__a_row_of_the_handoff__the_work_of_cattrs_or_nothing(row: object) -> None:
    assert flat.built(row, Work) in (by_cattrs(row, Work), None)


@given(MARKER)
def test_built__a_marker__the_marker_of_cattrs_or_nothing(row: dict[str, Any]) -> None:
    assert flat.built(row, Marker) in (by_cattrs(row, Marker), None)


@given(PAYLOAD)
def test_built__a_payload__the_payload_of_cattrs_or_nothing(row: dict[str, Any]) -> None:
    assert flat.built(row, Payload) in (by_cattrs(row, Payload), None)


@pytest.mark.parametrize(
    ("row", "cls"),
    [
        ({"session": "s", "at": AT, "reason": "compaction", "pending": {"payload": {}}, "stated": [STATED]}, Marker),
        ({"objective": "o", "facts": ["a"], "work_open": False, "handoff": None}, Payload),
        ({"flush_id": "f", "session_id": "s", "reason": "r", "at": AT, "derived": ["a"], "pending": 2}, Receipt),
        ({"session": "s", "flush": "f", "facts": ["one", "two"], "derived": True}, Work),
    ],
)
def test_built__what_holdfast_writes__needs_no_cattrs(row: dict[str, Any], cls: type[Any]) -> None:
    assert flat.built(row, cls) == converter.structure(row, cls)


@pytest.mark.parametrize(
    ("row", "cls"),
    [
        ({"policy": 3}, FlushConfig),
        ({"policy": "strictly"}, FlushConfig),
        ({"backend": "mine", "server": "x"}, StorageConfig),
        ({"flush": {"polcy": "strict"}}, Config),
        ([], Config),
        ("text", Receipt),
    ],
)
def test_built__what_it_does_not_know__left_to_cattrs(row: object, cls: type[Any]) -> None:
    assert flat.built(row, cls) is None


@pytest.mark.parametrize(
    "row",
    [
        {"flush": {"policy": "strict"}, "facts": {"max_facts": 200, "threshold": 1}},
        {"plugins": {"offline": {"enabled": False}, "redaction": {}}, "session": {"ask_at": 0.5}},
        {"layout": {"preset": "opencode"}, "storage": {"backend": "sqlite", "path": ".opencode"}, "zone": "UTC"},
        {"identity": {"person": "Ann"}, "retention": {"turns": "forever"}},
    ],
)
def test_built__usual_settings__need_no_cattrs(row: dict[str, Any]) -> None:
    assert flat.built(row, Config) == converter.structure(row, Config)


SECTION = st.dictionaries(
    st.sampled_from(
        ["policy", "strict_blocks", "max_facts", "threshold", "enabled", "settings", "options", "roots", "x"]
    ),
    st.sampled_from(["strict", "lenient", 3, 0, -1, 0.5, True, None, float("nan"), [], {}]),
    max_size=3,
)


@given(
    st.dictionaries(
        st.sampled_from(["flush", "facts", "storage", "layout", "identity", "dream", "x"]), SECTION | ANY, max_size=3
    ),
    st.dictionaries(st.sampled_from(["offline", "x.y"]), SECTION | ANY, max_size=2),
)
def test_built__any_settings__the_settings_of_cattrs_or_nothing(
    tables: dict[str, Any], plugins: dict[str, Any]
) -> None:
    row = {**tables, "plugins": plugins}
    made = flat.built(row, Config)
    assert made is None or repr(made) == repr(by_cattrs(row, Config))


def test_load__of_a_project_with_a_flush__imports_no_cattrs(tmp_path: Path) -> None:
    run = """import sys
from holdfast import Holdfast, Payload
with Holdfast.open(".") as memory:
    if sys.argv[1] == "write":
        session = memory.session("one")
        session.add("user", "Please add a test")
        session.flush(Payload(objective="A test", next_step="Run it", curated="none"))
    else:
        assert "A test" in memory.load().text
        print("cattrs" in sys.modules)
"""
    for what in ("write", "read"):
        done = subprocess.run(
            [sys.executable, "-I", "-c", run, what], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False"]
