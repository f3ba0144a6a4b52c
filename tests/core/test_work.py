"""Work has an end and an owner: listed for all sessions, closed and reopened by command, shown to its owner first."""

import shutil
from collections.abc import Callable

import pytest
from tests.core.conftest import WHOLE

from holdfast.api import BadValue, Conflict, Extraction, FlushRefused, Holdfast, NotFound, Payload, hookimpl
from holdfast.journal.safety import State
from holdfast_app.records import work_log

Opened = Callable[..., Holdfast]


def step(n: int) -> dict[str, str]:
    return {"active_task": f"task {n}", "branch": f"branch-{n}", "blocker": "none", "next_action": f"step {n}"}


@pytest.fixture
def many(opened, payload, clock):
    """``many(n)``: a project with the open work of n sessions, s0 the oldest."""

    def make(count: int) -> Opened:
        for n in range(count):
            clock.tick(minutes=1)
            done = payload(objective=f"objective {n}", next_step=f"step {n}", handoff=step(n), state_mutations=[])
            opened().session(f"session-{n:02}").flush(done)
        return opened

    return make


def test_load__of_a_session_with_work__its_own_is_first_and_marked_and_the_others_are_named(many):
    brief = many(4)().load(session="session-01", max_chars=9_000)
    assert [w.session for w in brief.work] == ["session-01", "session-03", "session-02", "session-00"]
    text = str(brief)
    first = text.index("## task 1")
    assert text.index("This is this session's own work.") > first
    assert text.index("- Next action: step 1") < text.index("## 3 more open, of other sessions")
    assert "- session-03: task 3 Next: step 3" in text
    assert "## task 3" not in text
    assert brief.objective == "objective 1"


def test_load__more_open_work_than_fits__every_entry_is_shown_or_counted(many):
    memory = many(16)()
    for session, max_chars in (("", 2_000), ("session-03", 3_000)):
        brief = memory.load(session=session, max_chars=max_chars)
        text = str(brief)
        assert len(text) <= max_chars
        shown = sum(f"session-{n:02}:" in text or f"Session: session-{n:02}\n" in text for n in range(16))
        shown += "own work" in text
        assert shown == 16 or f"… and {16 - shown} more: `holdfast work`" in text
        assert len(brief.work) == len(memory.work.list()) == 16


def test_load__session_goes_on_later__its_former_state_is_left_out(opened, payload, clock):
    memory = opened()
    memory.session("one").flush(payload(handoff=step(1), next_step="former step", objective="goal of one"))
    clock.tick(minutes=1)
    memory.session("two").flush(payload(handoff=step(2), next_step="step of two"))
    clock.tick(minutes=1)
    done = payload(next_step="none", objective="goal of one", facts=[], follow_ups=[], handoff=None, work_open=False)
    memory.session("one").flush(done)
    text = str(memory.load(max_chars=9_000))
    assert "former step" not in text
    assert "goal of one" in text
    assert "- Next action: step 2" in text


def test_load__long_notes_and_memory__handoff_then_notes_then_memory_have_room(many, project):
    memory = many(2)()
    found = [f"Found out {n}: the parser reads its tables from the file number {n}" for n in range(60)]
    memory.session("session-01").flush({**WHOLE, "handoff": step(1), "decisions": found, "state_mutations": []})
    lines = "\n".join(f"- Standing item {n} about the parser" for n in range(400))
    (project / ".holdfast" / "MEMORY.md").write_text(f"# Memory\n\n{lines}\n")
    (project / ".holdfast" / "USER.md").write_text(f"# User\n\n{lines}\n")
    for max_chars in (2_000, 9_000):
        text = str(memory.load(max_chars=max_chars))
        assert len(text) <= max_chars
        assert "- Next action: step 1" in text
        for name in ("MEMORY.md", "USER.md", "memory/2026-11-21.md"):
            assert name in text
        for said in ("Standing item", "Found out"):
            part = sum(len(line) + 1 for line in text.splitlines() if said in line)
            assert max_chars * 0.1 < part < max_chars * 0.6
        assert "lines not shown" in text
        assert "`holdfast show USER.md`" in text


class Answered:
    """Drafts that the last question was answered."""

    EXTRACTS_AT_ONCE = True

    @hookimpl
    def on_extract(self, turns):
        return Extraction(draft=Payload(next_step="none", work_open=False, derived=["next_step", "work_open"]))


def test_work__everything__says_how_each_ended(opened, payload, clock):
    opened().session("open").flush(payload(state_mutations=[]))
    closed = payload(work_open=False, next_step="none", handoff=None)
    clock.tick(minutes=1)
    opened().session("finished").flush(closed)
    clock.tick(minutes=1)
    asked = opened(Answered()).session("asked")
    asked.add("user", "Which port does the server use?")
    asked.add("assistant", "The server uses port 8080.")
    asked.flush()
    clock.tick(minutes=1)
    opened().session("dropped").flush(payload(state_mutations=[]))
    opened().work.close("dropped", "not wanted any more")
    assert [(w.session, w.status) for w in opened().work.list()] == [("open", "open")]
    assert [(w.session, w.status, w.because) for w in opened().work.list(everything=True)] == [
        ("open", "open", ""),
        ("dropped", "closed", "not wanted any more"),
        ("asked", "answered", ""),
        ("finished", "finished", ""),
    ]


