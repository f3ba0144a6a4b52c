"""Every event that was recorded of real clients, replayed: the answers, and what is in the journal afterwards."""

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.plugins.agents import golden
from tests.plugins.agents.hooking import NOTHING, Client

from holdfast_app.transcripts import read

ANSWERS = json.loads(golden.GOLDEN.read_text(encoding="utf-8"))
#: Events that a client takes no answer of: anything printed there would go to the summariser, or be an error. Where a
#: session could not be saved, that error at its end is meant.
MUTE = ("PreToolUse", "PostCompact", "SessionEnd", "Interrupt")


@pytest.mark.req("R083", "R087", "R166", "R171", "R172", "R184")
@pytest.mark.parametrize("scenario", golden.SCENARIOS)
def test_hook__recorded_run_of_a_client__answers_as_that_client_wants_it(scenario: str, tmp_path: Path) -> None:
    got = []
    for event, answer, client in golden.replay(scenario, tmp_path):
        got.append([event, *golden.normal(answer)])
        if event in MUTE and not (event == "SessionEnd" and "-blocked" in scenario):
            assert answer == NOTHING
        if event == "PreCompact" and "-blocked" not in scenario:
            assert answer == NOTHING
            assert "Objective:" in client.notes()
    assert got == ANSWERS[scenario]
    journalled_once(client, scenario)


def journalled_once(client: Client, scenario: str) -> None:
    """What was said, through hooks and in the transcript, is in the journal, and nothing of it twice."""
    whole = read(golden.DATA / f"{scenario}.transcript.jsonl")
    told = [(m.role, m.text, bool(m.tool)) for m in whole.messages if not m.text.startswith("[elided")]
    kept = [(r["role"], r["text"], bool(r.get("tool"))) for r in client.records() if r["kind"] == "message"]
    assert Counter((role, text) for role, text, tool in kept if not tool and role != "system") == Counter(
        (role, text) for role, text, tool in told if not tool
    )
    assert sum(tool for *_, tool in kept) == sum(tool for *_, tool in told)
