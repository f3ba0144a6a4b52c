"""Each derived field names the message it quotes, and a receipt says what was found and what was not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast import Holdfast
from holdfast.flush import handoff
from holdfast.models import Message, Payload
from holdfast_app.authorship import sources
from holdfast_app.config import Config

AT = datetime(2026, 11, 21, tzinfo=UTC)


def say(session, rows):
    for number, (role, text) in enumerate(rows):
        session.add(role, text, message_id=f"{number}{number}{number}{number}-{role}-of-the-session")


@pytest.fixture
def memory(project):
    with Holdfast.open(project, config=Config(zone="UTC")) as opened:
        yield opened


ROWS = [
    ("user", "Replace the CSV reader in src/import.py by the one of the standard library."),
    ("assistant", "Decision: keep the old reader behind a flag, because 2 customers rely on its quoting."),
    ("user", "Good. Blocked by: the missing test data of the customer Acme."),
    ("assistant", "I understand. Next I'll write the flag into src/settings.py."),
]


def test_flush__handoff_entry__names_the_messages_that_it_quotes(memory):
    session = memory.session("s")
    say(session, ROWS)
    session.flush()
    text = memory.store.read("continuity/active.md").text
    [work] = handoff.parse(text)
    assert "objective 2222-use" in work.sources
    assert "next_step 3333-ass" in work.sources
    assert not any(source.startswith("decisions") for source in work.sources)
    assert f"- **Quoted from messages:** {'; '.join(work.sources)}\n" in text
    session.add("user", "thanks, bye!")
    session.flush()
    memory.work.close("s", "done")
    [closed] = handoff.parse(memory.store.read("continuity/active.md").text)
    assert closed.sources == ()


def test_flush__killed_and_completed_by_another_process__writes_the_same_block(memory, project, monkeypatch, note):
    session = memory.session("s")
    say(session, ROWS)
    with monkeypatch.context() as patched:
        patched.setattr("holdfast.flush.apply.Documents._write_handoff", _dies)
        with pytest.raises(KeyboardInterrupt):
            session.flush()
    today = f"{memory.services.now():%Y-%m-%d}"
    before = note(today)
    with Holdfast.open(project, config=Config(zone="UTC")) as again:
        again.session("s").flush()
    assert note(today) == before


def _dies(*_):
    raise KeyboardInterrupt


def test_of__text_that_no_message_holds__has_no_source():
    said = [Message(role="user", text="Fix the parser of src/a.py", at=AT, id="abcdefghij")]
    payload = Payload(
        objective="Fix the parser of src/a.py", next_step="not stated", decisions=["made up by a model"],
        derived=("objective", "next_step", "decisions"),
    )  # fmt: skip
    assert sources.of(payload, said) == ("objective abcdefgh",)
    assert sources.of(payload.evolve(derived=()), said) == ()
