"""Rewriting a journal: the one thing besides an append that happens to it, and what open sessions make of it."""

from pathlib import Path

import pytest

from holdfast.errors import Conflict
from holdfast_app.journal.journal import Journal
from holdfast_app.sessions import rewriting


def stored(journal):
    return Path(journal.path).read_bytes()


def masked(record):
    return {**record, "text": "gone"} if "secret" in record.get("text", "") else record


def keep(line):
    return b"secret" not in line


@pytest.mark.req("R245")
def test_rewrite__a_long_text_replaced__every_offset_points_to_the_same_messages(opened, payload):
    session = opened().session("s")
    for number in range(6):
        session.add(
            "user", f"message {number} " + ("secret " * 50 if number in (0, 2) else ""), message_id=f"m{number}"
        )
    session.compact(3, payload())
    session.add("assistant", "unflushed secret", message_id="m6")
    kept, unflushed = [m.id for m in session.messages], [m.id for m in session.unflushed]
    assert rewriting.rewrite(session.journal, masked, keep) == 4  # three messages, and the summary that quotes them
    again = opened().session("s")
    assert ([m.id for m in again.messages], [m.id for m in again.unflushed]) == (kept, unflushed)
    assert again.messages[-1].text == "gone"
    assert again.last_receipt == session.last_receipt
    assert again.compact(1, payload(objective="next"))[0].id == "m6"


def test_append__journal_rewritten_since_it_was_read__conflict_and_nothing_added(tmp_path):
    journal = Journal(str(tmp_path), "s")
    journal.append({"kind": "message", "id": "1", "text": "a secret"})
    first = journal.first_line()
    rewriting.rewrite(journal, masked, keep)
    before = stored(journal)
    with pytest.raises(Conflict, match="rewritten"):
        journal.append({"kind": "message", "id": "2", "text": "b"}, first_line=first)
    assert stored(journal) == before
