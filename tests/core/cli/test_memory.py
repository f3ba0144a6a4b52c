"""The commands about facts: remember, facts, extract, prompt; what they tell, and what is left in the files."""

import json
import sqlite3
from pathlib import Path

import pytest
from tests.support.forget import holding
from tests.support.trusting import trusted

DEMO = Path(__file__).parents[3] / "plugins" / "holdfast_cli" / "demo" / "session.jsonl"


def ids(run):
    return [f["id"] for f in run("facts", "--json").json["facts"]]


def use(project, backend, more=""):
    trusted(project, f"[storage]\nbackend = '{backend}'\n{more}")


@pytest.mark.req("R042", "R043", "R045", "R046", "R048", "R049", "R051", "R053")
def test_facts__remembered_known_edited_and_forgotten__each_is_told(run, project):
    done = run("remember", "Prefers tabs", "--category", " Preference", "--json")
    assert (done.code, done.json["outcome"], done.json["evicted"]) == (0, "added", [])
    assert set(done.json["fact"]) == {"id", "content", "category", "confidence", "createdAt", "source"}
    fact = done.json["fact"]["id"]
    assert run("remember", "Works on the parser", "--source", "chat").code == 0
    known = run("remember", "PREFERS TABS")
    assert (known.code, f"known already as {fact}" in known.out) == (0, True)
    [first, other] = ids(run)
    assert run("facts", "edit", fact, "--confidence", "0", "--content", "-", stdin="Prefers spaces\n").code == 0
    shown = run("facts", "show", fact, "--json").json["facts"][0]
    assert (shown["content"], shown["confidence"], shown["category"]) == ("Prefers spaces", 0.0, "preference")
    assert "Prefers spaces" in run("facts", "show", fact).out
    assert "from chat" in run("facts", "show", other).out
    refused = run("facts", "forget", fact, "fact_deadbeef", "--json")
    assert (refused.code, refused.json["error"]["kind"]) == (1, "NotFound")
    assert "fact_deadbeef" in refused.json["error"]["message"]
    assert ids(run) == [first, other] == [fact, other]
    (notes := project / ".holdfast" / "memory").mkdir()
    (notes / "2026-11-20.md").write_text("# A day\n\n- Prefers spaces\n")
    told = "still in memory/2026-11-20.md.\n  next: `holdfast purge --subject 'Prefers spaces'`"
    assert told in run("facts", "forget", fact).out
    assert ids(run) == [other]


@pytest.mark.req("R060")
def test_remember__store_full__evicted_ids_told(run, project):
    trusted(project, "[facts]\nmax_facts = 1\n")
    run("remember", "first")
    first = ids(run)[0]
    assert f"Evicted: {first}" in run("remember", "second").out
    log = run("facts", "log", "--json").json["events"]
    assert [(e["event"], e["id"]) for e in log] == [("evicted", first)]
    assert first in run("facts", "log").out


@pytest.mark.req("R033", "R034", "R039", "R062")
def test_extract__demo_transcript__prompt_prints_the_facts_and_the_second_time_they_are_known(run):
    done = run("extract", "--transcript", str(DEMO), "--json")
    assert (done.code, {one["outcome"] for one in done.json["candidates"]}) == (0, {"added"})
    assert "- [behavior | 0.90] we always use pytest -q, never unittest\n" in run("prompt").out
    assert "duplicate of fact_" in run("extract", "--transcript", str(DEMO)).out


@pytest.mark.req("R046")
@pytest.mark.parametrize("backend", ["file", "sqlite"])
def test_forget__edited_and_forgotten__no_file_of_the_project_holds_it(run, project, backend):
    use(project, backend)
    for text in ("zebrafish have stripes", "zebrafish eat algae", "stays"):
        run("remember", text)
    first, second, _ = ids(run)
    run("facts", "edit", first, "--content", "zebrafish have fins")
    assert holding(project, "zebrafish") != []
    assert run("facts", "forget", first, second).code == 0
    assert holding(project, "zebrafish") == []
    assert [f["content"] for f in run("facts", "--json").json["facts"]] == ["stays"]


def test_forget__files_cannot_be_cleared_now__facts_are_forgotten_and_that_is_told(run, project):
    use(project, "sqlite", "lock_timeout_s = 0.1\n")
    run("remember", "zebrafish")
    run("remember", "another")
    reader = sqlite3.connect(project / ".holdfast" / "holdfast.db")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM sqlite_schema").fetchall()
    done, also = (run("facts", "forget", ids(run)[0], *options) for options in ([], ["--json"]))
    assert (done.code, also.code) == (3, 3)
    assert "forgotten: fact_" in done.out
    assert "The facts are forgotten, but their text is still in the store's files: " in done.err
    assert "`holdfast scrub`" in done.err
    assert len(also.json["forgotten"]) == 1
    assert also.json["error"]["kind"] == "Unavailable"
    reader.close()
    assert ids(run) == []
    assert run("scrub", "--yes").code == 0
    assert holding(project, "zebrafish") == []


def test_import__bad_rows__each_by_its_fault__the_total_and_a_way_on_at_the_end(run, project):
    good = {"content": "a", "category": "goal", "confidence": 1}
    bad = [{**good, "source": 5}, {k: good[k] for k in ("content", "confidence")}, {**good, "content": None}]
    path = project / "rows.json"
    path.write_text(json.dumps([{**good, "source": None}, *bad]))
    done = run("facts", "import", str(path))
    assert done.code == 1
    assert [line.strip() for line in done.out.splitlines()] == [
        "! 1 fact added",
        "✗ row 2: source must be a str, not int",
        "✗ row 3: category is missing",
        "✗ row 4: content is not a string",
    ]
    told = "holdfast: 3 of 4 rows were left out.\n  next: Correct them (`--json` lists all), then import the file again"
    assert done.err.startswith(told)
    table = run("facts", "import", str(path), "--json")
    assert (table.code, table.json["ok"], table.json["error"]["exit_code"]) == (1, False, 1)
    assert table.json["error"]["message"] == "3 of 4 rows were left out."
