"""``holdfast add``, ``flush``, ``end`` and ``override``."""

import json
import re
import shlex

import pytest
from tests.support.stated import goes_on

PAYLOAD = goes_on(
    "Fix the login test",
    "run the tests",
    facts=["the clock was mocked"],
    decisions=["use a lock"],
    artifacts=["tests/test_login.py"],
    work_open=True,
    handoff={"active_task": "login", "branch": "main", "blocker": "none", "next_action": "run the tests"},
)


def stored(project, pattern="memory/*.md"):
    return "".join(path.read_text(encoding="utf-8") for path in sorted((project / ".holdfast").glob(pattern)))


@pytest.mark.req("R083", "R087")
def test_flush__what_was_said__receipt_with_a_digest_of_every_document(talked, project):
    result = talked("flush", "--session", "s1", "--reason", "compaction")
    assert (result.code, "session s1 is flushed (compaction)" in result.out) == (0, True)
    table = talked("flush", "--session", "s1", "--json").json
    assert table["repeated"] is True
    for written in table["written"]:
        assert written["name"] in result.out
        assert written["sha256"][:12] in result.out
    assert table["flush_id"] in stored(project)


def test_flush__flags__win_over_the_file_field_by_field(run, project):
    (project / "p.json").write_text(json.dumps(PAYLOAD))
    words = ["--fact", "one", "--fact", "two", "--decision", "none", "--branch", "fix/login"]
    assert run("flush", "--payload", "p.json", *words).code == 0
    note = stored(project)
    assert "one\n" in note
    assert "two\n" in note
    assert "use a lock" not in note
    assert "Fix the login test" in note
    handoff = stored(project, "continuity/active.md")
    assert 'branch = "fix/login"' in handoff
    assert 'active_task = "login"' in handoff


def test_flush__a_flag_for_every_field__needs_nothing_derived(run, project):
    result = run(
        *("flush", "--json", "--objective", "Fix login", "--fact", "a", "--decision", "b", "--blocker", "c"),
        *("--artifact", "#12", "--follow-up", "d", "--next-step", "e", "--open", "--active-task", "f"),
        *("--branch", "g", "--handoff-blocker", "h", "--next-action", "i"),
        *("--mutation", "status:acme/app#12:in review"),
        *("--mutation", "review:https://forge.test:8443/a/pulls/3:approved"),
        *("--memory", "Python 3.11 is the minimum", "--user", "prefers tabs"),
    )
    assert result.code == 0
    assert result.json["derived"] == []
    assert {w["surface"] for w in result.json["written"]} == {"daily", "trail", "handoff", "memory", "user"}
    trail = stored(project, "memory/summaries/*.md")
    assert "**status** acme/app#12: in review" in trail
    assert "**review** https://forge.test:8443/a/pulls/3: approved" in trail
    assert "prefers tabs" in stored(project, "USER.md")


@pytest.mark.parametrize(
    ("words", "stdin", "named"),
    [
        (["--payload", "missing.json"], "", "No such file"),
        (["--payload", "a\x00b"], "", "cannot be read"),
        (["--payload", "-"], "", "not valid JSON"),
        ([], "{", "not valid JSON"),
        ([], "[" * 100_000, "not valid JSON"),
        ([], "[]", "not a JSON object"),
        ([], '{"objetive": "x"}', "objetive: unknown key"),
        ([], "next step: run it\nobjectve: ship it\n", "Did you mean `objective:`?"),
        ([], '{"facts": "one"}', "facts: expected a list"),
        ([], '{"handoff": {"branch": "x"}}', "handoff.active_task: missing"),
        ([], '{"curated": "later"}', "curated"),
        ([], b'{"objective": "\xff"}', "not UTF-8"),
        (["--mutation", "status"], "", "KIND:TARGET:SUMMARY"),
        (["--mutation", "mood:acme/app#1:bad"], "", "mood"),
        (["--curated", "none", "--memory", "x"], "", "contradict"),
        (["--reason", "boredom"], "", "boredom"),
        (["--open", "--closed"], "", "not allowed with"),
        (["--transcript", "."], "", "not a regular file"),
    ],
)
def test_flush__bad_input__exit_2_names_it_and_nothing_is_written(run, project, words, stdin, named):
    result = run("flush", *words, stdin=stdin)
    assert result.code == 2
    assert named in result.err
    assert "\n  next: " in result.err
    assert not list(project.iterdir())


@pytest.mark.req("R088")
def test_flush__store_cannot_be_written__exit_1_names_target_and_next_step(unwritable, project):
    result = unwritable("flush", "--session", "s1", "--reason", "compaction")
    assert result.code == 1
    assert result.out == ""
    assert "blocked: compaction; session s1 is UNSAFE" in result.err
    assert ".holdfast/memory" in result.err
    assert "\n  next: " in result.err
    table = unwritable("flush", "--session", "s1", "--json").json
    assert table["error"]["kind"] == "FlushRefused"
    assert table["error"]["target"]
    assert "Fix the flaky login test" in stored(project, "state/sessions/s1.jsonl")


@pytest.mark.req("R088")
def test_flush__incomplete_payload_for_a_session_that_never_was__refused_and_nothing_stays_behind(talked, project):
    result = talked("flush", "--session", "s11", "--next-step", "go", "--json")
    assert result.code == 1
    assert "facts" in result.json["error"]["missing"]
    assert "Did you mean `s1`?" in result.err
    assert talked("status").code == 0


def followed(talked, told, *words, stdin=""):
    """The exit code after doing literally what the advice says: the command it names, or the flags it names."""
    advice = " ".join(told.partition("next:")[2].split())
    found = shlex.split(re.findall(r"`([^`]+)`", advice)[0])
    return talked(*(found[1:] if found[0] == "holdfast" else (*words, *found)), stdin=stdin).code


def test_flush__one_flag__is_merged_into_what_the_session_says(talked):
    words = ("flush", "--session", "s1", "--blocker", "The VPN is down", "--next-step", "Ask Ann")
    done = talked(*words, "--json")

    assert done.code == 0
    assert "curated" in done.json["derived"]
    assert "objective" in done.json["derived"]
    note = talked("show", done.json["written"][0]["name"]).out
    assert "The VPN is down" in note
    assert "Ask Ann" in note
    assert "curated memory changes: none" in note
    assert talked("status").code == 0


@pytest.mark.parametrize("again", ["the same command", "the flags alone", "end"])
def test_flush__payload_lacks_a_decision__following_the_advice_loses_nothing(talked, again):
    given = json.dumps({"objective": "Fix the login", "blockers": ["The VPN is down"], "next_step": "Ask Ann"})
    refused = talked("flush", "--session", "s1", stdin=given)
    assert (refused.code, "`--curated none`" in refused.err) == (1, True)

    if again == "end":
        ended = talked("end", "--session", "s1")
        assert "`holdfast flush --session s1 --curated none`" in " ".join(ended.err.split())
        assert followed(talked, ended.err) == 0
        assert talked("end", "--session", "s1").code == 0
    else:
        stdin = given if again == "the same command" else ""
        assert followed(talked, refused.err, "flush", "--session", "s1", stdin=stdin) == 0

    note = talked("show", talked("flush", "--session", "s1", "--json").json["written"][0]["name"]).out
    assert note.count("The VPN is down") == 1
    assert note.count("Ask Ann") >= 1
    assert "Stated before" not in note
    assert talked("status").code == 0
