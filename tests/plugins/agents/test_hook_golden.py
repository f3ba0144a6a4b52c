"""Every event that was recorded of real clients, replayed: the answers, and what is in the journal afterwards."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.plugins.agents import golden
from tests.plugins.agents.hooking import NOTHING

from holdfast.transcripts import read

ANSWERS = json.loads(golden.GOLDEN.read_text(encoding="utf-8"))
#: Events that a client takes no answer of: anything printed there would go to the summariser, or be an error.
MUTE = ("PreToolUse", "PostToolUse", "PostCompact", "SessionEnd", "Interrupt")


@pytest.mark.req("R083", "R087", "R166", "R171", "R184")
@pytest.mark.parametrize("scenario", golden.SCENARIOS)
def test_hook__recorded_run_of_a_client__answers_as_that_client_wants_it(scenario: str, tmp_path: Path) -> None:
    got = []
    for event, answer, client in golden.replay(scenario, tmp_path):
        got.append([event, *golden.normal(answer)])
        if event in MUTE:
            assert answer == NOTHING
        if event == "PreCompact" and "-blocked" not in scenario:
            assert answer == NOTHING
            assert "Objective:" in client.notes()
    assert got == ANSWERS[scenario]


@pytest.mark.req("R083", "R172")
@pytest.mark.parametrize("scenario", ["claude-code.manual", "claude-code.midturn", "codex.midturn", "codex.auto"])
def test_hook__said_through_hooks_and_in_the_transcript__is_journalled_once(scenario: str, tmp_path: Path) -> None:
    for event, _, client in golden.replay(scenario, tmp_path):  # noqa: B007 - the last one is looked at below
        assert event
    whole = read(golden.DATA / f"{scenario}.transcript.jsonl")
    said = [(m.role, m.text) for m in whole.messages if not m.tool]
    journal = [(r["role"], r["text"]) for r in client.records() if r["kind"] == "message" and not r.get("tool")]
    assert Counter(journal) == Counter(said)
    calls = [r for r in client.records() if r["kind"] == "message" and r.get("tool")]
    assert len(calls) == sum(bool(m.tool) for m in whole.messages)
