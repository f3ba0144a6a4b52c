"""``holdfast purge``, ``scrub`` and ``retention``: asking, telling, exit codes."""

import json

import pytest
from tests.support.git import git

NAME = "Jane Doe"
LONG = "claude-code-0f166bbe-4f9c-49ab-b1be-3c8ffa479d3e"


@pytest.fixture
def said(run):
    """A project that knows of Jane Doe."""
    words = ("--objective", f"Write to {NAME}", "--next-step", "none", "--closed", "--curated", "none")
    assert run("add", "user", f"write to {NAME}", "--session", "s1").code == 0
    done = run("flush", "--session", "s1", "--reason", "end", *words)
    assert done.code == 0, done.err
    return run


@pytest.mark.req("R245")
@pytest.mark.parametrize("words", [("purge", "--subject", NAME), ("purge", "--all", "--json"), ("scrub",)])
def test_purge_and_scrub__nobody_to_ask__usage_error_that_names_yes(said, words):
    result = said(*words)
    assert (result.code, "--yes" in result.err) == (2, True)
    assert said("status").code == 0
    assert NAME in said("report").out


@pytest.mark.req("R245")
@pytest.mark.parametrize(("text", "code"), [("y", 0), ("YES", 0), ("n", 2), ("", 2)])
def test_purge__person_is_asked__only_a_yes_counts(said, answer, text, code):
    done, _, err = answer(text, "purge", "--session", "s1")
    assert done == code
    assert "forgotten permanently" in err
    assert "[y/N]" in err
    assert (NAME in said("report").out) is (code == 2)


@pytest.mark.req("R245")
def test_purge__subject_on_stdin__is_read_and_needs_a_yes(said, project):
    assert said("purge", "--subject", "-", stdin=NAME).code == 2
    result = said("purge", "--subject", "-", "--yes", "--json", stdin=f"{NAME}\n")
    assert (result.code, result.json["ok"], result.json["clean"], result.json["left"]) == (0, True, True, [])
    assert result.json["counts"]
    assert not any(NAME.encode() in p.read_bytes() for p in project.rglob("*") if p.is_file())


@pytest.mark.req("R245")
def test_purge__something_cannot_be_edited__exit_code_1_and_told(said, project):
    folder = project / ".holdfast" / "memory" / "2026-01-01.md"
    folder.mkdir()
    (folder / "x.md").write_text("x")
    broken = project / ".holdfast" / "facts.jsonl"
    broken.write_text(f"not JSON {NAME}\n")
    result = said("purge", "--subject", NAME, "--yes")
    assert (result.code, "facts" in result.out) == (1, True)
    assert "run the command again" in result.out


@pytest.mark.req("R241")
def test_scrub__secret_from_before_the_rules__masked(run, project):
    mail = "ana.example@firm.test"
    (project / ".holdfast").mkdir()
    (project / ".holdfast" / "MEMORY.md").write_text(f"# Memory\n\n- write to {mail}\n")
    assert run("scrub", "--dry-run").code == 0
    assert mail in (project / ".holdfast" / "MEMORY.md").read_text()
    result = run("scrub", "--yes")
    assert result.code == 0, result.out
    assert "1 different secret masked" in result.out
    assert "redaction" in result.out
    assert "[REDACTED:email:" in (project / ".holdfast" / "MEMORY.md").read_text()
    again = run("scrub", "--yes", "--json").json
    assert (again["ok"], again["changed"], again["secrets"]) == (True, [], 0)


@pytest.mark.req("R244")
def test_retention__run__removes_what_is_old_and_says_what_stays(said, project, monkeypatch):
    (project / ".holdfast" / "memory").mkdir(exist_ok=True)
    (project / ".holdfast" / "memory" / "2020-01-01.md").write_text("old")
    assert "0 items" in said("retention", "run").out
    monkeypatch.setenv("HOLDFAST_RETENTION__DAILY", "30")
    planned = said("retention", "run", "--dry-run", "--json").json
    assert [one["name"] for one in planned["removed"]] == ["memory/2020-01-01.md"]
    assert said("retention", "run").code == 0
    assert not (project / ".holdfast" / "memory" / "2020-01-01.md").exists()
    assert json.loads(said("retention", "run", "--json").out)["removed"] == []


@pytest.mark.parametrize("words", [
    ("flush",), ("end",), ("update",), ("search", "Fix it"), ("load",),
    ("purge", "--yes"), ("add", "user", "Go on"),
    ("flush", "--objective", "x", "--next-step", "go", "--closed", "--curated", "none", "--mutation", "none"),
])  # fmt: skip
def test_commands__short_id_of_a_session__take_that_session(run, words):
    run("init", "--three-files")
    run("add", "user", "Fix it. Next step: run the tests.", "--session", LONG)
    result = run(words[0], *words[1:], "--session", LONG[:20], "--json")
    assert result.code == 0, result.err
    assert [one["id"] for one in run("sessions", "--json").json["sessions"]] == [LONG] * (words[0] != "purge")


def test_commands__two_sessions_share_their_short_id__show_whole_ids(run):
    for session in (LONG, f"{LONG[:-1]}0"):
        run("add", "user", "Fix it", "--session", session)
    for command in ("sessions", "status"):
        assert [f"{LONG}  " in run(command).out, f"{LONG[:-1]}0  " in run(command).out] == [True, True]


@pytest.mark.parametrize("last", ["--yes", "--dry-run"])
@pytest.mark.parametrize("given", ["s11", "claude-code-0f166bb"])
def test_purge__unknown_session__is_an_error_that_names_the_nearest(said, given, last):
    assert said("add", "user", "Fix it", "--session", LONG).code == 0
    result = said("purge", "--session", given, last)
    assert result.code == 1
    near = "s1" if given == "s11" else LONG[:20]
    assert f"There is no session '{given}'. next: Did you mean `{near}`?" in " ".join(result.err.split())


@pytest.mark.req("R245")
def test_purge__documents_in_git__names_the_history_and_the_commands(said, project):
    git(project, "init", "-q")
    assert said("purge", "--subject", NAME, "--dry-run", "--json").json["elsewhere"] == []
    git(project, "add", "-A")
    git(project, "commit", "-qm", "all")
    result = said("purge", "--subject", NAME, "--yes")
    assert result.code == 0, result.err
    shown = " ".join(result.out.split())
    assert "nothing left in holdfast's files" in shown
    assert "git history: 1 commit of .holdfast may hold it." in shown
    assert "git filter-repo" in shown
    assert NAME in git(project, "log", "--all", "-p")
