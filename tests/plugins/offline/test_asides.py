"""Questions in between and thanks change nothing while work is open."""

from __future__ import annotations

import pytest

TASK = [
    ("user", "Replace the CSV reader in src/import.py by the one of the standard library"),
    ("assistant", "I have read src/import.py. Next I'll replace the reader and run the tests."),
]
ASIDES = {
    "a question": [("user", "By the way, which port does the server use?"), ("assistant", "It uses port 8080.")],
    "thanks": [("user", "Thanks!"), ("assistant", "You're welcome!")],
    "two questions and thanks": [
        ("user", "What is a dialect?"),
        ("assistant", "A dialect names the delimiter and the quoting."),
        ("user", "And the default one?"),
        ("assistant", "It is called excel."),
        ("user", "Great, thanks"),
    ],
}


def say(session, rows):
    for role, text in rows:
        session.add(role, text)


@pytest.mark.parametrize("aside", ASIDES.values(), ids=ASIDES)
@pytest.mark.parametrize("flushed", [False, True], ids=["same stretch", "next stretch"])
def test_flush__aside_while_work_is_open__objective_next_step_and_state_stay(opened, aside, flushed):
    session = opened().session("s")
    say(session, TASK)
    if flushed:
        session.flush()
    say(session, aside)
    session.flush()
    [work] = opened().load().work
    assert work.objective == TASK[0][1]
    assert work.active_task == TASK[0][1]
    assert work.next_action.startswith("Next I'll replace the reader")


def test_flush__question_after_the_work_was_done__is_answered_and_nothing_is_open(opened):
    session = opened().session("s")
    say(session, [TASK[0], ("assistant", "Done: src/import.py uses the csv module and all tests pass.")])
    say(session, ASIDES["a question"])
    session.flush()
    assert opened().load().work == ()


@pytest.mark.parametrize("aside", [ASIDES["a question"], ASIDES["thanks"]], ids=["a question", "thanks"])
def test_flush__aside_after_the_work_was_done__the_finished_work_keeps_its_name(opened, aside):
    memory = opened()
    session = memory.session("s")
    say(session, [TASK[0]])
    session.add("assistant", "Edit: src/import.py", tool="Edit")
    session.add("tool", "updated", tool="Edit")
    say(session, [("assistant", "src/import.py uses the csv module and all tests pass."), *aside])
    session.flush()
    [work] = memory.work.list(everything=True)
    assert (work.is_open, work.objective) == (False, TASK[0][1])


@pytest.mark.parametrize("answer", ["Which of the two servers do you mean?", "I'll look it up next."])
def test_flush__question_after_the_work_was_done_without_an_answer__is_open(opened, answer):
    memory = opened()
    session = memory.session("s")
    say(session, [TASK[0]])
    session.add("assistant", "Edit: src/import.py", tool="Edit")
    say(session, [("assistant", "All tests pass."), ("user", "which port does the server use?"), ("assistant", answer)])
    session.flush()
    assert memory.load().work[0].objective == "which port does the server use?"


def test_flush__question_with_a_tool_call_or_a_new_task__is_no_aside(opened):
    session = opened().session("s")
    say(session, TASK)
    session.flush()
    session.add("user", "Could you first fix the failing date test in tests/test_dates.py?")
    session.add("assistant", "bash: pytest tests/test_dates.py", tool="bash")
    session.add("tool", "1 failed", tool="bash")
    session.flush()
    [work] = opened().load().work
    assert work.objective.startswith("Could you first fix the failing date test")


@pytest.mark.parametrize("answer", ["Done. The uploader retries 3 times.", "I'll write the test now."])
@pytest.mark.parametrize(
    "rows",
    [
        [],
        [("user", "This session is being continued from a previous conversation. Summary: 1. Primary request: x")],
        [("user", "thanks!")],
    ],
)
def test_flush__nothing_asked_since_the_compaction__the_known_objective_stays(opened, answer, rows):
    session = opened().session("s")
    session.add("user", "Add a retry to the uploader in src/upload.py")
    session.add("assistant", answer)
    session.flush(reason="compaction")
    for role, text in [*rows, ("assistant", "The retry is in place and documented in README.md now.")]:
        session.add(role, text)
    receipt = session.flush(reason="end")
    assert "**Objective:** Add a retry to the uploader in src/upload.py\n" in receipt.summary
