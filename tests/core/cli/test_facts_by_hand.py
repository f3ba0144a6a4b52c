"""Facts changed, forgotten and imported by hand: what is told, and what is left in the files."""

import json
import sqlite3

import pytest
from tests.support.trusting import trusted


def ids(run):
    return [f["id"] for f in run("facts", "--json").json["facts"]]


def holding(folder, text):
    """The files that hold ``text``, like ``grep -rl``."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [str(path.relative_to(folder)) for path in files if text.encode() in path.read_bytes()]


def use(project, backend, more=""):
    (project / "holdfast.toml").write_text(f"[storage]\nbackend = '{backend}'\n{more}")
    trusted(project)


@pytest.mark.req("R049")
def test_edit__content_is_a_dash__read_from_stdin(run):
    run("remember", "the old text")
    assert run("facts", "edit", ids(run)[0], "--content", "-", stdin="the new text\n").code == 0
    assert [f["content"] for f in run("facts", "--json").json["facts"]] == ["the new text"]
    assert "`-` reads it from stdin" in " ".join(run("facts", "--help").out.split())


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
        "✗ row 2: source is not a string",
        "✗ row 3: category is missing",
        "✗ row 4: content is not a string",
    ]
    told = "holdfast: 3 of 4 rows were left out.\n  next: Correct them, then import the file again"
    assert done.err.startswith(told)
    table = run("facts", "import", str(path), "--json")
    assert (table.code, table.json["ok"], table.json["error"]["exit_code"]) == (1, False, 1)
    assert table.json["error"]["message"] == "3 of 4 rows were left out."
