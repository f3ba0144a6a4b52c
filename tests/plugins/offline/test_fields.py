"""Objective, next step, task and state of a flush without a payload, as they follow from the conversation."""

import pytest

from holdfast import Holdfast
from holdfast.flush import handoff


def test_flush__no_payload__is_derived_and_marked_so(opened, note):
    session = opened().session("s")
    session.add("user", "Fix the login test\nplease", message_id="0a1b2c3d4e")
    session.add("assistant", "Fixed.")
    receipt = session.flush()
    assert "**Objective:** Fix the login test please\n" in note()
    assert "- Next step: none\n" in note()
    assert "Work is closed." in note()
    assert receipt.derived == ("objective", "next_step", "work_open")
    assert receipt.not_found == ("facts", "decisions", "blockers", "artifacts", "follow_ups")
    assert "_Derived from the session, not stated by it: objective (0a1b2c3d), next_step._" in note()
    assert "_Nothing was stated about: facts, decisions, blockers, artifacts, follow_ups._" in note()


def test_flush__no_payload_and_a_request_without_an_answer__is_open_with_the_request_as_next_step(opened, note):
    session = opened().session("s")
    session.add("user", "Fix the login test")
    receipt = session.flush()
    assert "- Next step: Fix the login test\n" in note()
    assert "Work is open." in note()
    assert set(receipt.derived) == {"objective", "next_step", "work_open", "handoff"}


@pytest.mark.parametrize(
    ("answer", "kept"), [("Postgres 16.4", 0), ("take the newest one that operations supports", 4)]
)
def test_flush__only_an_answer_since_the_compaction__keeps_the_known_objective(opened, note, answer, kept):
    session = opened().session("s")
    session.add("user", "Migrate the billing tables and keep the audit rows.")
    for number in range(4):
        session.add("assistant", f"Table {number} is migrated.")
    session.add("assistant", "Which version should I use?")
    session.compact(kept)
    session.add("user", answer)
    session.add("assistant", "Done.")
    session.flush()
    assert f"**Objective:** {answer} (after: Migrate the billing tables and keep the audit rows.)\n" in note()


@pytest.mark.parametrize("tool", [{}, {"tool": "Bash"}])
def test_load__work_that_goes_on_in_another_session__keeps_its_objective(opened, clock, note, tool):
    said = ("user", "go on", {}), ("assistant", "Bash: I now run the webhook's tests", tool)
    for spoken in ((("user", "Move to Adyen", {}), ("assistant", "Next I write the webhook.", {})), said):
        session = opened().session(spoken[0][1])
        for role, text, more in spoken:
            clock.tick(minutes=1)
            session.add(role, text, **more)
        session.flush()
    assert note().count("**Objective:** Move to Adyen (agent: ") == 2
    session.add("user", "yes do it")
    session.end()
    assert opened().load().objective.startswith("Move to Adyen (agent: ")


@pytest.mark.parametrize("words", ["continue", "We settled on Go. The cap is 3. Go on."])
def test_flush__only_a_request_to_go_on_since_the_compaction__keeps_objective_and_next_step(opened, note, words):
    session = opened().session("s")
    session.add("user", "Fix the parser so that it accepts tabs.")
    session.add("assistant", "The lexer is changed. Next I'll add the tests for tabs.")
    session.compact(0)
    session.add("user", words)
    session.flush()
    step = "The lexer is changed. Next I'll add the tests for tabs."
    assert note().count(f"**Objective:** Fix the parser so that it accepts tabs. (agent: {step})\n") == 2
    assert note().count(f"- Next step: {step}\n") == 2


@pytest.mark.parametrize("answer", [(), ("Nothing is open here.",)])
def test_flush__conversation_without_a_request__leaves_no_work_open(opened, note, answer):
    session = opened().session("s")
    session.add("user", "hi, where were we?")
    for text in answer:
        session.add("assistant", text)
    session.flush()
    assert "Work is closed." in note()


ANNOUNCED = "The handler works. Next I'll add the logout route."
STATED = {
    "objective": "Add OAuth login",
    "next_step": "Write the callback handler",
    "decisions": ["Use PKCE"],
    "blockers": ["The client secret is not here yet"],
    "handoff": {
        "active_task": "OAuth login",
        "branch": "oauth",
        "blocker": "The client secret is not here yet",
        "next_action": "Write the callback handler",
    },
}


def resumed(memory, payload, *said):
    """The open work after a stated payload, the messages said since (the user's first) and a compaction."""
    session = memory.session("s")
    session.add("user", "Add OAuth login to the web app.")
    session.flush(payload(**STATED))
    for number, text in enumerate(said):
        session.add("assistant" if number % 2 else "user", text)
    session.flush(reason="compaction")
    (work,) = memory.load(session="s").work
    return work


def test_flush__another_request_after_the_payload__its_task_and_the_announced_step_are_in_the_brief(opened, payload):
    memory = opened()
    request = "The payment test in tests/pay.py is flaky, please fix it first."
    step = "It compares times. Next I'll pin the clock in conftest.py."
    work = resumed(memory, payload, request, step)
    task = f"{request} (after: Add OAuth login) (agent: {step})"
    assert (work.active_task, work.objective, work.next_action) == (task, task, step)
    assert work.blockers == ("The client secret is not here yet",)
    brief = memory.load(session="s").text
    assert "Decision: Use PKCE" in brief
    assert brief.count("client secret") == 1
    assert "stated before" not in brief


