"""Facts changed, forgotten and imported by hand: what is told, and what is left in the files."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from tests.support.trusting import trusted


def ids(run) -> list[str]:
    return [f["id"] for f in run("facts", "--json").json["facts"]]


def holding(folder: Path, text: str) -> list[str]:
    """The files that hold ``text``, like ``grep -rl``."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [str(path.relative_to(folder)) for path in files if text.encode() in path.read_bytes()]


def use(project: Path, backend: str, more: str = "") -> None:
    (project / "holdfast.toml").write_text(f"[storage]\nbackend = '{backend}'\n{more}")
    trusted(project)


@pytest.mark.req("R049")
def test_edit__content_is_a_dash__read_from_stdin(run):
    run("remember", "the old text")
    assert run("facts", "edit", ids(run)[0], "--content", "-", stdin="the new text\n").code == 0
    assert [f["content"] for f in run("facts", "--json").json["facts"]] == ["the new text"]
    assert "`-` reads it from stdin" in " ".join(run("facts", "--help").out.split())


def test_edit__content_is_a_dash_and_nothing_comes__old_text_stays(run):
    run("remember", "the old text")
    assert run("facts", "edit", ids(run)[0], "--content", "-").code == 2
    assert [f["content"] for f in run("facts", "--json").json["facts"]] == ["the old text"]


@pytest.mark.req("R046")
@pytest.mark.parametrize("backend", ["file", "sqlite"])
def test_forget__edited_and_forgotten__no_file_of_the_project_holds_it(run, project, backend):
    use(project, backend)
    for text in ("zebrafish one", "zebrafish two", "stays"):
        run("remember", text)
    first, second, _ = ids(run)
    run("facts", "edit", first, "--content", "zebrafish three")
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


# --- import


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


def test_import__many_bad_rows__the_first_are_shown__json_lists_all(run):
    done = run("facts", "import", "-", stdin="nonsense\n" * 1030)
    assert len(done.out.splitlines()) == 22
    assert done.out.splitlines()[-1].strip() == "and 1,010 more; `--json` lists all"
    assert len(run("facts", "import", "-", "--json", stdin="nonsense\n" * 1030).json["bad"]) == 1030


@pytest.mark.parametrize("text", ["", "\n\n", "[]", '{"facts": []}'])
def test_import__no_row__told(run, text):
    done = run("facts", "import", "-", stdin=text)
    assert (done.code, done.out) == (0, "· Standard input holds no facts, so nothing was imported\n")


# --- what is told


def test_remember__many_leave__the_first_are_named__json_names_all(run, project):
    rows = "".join(json.dumps({"content": f"{n}", "category": "goal", "confidence": 0.5}) + "\n" for n in range(40))
    run("facts", "import", "-", stdin=rows)
    known = ids(run)
    (project / "holdfast.toml").write_text("[facts]\nmax_facts = 20\n")
    trusted(project)
    told = run("remember", "x").out.splitlines()[-1].strip()
    assert told == f"the store was full. Evicted: {', '.join(known[:5])} and 16 more"
    (project / "holdfast.toml").write_text("[facts]\nmax_facts = 10\n")
    trusted(project)
    assert len(run("remember", "y", "--json").json["evicted"]) == 11


@pytest.mark.parametrize(
    ("words", "named", "step"),
    [
        (["facts", "--lim", "3"], "'--lim'", "`--limit`"),
        (["facts", "--lim=3"], "'--lim'", "`--limit`"),
        (["facts", "--orderly"], "'--orderly'", "`--order`"),
        (["remember", "--xyz"], "'--xyz'", "`holdfast remember --help`"),
        (["facts", "3"], "'3'", "--help"),
        (["add", "user", "--", "--lim", "3"], "3", "--help"),
    ],
)
def test_options__unknown__named_and_the_nearest_offered(run, words, named, step):
    done = run(*words)
    first, second = done.err.splitlines()
    assert done.code == 2
    assert named in first
    assert step in second
