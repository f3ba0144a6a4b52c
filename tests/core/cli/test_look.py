"""Commands that only look: they tell the truth and write nothing."""

import pytest
from tests.support.forget import snapshot

LOOKING = [
    ["status"],
    ["sessions"],
    ["show"],
    ["load"],
    ["report"],
    ["plugins"],
    ["layers"],
    ["config"],
    ["doctor"],
    ["route", "--horizon", "today"],
    ["--help"],
    ["--version"],
    [],
]


def test_looking__in_an_empty_folder__works_and_writes_nothing(run, project):
    for words in LOOKING:
        result = run(*words)
        assert (result.code, result.err, bool(result.out)) == (0, "", True), words
        assert not list(project.iterdir()), words


def test_looking__at_a_project_in_use__changes_no_byte(talked, project):
    assert talked("flush", "--session", "s1").code == 0
    before = snapshot(project)
    for words in LOOKING:
        talked(*words)
        assert snapshot(project) == before, words


@pytest.mark.req("R088")
@pytest.mark.parametrize("words", [[], ["status"], ["doctor"]], ids=["overview", "status", "doctor"])
def test_unsafe__is_shown_everywhere_with_what_to_do(unwritable, words):
    unwritable("flush", "--session", "s1")
    result = unwritable(*words)
    assert (result.code, "UNSAFE" in result.out) == (1, True)
    assert "next: " in result.out


@pytest.mark.req("R088")
def test_status__damaged_journal__is_unsafe_and_the_others_are_shown(talked, project):
    talked("add", "user", "other", "--session", "s2")
    path = project / ".holdfast/state/sessions/s1.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"garbage\n" + lines[2])
    result = talked("status", "--json")
    assert result.code == 1
    assert result.json["ok"] is False
    assert result.json["unsafe"] == ["s1"]
    assert "doctor --repair" in result.json["sessions"][0]["next_step"]
    assert "s2" in talked("status").out


def test_status__handoff_and_a_fact_cannot_be_read__names_both_and_what_helps(flushed, project):
    handoff, facts = project / ".holdfast/continuity/active.md", project / ".holdfast/facts.jsonl"
    handoff.write_text(handoff.read_text().replace("objective = ", "objective == ", 1))
    facts.write_text('{"id": "fact_zz\n' + facts.read_text())
    done = flushed("status")
    assert (done.code, "durable" in done.out, done.out.count("cannot be read")) == (1, False, 2)
    assert done.out.count("`holdfast doctor --fix`") == 2


@pytest.mark.req("R110", "R111", "R112", "R113", "R114")
def test_report__answers_the_five_questions(flushed):
    run = flushed
    parts = dict(part.split("\n", 1) for part in run("report").out.split("## ")[1:])
    assert "Fix login" in parts["What happened"]
    assert "use a lock" in parts["What changed"]
    assert "acme/app#12" in parts["What changed"]
    assert "no staging" in parts["What is blocked"]
    assert "tell Ana" in parts["What is needed from you"]
    assert "acme/app#12" in parts["Where the proof lives"]
    assert "- Daily note of 20" in parts["Where the proof lives"]
    table = run("report", "--json").json
    names = ["what_happened", "what_changed", "what_is_blocked", "what_is_needed_from_you", "where_the_proof_lives"]
    assert all(table[name] for name in names)
    assert all({"text", "pointer"} == set(line) for name in names for line in table[name])
