"""The commands about facts: remember, facts, extract, prompt."""

from pathlib import Path

import pytest
from tests.support.trusting import trusted

DEMO = Path(__file__).parents[3] / "plugins" / "holdfast_cli" / "demo" / "session.jsonl"


@pytest.fixture
def stored(run):
    assert run("remember", "Prefers tabs", "--category", "preference", "--confidence", "0.9").code == 0
    assert run("remember", "Works on the parser", "--source", "chat").code == 0
    return run


def ids(run):
    return [f["id"] for f in run("facts", "--json").json["facts"]]


@pytest.mark.req("R042", "R043", "R045")
def test_remember__new_fact__stored_and_its_id_told(run):
    done = run("remember", "Prefers tabs", "--category", " Preference", "--json")
    assert done.code == 0
    assert (done.json["outcome"], done.json["evicted"]) == ("added", [])
    assert set(done.json["fact"]) == {"id", "content", "category", "confidence", "createdAt", "source"}
    assert ids(run) == [done.json["fact"]["id"]]


@pytest.mark.req("R053")
def test_remember__known_fact__told_and_no_error(stored):
    done = stored("remember", "PREFERS TABS")
    assert done.code == 0
    assert f"known already as {ids(stored)[0]}" in done.out
    assert len(ids(stored)) == 2


@pytest.mark.req("R060")
def test_remember__store_full__evicted_ids_told(run, project):
    (project / "holdfast.toml").write_text("[facts]\nmax_facts = 1\n")
    trusted(project)
    run("remember", "first")
    first = ids(run)[0]
    assert f"Evicted: {first}" in run("remember", "second").out
    log = run("facts", "log", "--json").json["events"]
    assert [(e["event"], e["id"]) for e in log] == [("evicted", first)]
    assert first in run("facts", "log").out


@pytest.mark.req("R049", "R051")
def test_facts_edit__some_fields__changed_and_shown(stored):
    fact = ids(stored)[0]
    assert stored("facts", "edit", fact, "--confidence", "0", "--content", "Prefers spaces").code == 0
    shown = stored("facts", "show", fact, "--json").json["facts"][0]
    assert (shown["content"], shown["confidence"], shown["category"]) == ("Prefers spaces", 0.0, "preference")
    assert "Prefers spaces" in stored("facts", "show", fact).out
    assert "from chat" in stored("facts", "show", ids(stored)[1]).out


@pytest.mark.req("R046", "R048")
def test_facts_forget__one_of_the_ids_unknown__none_goes(stored):
    known = ids(stored)
    done = stored("facts", "forget", known[0], "fact_deadbeef", "--json")
    assert (done.code, done.json["error"]["kind"]) == (1, "NotFound")
    assert "fact_deadbeef" in done.json["error"]["message"]
    assert ids(stored) == known
    assert stored("facts", "forget", known[0]).code == 0
    assert ids(stored) == known[1:]


@pytest.mark.req("R062", "R067")
def test_prompt__budget__block_within_it(stored):
    assert stored("prompt").out == (
        "Facts:\n- [context | 0.90] Works on the parser\n- [preference | 0.90] Prefers tabs\n"
    )
    told = stored("prompt", "--max-tokens", "12", "--json").json
    assert told["text"] == "Facts:\n- [context | 0.90] Works on the parser"
    assert told["tokens"] <= told["max_tokens"] == 12
    assert stored("prompt", "--fenced").out.startswith("<recalled-memory>\n")
    assert stored("prompt", "--max-tokens", "0").code == 2


@pytest.mark.req("R033", "R034", "R039", "R062")
def test_extract__demo_transcript__prompt_prints_the_facts_and_the_second_time_they_are_known(run):
    done = run("extract", "--transcript", str(DEMO), "--json")
    assert (done.code, {one["outcome"] for one in done.json["candidates"]}) == (0, {"added"})
    assert "- [behavior | 0.90] we always use pytest -q, never unittest\n" in run("prompt").out
    assert "duplicate of fact_" in run("extract", "--transcript", str(DEMO)).out