def test_work_get__beginning_of_an_id__is_enough_when_no_other_has_it(many):
    memory = many(12)()
    assert memory.work.get("session-07").session == "session-07"
    with pytest.raises(BadValue, match="begins 12 sessions"):
        memory.work.get("sess")
    with pytest.raises(BadValue, match="begins 2 sessions: session-11, session-10"):
        memory.work.get("session-1")
    with pytest.raises(NotFound) as unknown:
        memory.work.get("sesion-07")
    assert unknown.value.next_step == "Did you mean `session-07`?"
    with pytest.raises(NotFound) as unknown:
        memory.work.close("ses")
    assert "Sessions with work: session-11" in unknown.value.next_step


def test_close__open_work__is_closed_in_handoff_journal_and_note_and_stays_so(many, note, project):
    closed = many(3)().work.close("session-01", "merged in #12")
    assert (closed.status, closed.because, closed.next_action) == ("closed", "merged in #12", "")
    assert [w.session for w in many(0)().load().work] == ["session-02", "session-00"]
    block = note()[note().index("## Work Closed (14:33)") :]
    assert "Work is closed: task 1" in block
    assert "Because: merged in #12" in block
    assert "It was closed: merged in #12." in (project / ".holdfast/continuity/active.md").read_text()
    # ... although other sessions write the handoff, the same flush comes again, and the handoff is lost
    memory = many(0)()
    memory.session("session-02").flush(reason="end")
    assert memory.session("session-01").flush().repeated
    assert [w.session for w in memory.work.list()] == ["session-02", "session-00"]
    memory.work.close("session-00")
    (project / ".holdfast/continuity/active.md").unlink()
    warning = (
        memory.session("new").flush({**WHOLE, "objective": "new"}).warnings[0]
    )  # it has the others' open work again
    assert "The handoff was missing. The open work of other sessions (1) is in it again" in warning
    assert [w.session for w in memory.work.list()] == ["new", "session-02"]


def test_reopen__closed_by_command__has_all_it_had_and_a_session_that_goes_on_counts_again(many, note, payload):
    memory = many(2)()
    before = memory.work.get("session-00")
    memory.work.close("session-00", "a mistake")
    memory.session("session-01").flush(reason="end")
    memory.session("other").flush({**WHOLE, "objective": "other"})  # the closed marker goes
    again = memory.work.reopen("session-00")
    assert (again.next_action, again.blockers, again.branch) == (before.next_action, before.blockers, "branch-0")
    assert memory.work.list()[0].session == "session-00"
    assert "## Work Reopened" in note()
    session = memory.session("session-00")
    assert session.flush().repeated  # nothing of it is lost
    assert memory.work.get("session-00").is_open
    memory.work.close("session-00")
    session.add("user", "There is more to do")
    session.flush(payload(next_step="the new step", state_mutations=[]))
    assert memory.work.get("session-00").is_open


def test_reopen__finished_by_its_session__has_what_its_flush_said_and_needs_no_room(many, payload):
    memory = many(1)()
    rules = ["Never deploy on a Friday."]
    memory.session("session-00").flush(payload(work_open=False, next_step="none", handoff=None, rules=rules))
    memory.session("other").flush(dict(WHOLE))
    again = memory.work.reopen("session-00", "the test fails again")
    assert (again.facts, again.artifacts) == (tuple(WHOLE["facts"]), tuple(WHOLE["artifacts"]))
    assert again.next_action == "the test fails again"
    assert not memory.session("third").flush(dict(WHOLE)).warnings


def test_close__session_wrote_meanwhile__is_refused_and_the_new_work_stays(many, payload, monkeypatch):
    memory = many(1)()
    get = type(memory.work).get

    def late(self, work_id):
        found = get(self, work_id)
        memory.session("session-00").flush(payload(next_step="newer", state_mutations=[]))
        return found

    monkeypatch.setattr("holdfast_app.work.worklist.WorkList.get", late)
    with pytest.raises(Conflict, match="meanwhile"):
        memory.work.close("session-00")
    monkeypatch.undo()
    assert memory.work.get("session-00").is_open


def test_close__session_that_is_unsafe__stays_unsafe_and_its_turns_stay(many, payload, project):
    memory = many(1)()
    session = memory.session("session-00")
    session.add("user", "Something new")
    blocked = project / ".holdfast" / "memory"
    shutil.move(blocked, project / "kept")
    blocked.write_text("in the way")
    with pytest.raises(FlushRefused):
        session.flush()
    blocked.unlink()
    shutil.move(project / "kept", blocked)
    marker = [(m.session, m.error, m.attempts) for m in memory.unsafe()]
    assert marker

    memory.work.close("session-00", "enough")

    assert [(m.session, m.error, m.attempts) for m in memory.unsafe()] == marker
    assert memory.session("session-00").state is State.UNSAFE
    assert [m.text for m in memory.session("session-00").unflushed] == ["Something new"]
    memory.work.reopen("session-00")
    assert memory.session("session-00").state is State.UNSAFE


def test_purge__of_a_subject_or_by_day__takes_it_out_of_the_closings_too(many, clock):
    memory = many(2)()
    memory.work.close("session-00", "because Zaphod said so")
    assert memory.purge(subject="Zaphod").clean
    last = work_log.of_flush(memory.services.state, "session-00", memory.work.get("session-00").flush)
    assert "Zaphod" not in last.because
    clock.tick(days=3)
    memory.purge(before=clock().date())
    assert "Zaphod" not in str(memory.work.list(everything=True))
