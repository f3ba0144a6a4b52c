"""How missing fields are filled: from the plugins' drafts, and without any from the messages, cut and not judged."""

from datetime import UTC, datetime

import pytest
from tests.support.stated import done

from holdfast.api import Extraction, Message, Payload, hookimpl
from holdfast_app.facts.completing import complete


def messages(*lines: str) -> list[Message]:
    rows = (line.partition(": ") for line in lines)
    return [Message(role=role, text=text, at=datetime(2026, 11, 21, tzinfo=UTC), id="m") for role, _, text in rows]


def test_flush__no_payload_and_no_draft__quotes_the_last_request_and_leaves_work_open(opened, note):
    session = opened().session("s")
    session.add("user", "Fix the login test\nplease", message_id="0a1b2c3d4e")
    session.add("assistant", "On it.")
    receipt = session.flush()
    assert receipt.derived == ("objective", "next_step", "handoff")
    assert receipt.not_found == ("facts", "decisions", "blockers", "artifacts", "follow_ups")
    text = note()
    stated = {"**Objective:** Fix the login test please", "- Next step: Fix the login test please", "Work is open."}
    assert stated <= {*text.split("\n")}
    assert (
        "_Not summarised. What was said, shortened:_\n\n- user: Fix the login test please\n- assistant: On it." in text
    )
    assert "_Derived from the session, not stated by it: objective (0a1b2c3d), next_step (0a1b2c3d)._" in text
    [work] = opened().load().work
    assert (work.active_task, work.next_action) == ("Fix the login test please",) * 2


@pytest.mark.parametrize(
    ("said", "objective"),
    [
        (["user: Fix it\nplease", "user: <system-reminder>Be brief</system-reminder>"], "Fix it please"),
        (["user: " + "word " * 100], ("word " * 40)[:-1].rsplit(" ", 1)[0] + "…"),
        (["assistant: \n Done. \nmore"], "Done."),
        (["tool:  "], "(the session holds no text)"),
    ],
    ids=["a client's block follows", "longer than an objective", "no request", "no text"],
)
def test_complete__no_draft__objective_is_the_last_request_or_a_first_line(said, objective):
    assert complete(None, messages(*said), [], Payload()).objective == objective


class Recorder:
    """Drafts an objective, and keeps the states that it was shown."""

    EXTRACTS_AT_ONCE = True

    def __init__(self) -> None:
        self.shown: list[Payload] = []
        self.asked: list[list[str]] = []

    @hookimpl
    def on_extract(self, turns, before):
        self.shown.append(before)
        self.asked.append([m.text for turn in turns for m in turn.messages])
        draft = Payload(objective="Drafted", next_step="none", decisions=["a"], work_open=False, derived=["objective"])
        return Extraction(draft=draft)


def test_flush__extractor__is_shown_the_open_work_and_otherwise_the_last_objective(opened, payload):
    plugin = Recorder()
    session = opened(plugin).session("s")
    session.add("user", "Fix the login test")
    session.flush(payload(state_mutations=[]))
    session.add("assistant", "Done.")
    session.flush()
    session.add("assistant", "Anything else?")
    session.flush()
    first, stated, closed = plugin.shown
    assert (first.objective, first.work_open) == (None, False)
    assert (stated.objective, stated.next_step) == ("Fix the login test", "Run the tests")
    assert (stated.handoff.branch, stated.work_open, stated.derived) == ("fix-login", True, ())
    assert (closed.objective, closed.work_open, closed.handoff) == ("Drafted", False, None)


def test_flush__nothing_new_and_a_field_missing__single_fields_are_drafted_and_lists_are_not_repeated(opened, note):
    plugin = Recorder()
    session = opened(plugin).session("s")
    session.add("user", "Fix the login test")
    session.flush()
    receipt = session.flush({"facts": ["The token expires after 60 s"], "curated": "none"})
    assert plugin.asked == [["Fix the login test"]] * 2
    assert "objective" in receipt.derived
    assert "decisions" in receipt.not_found
    session.flush(done("Ship", work_open=None))
    assert len(plugin.asked) == 2  # nothing is missing and nothing is new
