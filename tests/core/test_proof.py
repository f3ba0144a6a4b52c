"""A flush says "flushed already" only when what its receipt proves is stored; what is missing is written again."""

import sys
from collections.abc import Callable

import pytest
from tests.support.processes import finished

from holdfast.api import DreamDraft, Holdfast, hookimpl
from holdfast.journal.safety import State
from holdfast_app.journal.journal import Journal

NOTE, TRAIL, HANDOFF, MEMORY = (
    "memory/2026-11-21.md",
    "memory/summaries/2026-11-21.md",
    "continuity/active.md",
    "MEMORY.md",
)
DECIDED = {"memory": ["Python 3.11 is the minimum", "Tabs, not spaces"], "user": ["Prefers short answers"]}


def body_gone(text: str) -> str:
    """The heading and the marker stay."""
    return text[: text.index("-->\n", text.index("holdfast:block")) + 4]


LOSSES: dict[str, tuple[str, Callable[[str], str | None], str]] = {
    "curated line gone": (MEMORY, lambda t: t.replace("- Tabs, not spaces\n", ""), "- Tabs, not spaces"),
    "curated file gone": (MEMORY, lambda _: None, "- Python 3.11 is the minimum"),
    "user file emptied": ("USER.md", lambda _: "# User\n", "- Prefers short answers"),
    "block's body gone": (NOTE, body_gone, "- Decision: Use a lock"),
    "note gone": (NOTE, lambda _: None, "- Decision: Use a lock"),
    "one line of the block gone": (NOTE, lambda t: t.replace("- Decision: Use a lock\n", ""), "- Decision: Use a lock"),
    "daily summary gone": (TRAIL, lambda _: None, "- **status** owner/repo#12: in review"),
    "daily summary's body gone": (TRAIL, body_gone, "- **status** owner/repo#12: in review"),
    "next action changed": (HANDOFF, lambda t: t.replace("Run the", "Skip the"), 'next_action = "Run the tests"'),
    "handoff gone": (HANDOFF, lambda _: None, 'next_action = "Run the tests"'),
}


@pytest.mark.req("R142", "R167", "R168", "R177")
@pytest.mark.parametrize(
    ("loss", "again"),
    [
        *((loss, "another process") for loss in LOSSES),
        *(("note gone", again) for again in ("plain", "the identical payload", "compact")),
    ],
)
def test_flush__what_the_receipt_proves_is_gone__is_written_again_and_nothing_else(
    opened, payload, project, loss, again
):
    name, damage, wanted = LOSSES[loss]
    store = project / ".holdfast"
    session = opened().session("s")
    session.add("user", "hello")
    first = session.flush(payload(curated=DECIDED))
    path = store / name
    others = {p: p.read_bytes() for p in store.rglob("*.md") if p != path}
    text = damage(path.read_text())
    path.unlink() if text is None else path.write_text(text)
    if again == "compact":
        session.compact(0)
        receipt = session.last_receipt
    elif again == "another process":
        receipt = opened().session("s").flush()
    else:
        receipt = session.flush(payload(curated=DECIDED) if again == "the identical payload" else None)
    assert wanted in path.read_text()
    assert not receipt.repeated
    assert any("no longer stored and was written again" in w and name in w for w in receipt.warnings)
    if path.name != "2026-11-21.md" or text is None:  # a damaged block stays where it is, the new one has its own id
        assert receipt.flush_id == first.flush_id
        assert {p: p.read_bytes() for p in others} == others
    for repeat in (session, opened().session("s")):
        assert repeat.flush().repeated
    assert session.state is State.SAFE


def test_flush__edited_note__keeps_the_edit_and_writes_what_was_saved_next_to_it(opened, payload, note, project):
    session = opened().session("s")
    session.flush(payload())
    path = project / ".holdfast" / NOTE
    path.write_text(note().replace("Use a lock", "Use two locks"))
    session.flush()
    assert note().count("- Decision: Use two locks\n") == note().count("- Decision: Use a lock\n") == 1
    assert (project / ".holdfast" / TRAIL).read_text().count("owner/repo#12") == 1
    assert session.flush().repeated


