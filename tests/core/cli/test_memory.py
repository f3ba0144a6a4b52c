"""The commands about facts: remember, facts, extract, prompt."""

import json
from pathlib import Path

import pytest
from tests.support.model_server import ModelServer
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


@pytest.fixture
def server(monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HOLDFAST_OPENAI_KEY", "k")
    with ModelServer() as running:
        yield running


@pytest.fixture
def model(run, project, server):
    (project / "holdfast.toml").write_text(
        f'[plugins.offline]\nenabled = false\n[plugins.openai]\nmodel = "small"\nmax_retries = 0\n'
        f'base_url = "{server.url}/v1"\n'
    )
    trusted(project)
    return run


@pytest.mark.req("R033", "R034", "R039", "R062", "R063")
def test_extract__demo_transcript_through_a_model__prompt_prints_the_facts(model, server):
    facts = [
        {"content": "Tokens rotate every night", "category": "knowledge", "confidence": 0.9},
        {"content": "Perhaps likes small commits", "category": "preference", "confidence": 0.3},
    ]
    profile = {"topOfMind": "The flaky login test."}
    server.answers("Here:\n```json\n" + json.dumps({"facts": facts, "profile": profile}) + "\n```")
    done = model("extract", "--transcript", str(DEMO), "--json")
    assert done.code == 0
    assert [one["outcome"] for one in done.json["candidates"]][:2] == ["added", "below threshold"]
    assert "wJalrXUtnFEM" not in json.dumps([one.body for one in server.requests]), "a secret was shown to the model"
    assert model("prompt").out == (
        "User Context:\n- Current Focus: The flaky login test.\n\n"
        "Facts:\n- [knowledge | 0.90] Tokens rotate every night\n"
    )
    again = model("extract", "--transcript", str(DEMO))
    assert "duplicate of fact_" in again.out
