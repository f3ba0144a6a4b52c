"""``holdfast work``: a table for people, JSON for programs, and no session's name can forge either."""

import json

import pytest
from tests.support.stated import goes_on

HANDOFF = {"active_task": "Fix login", "branch": "main", "blocker": "none", "next_action": "Run the login tests"}
PAYLOAD = goes_on("Fix the flaky login test", "Run the login tests", handoff=HANDOFF)


@pytest.fixture
def worked(run):
    """``worked(*sessions)``: each has left open work."""

    def make(*sessions):
        for session in sessions:
            done = run("flush", "--session", session, stdin=json.dumps(PAYLOAD))
            assert done.code == 0, done.err
        return run

    return make


def test_work__several_sessions__are_a_table_with_id_state_and_next_step(worked):
    out = worked("s1", "s2")("work").out
    assert [line.split()[1:3] for line in out.splitlines()[1:3]] == [["s2", "open"], ["s1", "open"]]
    assert "Fix login. Next: Run the login tests" in " ".join(out.split())
    assert "2 open; `holdfast work show ID` prints one" in out


def test_work__rules_of_the_user__are_listed_and_closing_one_removes_it(run):
    closed = {**PAYLOAD, "next_step": "none", "work_open": False, "handoff": None, "rules": ["Never push on Friday."]}
    given = ("--rejected", "Redis: loses jobs", "--rule", "Use UTC.", "--payload", "-")
    run("flush", "--session", "s1", *given, stdin=json.dumps(PAYLOAD))
    assert run("flush", "--session", "s2", stdin=json.dumps(closed)).code == 0
    rules = run("work", "--json").json["rules"]
    assert [rule["text"] for rule in rules] == ["Never push on Friday.", "Use UTC."]
    assert f"{rules[0]['id']}  Never push on Friday." in run("work").out
    assert "given up:\n    - Redis: loses jobs" in run("work", "show", "s1").out
    assert run("work", "close", rules[0]["id"]).out.endswith("removed the rule: Never push on Friday.\n")
    assert [rule["text"] for rule in run("work", "--json").json["rules"]] == ["Use UTC."]
    assert run("work", "close", rules[0]["id"]).code != 0
    assert "Never push" not in run("load").out
    run("work", "close", "s1")
    assert "- Use UTC." in run("load").out


def test_work__close_show_and_reopen__tell_and_change_the_state(worked):
    run = worked("s1", "s2")
    assert "the work of s1 is closed; the daily note says so" in run("work", "close", "s1", "--because", "done").out
    assert "s1" not in run("work").out
    assert "1 open, 1 ended" in run("work", "--all").out
    shown = run("work", "show", "s1").out
    assert "closed" in shown
    assert "done" in shown
    again = run("work", "close", "s1", "--json").json
    assert (again["changed"], again["work"]["state"], again["work"]["because"]) == (False, "closed", "done")
    assert run("work", "reopen", "s1", "--json").json["work"]["state"] == "open"
    assert "Run the login tests" in run("work", "show", "s1").out
    assert run("doctor").code == 0