def test_flush__a_dream_took_the_line_into_another__it_does_not_come_back(opened, payload, project):
    class Dreams:
        @hookimpl
        def on_dream(self, sources):
            return DreamDraft(memory="- The server is alpha\n", diary="Tidied up")

    memory = opened(Dreams())
    session = memory.session("a")
    session.flush(payload(curated={"memory": ["The server is alpha", "It is the server named alpha"]}))
    assert memory.deep_dream().ok
    after = (project / ".holdfast" / MEMORY).read_text()
    assert "named alpha" not in after
    assert session.flush().repeated
    assert (project / ".holdfast" / MEMORY).read_text() == after


def test_flush__other_sessions_wrote_the_handoff_and_shortened_the_entry__is_flushed_already(opened, payload):
    memory = opened()
    first = memory.session("first")
    first.flush(payload(objective="x" * 500))
    for number in range(10):
        receipt = memory.session(f"s{number}").flush(payload())
    assert any("oldest entries are shortened: s1, s0, first" in w for w in receipt.warnings)
    assert first.flush().repeated
    assert [w.session for w in memory.load().work][-1] == "first"
    found = [f for f in memory.validate().warnings if f.rule == "handoff/crowded"]
    assert len(found) == 1
    assert "first" in found[0].message


def test_flush__purged_since__what_was_purged_does_not_come_back(opened, payload, note, clock):
    memory = opened()
    session = memory.session("s")
    session.add("user", "the word is plover")
    session.flush(payload(facts=["the word is plover"]))
    memory.purge(subject="plover")
    session = opened().session("s")
    session.flush()
    assert "plover" not in note()
    assert note().count("<!-- holdfast:block") == 1


def test_flush__purged_while_the_journal_is_read__reads_it_again(opened, monkeypatch):
    memory = opened()
    session = memory.session("s")
    for text in ("the word is plover", "and the number is 7"):
        session.add("user", text)
    first = session.journal.first_line()
    opened().purge(subject="plover")
    opened().session("s").add("user", "a longer text " * 40)
    answers = iter([first])
    real = Journal.first_line
    monkeypatch.setattr(Journal, "first_line", lambda journal: next(answers, None) or real(journal))
    session.flush()
    assert [message.text[:8] for message in session.messages] == ["[purged]", "and the ", "a longer"]


#: A session is flushed, which imports everything. Then six processes open the project, and flush when all have.
CROWD = """
import os, sys
from holdfast import Holdfast
with Holdfast.open(sys.argv[1]) as memory:
    memory.session("first").add("user", "Write the guide")
    memory.session("first").flush()
TASKS = "Fix the login|Translate the manual|Deploy staging|Test the parser|Rename tables|Draw a logo".split("|")
ready, go = os.pipe(), os.pipe()
for number in range(6):
    if os.fork():
        continue
    try:
        memory = Holdfast.open(sys.argv[1])
        os.write(ready[1], b".")
        os.read(go[0], 1)
        for n in range(2):
            session = memory.session(f"s{number}")
            session.add("user", TASKS[number] + " today" * n)
            session.flush()
        os._exit(0)
    except Exception as error:
        os.write(2, f"{error}\\n".encode())
    finally:
        os._exit(1)
for _ in range(6):
    os.read(ready[0], 1)
os.write(go[1], b"." * 6)
print(*(os.wait()[1] for _ in range(6)))
"""


@pytest.mark.req("R142")
def test_flush__many_processes_at_once__none_is_refused(project):
    (project / "holdfast.toml").write_text('zone = "UTC"\n')
    done = finished([sys.executable, "-c", CROWD, str(project)], timeout=300)
    assert (done.stdout.split(), done.stderr) == (["0"] * 6, "")
    with Holdfast.open(project) as memory:
        assert memory.unsafe() == []
        assert {w.session for w in memory.load().work} == {"first", *(f"s{number}" for number in range(6))}


@pytest.mark.req("R004")
def test_journal__many_flushes_of_one_session__grows_in_proportion(opened, payload):
    sizes = {}
    for flushes in (4, 8, 16):
        memory = opened()
        session = memory.session(f"s{flushes}")
        for number in range(flushes):
            session.add("user", f"question {number}")
            session.compact(1, payload(objective=f"objective {number:04}"))
        sizes[flushes] = Journal(memory.services.state, session.id).size()
        assert session.summary.count("question") == flushes
        assert memory.session(session.id).summary == session.summary
    assert sizes[16] < 2.2 * sizes[8] < 4.84 * sizes[4]
