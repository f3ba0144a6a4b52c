"""The handoff: what people read in it, and what becomes of more work than it holds."""

import pytest

from holdfast.errors import Corrupt
from holdfast.flush import handoff
from holdfast.flush.handoff import parse

#: None of these values appears anywhere else in the payload, so that no other field can take its place.
STATED = {
    "active_task": "owner/repo#77: the token is refreshed twice",
    "branch": "fix-refresh",
    "blocker": "test_refresh fails on Windows",
    "next_action": "Read the log of the nightly run",
}


@pytest.mark.req("R134", "R168", "R080")
def test_handoff__open_then_closed__people_read_the_next_action_and_then_that_nothing_is_left(opened, payload, project):
    path = project / ".holdfast" / "continuity" / "active.md"
    opened().session("s").flush(payload(handoff=STATED, needs_operator=["Approve the release"]))
    for line in (
        f"## Open: {STATED['active_task']}",
        f"- **Next action:** {STATED['next_action']}",
        f"- **Branch or review:** {STATED['branch']}",
        f"- **Blocker:** {STATED['blocker']}",
    ):
        assert f"\n{line}\n" in path.read_text()
    assert "Approve the release" in path.read_text()

    done = payload(work_open=False, next_step="none", handoff=None, needs_operator=["Approve the release"])
    opened().session("s").flush(done)

    assert "\nNothing is left to do here. Flush " in path.read_text()
    assert "Open:" not in path.read_text()
    [closed] = parse(path.read_text())
    assert (closed.blocker, closed.next_action, closed.blockers, closed.follow_ups) == ("", "", (), ())
    assert closed.needs_operator == ()


@pytest.mark.req("R181")
def test_flush__more_open_work_than_the_handoff_holds__the_oldest_is_listed_from_its_journal(
    opened, payload, monkeypatch
):
    monkeypatch.setattr(handoff, "MAX_OPEN", 10)
    memory = opened()
    for n in range(11):
        receipt = memory.session(f"s{n}").flush(payload(objective=f"Objective {n}", blockers=["No access"]))
    listed = [work.session for work in memory.work.list()]
    assert (len(listed), listed[0], listed[-1]) == (10, "s10", "s1")
    assert "older work, from the journals" in receipt.warnings[-1]
    assert "- `holdfast work --all` also lists older work" in str(memory.load())
    [oldest] = [work for work in memory.work.list(everything=True) if work.session == "s0"]
    assert (oldest.is_open, oldest.objective) == (True, "Objective 0")
    memory.session("done").flush(payload(work_open=False, handoff=None))
    assert len(memory.work.list()) == 10, "closed work takes no open work's place"
    session = memory.session("s0")
    assert session.flush().repeated
    session.add("user", "go on")
    session.flush()
    [again] = [work for work in memory.work.list() if work.session == "s0"]
    assert (again.objective, again.blockers) == ("Objective 0", ("No access",))
    memory.work.close("s1", "done elsewhere")
    assert not next(work for work in memory.work.list(everything=True) if work.session == "s1").is_open


@pytest.mark.parametrize("said", ["1." * 150, "One. " * 120, "a.b, " + "c . " * 110])
def test_flush__a_value_with_many_dots__the_handoff_can_be_read_again(opened, payload, said):
    """The reader took them for a key of too many tables, so the written handoff was damage and blocked each flush."""
    memory = opened()
    session = memory.session("s")
    session.add("user", f"Please fix {said}")
    session.flush(payload(objective=said, work_open=True))
    session.add("assistant", "I will run the tests next.")
    session.flush()
    assert said[:50] in str(memory.load())


def test_parse__a_handoff_far_larger_than_holdfast_writes__is_refused_at_once():
    entry = '[[work]]\nsession = "s"\nobjective = "x"\n\n'
    with pytest.raises(Corrupt, match="more than"):
        parse(f"+++\nversion = 1\n\n{entry * 60_000}+++\n")
