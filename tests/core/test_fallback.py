"""How missing fields are filled: from the plugins' drafts, and without any from the messages, cut and not judged."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast import Payload
from holdfast.flush.contract import before, complete, digest
from holdfast.flush.handoff import Work
from holdfast.hooks import hookimpl
from holdfast.models import Extraction, HandoffFields, Message
from holdfast_app.authorship.ownwords import own_words


def message(role: str, text: str, number: int = 0) -> Message:
    return Message(role=role, text=text, at=datetime(2026, 11, 21, tzinfo=UTC), id=f"m{number}")


SAID = [message("user", "Fix the login test\nplease", 1), message("assistant", "All 12 tests pass.", 2)]


# no drafts


def test_flush__no_payload_and_no_draft__quotes_the_last_request_and_leaves_work_open(opened, note):
    session = opened().session("s")
    session.add("user", "Fix the login test\nplease", message_id="0a1b2c3d4e")
    session.add("assistant", "On it.")
    receipt = session.flush()
    assert receipt.derived == ("objective", "next_step", "handoff")
    assert receipt.not_found == ("facts", "decisions", "blockers", "artifacts", "follow_ups")
    text = note()
    assert "**Objective:** Fix the login test please\n" in text
    assert "- Next step: Fix the login test please\n" in text
    assert "Work is open." in text
    assert (
        "_Not summarised. What was said, shortened:_\n\n- user: Fix the login test please\n- assistant: On it." in text
    )
    assert "_Derived from the session, not stated by it: objective (0a1b2c3d), next_step (0a1b2c3d)._" in text
    [work] = opened().load().work
    assert (work.active_task, work.next_action) == ("Fix the login test please",) * 2


@pytest.mark.parametrize(
    ("said", "objective"),
    [
        ([*SAID, message("user", "<system-reminder>Be brief</system-reminder>")], "Fix the login test please"),
        ([message("user", "word " * 100)], ("word " * 40)[:-1].rsplit(" ", 1)[0] + "…"),
        ([message("assistant", "\n Done. \nmore")], "Done."),
        ([message("tool", " ")], "(the session holds no text)"),
    ],
    ids=["a client's block follows", "longer than an objective", "no request", "no text"],
)
def test_complete__no_draft__objective_is_the_last_request_or_a_first_line(said, objective):
    assert complete(None, said, [], own_words).objective == objective


@pytest.mark.parametrize("derived", [False, True])
def test_complete__no_draft_and_open_work__stated_fields_stay_and_derived_ones_are_replaced(derived):
    work = Work(
        session="s", flush="f", objective="Paint", active_task="The shed", next_action="Buy paint", derived=derived
    )
    payload = complete(None, SAID, [], own_words, before=before(work, None), branch="red")
    new = "Fix the login test please"
    assert (payload.objective, payload.next_step) == ((new, new) if derived else ("Paint", "Buy paint"))
    assert payload.handoff == HandoffFields(
        active_task=new if derived else "The shed", branch="red", blocker="none", next_action=payload.next_step
    )


def test_digest__more_messages_than_it_lists__has_the_first_and_the_last_and_counts_the_rest():
    def message(role: str, text: str) -> Message:
        return Message(role=role, text=text, at=datetime(2026, 11, 21, tzinfo=UTC), id="m")

    said = [message(("user", "assistant")[n % 2], f"  line {n}") for n in range(50)]
    noise = [message("user", " \n"), message("tool", "output"), message("system", "rules")]
    lines = digest([*noise, *said, *noise], own_words).splitlines()
    assert lines[:2] == ["_Not summarised. What was said, shortened:_", ""]
    listed = [f"- {('user', 'assistant')[n % 2]}: line {n}" for n in range(50)]
    assert lines[2:] == [*listed[:20], "- … 10 more in the journal", *listed[-20:]]
    assert digest([*said[:40]], own_words).splitlines()[2:] == listed[:40]
    assert digest(noise, own_words) == digest([], own_words) == ""


# drafts


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
    assert stated.handoff.branch == "fix-login"
    assert (stated.work_open, stated.derived) == (True, ())
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
    session.flush({"objective": "Ship", "facts": [], "decisions": [], "blockers": [], "next_step": "none",
                   "artifacts": [], "follow_ups": [], "state_mutations": [], "curated": "none"})  # fmt: skip
    assert len(plugin.asked) == 2  # nothing is missing and nothing is new
