"""The four values of the handoff: each is asked for, each survives write and load, and none is another one."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import Holdfast
from holdfast.config import Config, PluginConfig
from holdfast.errors import BadValue, FlushRefused
from holdfast.handoff import parse
from holdfast.settings import DEFAULT_PLUGINS

#: Written out: the doctrine names them, not the code.
NAMES = ("active_task", "branch", "blocker", "next_action")
MARKS = [
    pytest.param("active_task", marks=pytest.mark.req("R135")),
    pytest.param("branch", marks=pytest.mark.req("R136")),
    pytest.param("blocker", marks=pytest.mark.req("R137")),
    pytest.param("next_action", marks=pytest.mark.req("R138")),
]
#: None of these values appears anywhere else in the payload, so that no other field can take its place.
STATED = {
    "active_task": "owner/repo#77: the token is refreshed twice",
    "branch": "fix-refresh",
    "blocker": "test_refresh fails on Windows",
    "next_action": "Read the log of the nightly run",
}


@pytest.mark.parametrize("name", MARKS)
def test_handoff__value_stated__survives_write_and_load(opened, payload, project, name):
    opened().session("s").flush(payload(handoff=STATED))

    [work] = opened().load().work
    assert getattr(work, name) == STATED[name]
    [entry] = parse((project / ".holdfast" / "continuity" / "active.md").read_text())
    assert getattr(entry, name) == STATED[name]
    assert STATED[name] in str(opened().load())


@pytest.mark.parametrize("name", MARKS)
def test_handoff__value_changed_by_a_later_flush__the_new_one_is_loaded(opened, payload, name):
    opened().session("s").flush(payload(handoff=STATED))
    opened().session("s").flush(payload(handoff={**STATED, name: "something newer"}))

    [work] = opened().load().work
    assert {n: getattr(work, n) for n in NAMES} == {**STATED, name: "something newer"}


@pytest.mark.parametrize("name", MARKS)
def test_handoff__value_left_out__is_refused_naming_it_and_the_old_handoff_stays(opened, payload, project, name):
    opened().session("s").flush(payload(handoff=STATED))
    before = (project / ".holdfast" / "continuity" / "active.md").read_bytes()

    with pytest.raises(FlushRefused, match=f"`handoff.{name}`") as refused:
        opened().session("s").flush(payload(handoff={**STATED, name: " "}))
    assert refused.value.missing == (f"handoff.{name}",)
    with pytest.raises(BadValue, match=name):
        payload(handoff={n: v for n, v in STATED.items() if n != name})
    assert (project / ".holdfast" / "continuity" / "active.md").read_bytes() == before


#: Any text but control characters, which the gate replaces. It begins with a word, so that it is not a local path.
ANY = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), max_size=60)
TEXTS = (ANY | st.sampled_from(["+++", '"""', "\n+++\n", "\\", "[[work]]"])).map(lambda text: f"see {text}".strip())


@pytest.mark.req("R135", "R136", "R137", "R138")
@settings(max_examples=40, deadline=None)
@given(values=st.lists(TEXTS, min_size=4, max_size=4))
def test_handoff__any_four_values__are_loaded_as_they_were_stated(values):
    stated = dict(zip(NAMES, values, strict=True))
    plugins = {name: PluginConfig(enabled=False) for name in DEFAULT_PLUGINS}
    empty = {n: [] for n in ("facts", "decisions", "blockers", "artifacts", "follow_ups", "state_mutations")}
    told = {**empty, "objective": "o", "next_step": "n", "curated": "none", "work_open": True, "handoff": stated}
    config = Config(zone="UTC", plugins=plugins)
    with tempfile.TemporaryDirectory() as folder, Holdfast.open(Path(folder), config=config) as memory:
        memory.session("s").flush(told)
        entries = memory.load().work
    assert [{n: getattr(work, n) for n in NAMES} for work in entries] == [stated]


@pytest.mark.req("R135", "R136", "R137", "R138")
def test_handoff__document_of_an_earlier_holdfast__every_value_is_read(opened, project):
    path = project / ".holdfast" / "continuity" / "active.md"
    path.parent.mkdir(parents=True)
    lines = [f"{name} = {json.dumps(value)}" for name, value in STATED.items()]
    path.write_text('+++\nversion = 1\n\n[[work]]\nsession = "s"\nflush = "f"\n' + "\n".join(lines) + "\n+++\n")

    [work] = opened().load().work
    assert {n: getattr(work, n) for n in NAMES} == STATED