@pytest.mark.parametrize(
    ("said", "step"),
    [
        ((), "Write the callback handler"), (("thanks",), "Write the callback handler"),
        (("Where is the config?", "In src/oauth.ts."), "Write the callback handler"),
        (("Fix the typo in the README", "Fixed: it says OAuth now."), "Write the callback handler"),
        (("go on", ANNOUNCED), ANNOUNCED),
    ],
)  # fmt: skip
def test_flush__nothing_open_was_requested_after_the_payload__stated_work_stays(opened, payload, said, step):
    work = resumed(opened(), payload, *said)
    assert (work.active_task, work.objective, work.next_action) == ("OAuth login", "Add OAuth login", step)


def test_flush__compactions_after_the_payload__stated_blocker_stays_until_another_payload(opened, payload):
    memory = opened()
    session = memory.session("s")
    session.flush(payload(**STATED))
    for number in range(3):
        session.add("user", f"Now write the chapter number {number} of the manual")
        session.flush(reason="compaction")
        assert memory.load().work[0].blockers == ("The client secret is not here yet",)
    session.flush(payload())
    assert memory.load().work[0].blockers == payload().blockers


TASK = "Replace the CSV reader in src/import.py by the one of the standard library"
STEP = "I have read src/import.py. Next I'll replace the reader and run the tests."


@pytest.mark.parametrize(
    "said",
    [
        ("Thanks!", "You're welcome!"),
        ("By the way, which port does the server use?", "It uses port 8080.", "And the default?", "It is 80.", "Bye"),
    ],
)
def test_flush__questions_and_thanks_while_work_is_open__change_nothing(opened, said):
    session = opened().session("s")
    session.add("user", TASK)
    session.add("assistant", STEP)
    session.flush()
    for number, text in enumerate(said):
        session.add("assistant" if number % 2 else "user", text)
    session.flush()
    [work] = opened().load().work
    assert (work.objective, work.active_task, work.next_action) == (*[f"{TASK} (agent: {STEP})"] * 2, STEP)


@pytest.mark.parametrize(
    ("answer", "rows", "words"),
    [
        ("Done. The uploader retries 3 times.", [], "Done. The uploader retries 3 times."),
        ("I'll write the test now.", ["This session is being continued from a previous conversation. 1. x"],
         "The retry is in README.md now."),
        ("I'll write the test now.", ["thanks!"], "I'll write the test now."),
    ],
)  # fmt: skip
def test_flush__nothing_asked_since_the_compaction__the_known_objective_stays(opened, answer, rows, words):
    session = opened().session("s")
    session.add("user", "Add a retry to the uploader in src/upload.py")
    session.add("assistant", answer)
    session.flush(reason="compaction")
    for text in rows:
        session.add("user", text)
    session.add("assistant", "The retry is in README.md now.")
    receipt = session.flush(reason="end")
    assert f"**Objective:** Add a retry to the uploader in src/upload.py (agent: {words})\n" in receipt.summary
    assert bool(rows) or "Work is closed." in receipt.summary


ROWS = [
    ("user", "Replace the CSV reader in src/import.py by the one of the standard library."),
    ("assistant", "Decision: keep the old reader behind a flag, because 2 customers rely on its quoting."),
    ("user", "Good. Blocked by: the missing test data of the customer Acme."),
    ("assistant", "I understand. Next I'll write the flag into src/settings.py."),
]


def test_flush__handoff_entry__names_the_messages_that_it_quotes(project):
    with Holdfast.open(project) as memory:
        session = memory.session("s")
        for number, (role, text) in enumerate(ROWS):
            session.add(role, text, message_id=f"{number}{number}{number}{number}-{role}-of-the-session")
        session.flush()
        text = memory.store.read("continuity/active.md").text
        [work] = handoff.parse(text)
        assert "objective 0000-use" in work.sources
        assert "next_step 3333-ass" in work.sources
        assert not any(source.startswith("decisions") for source in work.sources)
        assert f"- **Quoted from messages:** {'; '.join(work.sources)}\n" in text
        session.add("user", "thanks, bye!")
        session.flush()
        memory.work.close("s", "done")
        [closed] = handoff.parse(memory.store.read("continuity/active.md").text)
        assert closed.sources == ()


@pytest.mark.parametrize(
    ("said", "runs", "left"),
    [("Go on.", 0, []), ("Go on.", 1, ["a"]), ("Test login first", 0, []), ("ログインから", 0, []), ("Sing", 0, ["a"]),
     ("Sing|Dance|Now fix the login test", 0, []), ("Sing|Dance|Paint the login button|Rest", 0, ["a"])],
)  # fmt: skip
def test_flush__session_that_goes_on_with_earlier_work__closes_its_entry(opened, clock, said, runs, left):
    memory = opened()
    for name, asks, answers in (("a", "Fix the login test, ログイン", "Next I do the fixture."), ("b", said, "Fixed.")):
        clock.tick(minutes=1)
        session = memory.session(name)
        for ask in asks.split("|"):
            session.add("user", ask)
            clock.tick(seconds=1)
            (memory.session("a") if runs else session).add("assistant", answers)
        session.flush()
    assert [one.session for one in memory.work.list()] == left
