"""Each derived field names the message it quotes, and a receipt says what was found and what was not."""

from holdfast import Holdfast
from holdfast.flush import handoff

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
