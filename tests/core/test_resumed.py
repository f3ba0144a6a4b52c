"""A flush that goes on after a refusal: nothing said meanwhile is left out, and nothing is written a second time."""

from __future__ import annotations

import pytest

from holdfast.config.values import PluginConfig
from holdfast.errors import FlushRefused, NothingToFlush
from holdfast.flush import stated
from holdfast.journal import safety
from holdfast.journal.safety import Marker, State

AT = "2026-11-21T14:30:00+00:00"
GHOST = {
    "curated": PluginConfig(enabled=False),
    "offline": PluginConfig(enabled=False),
    "ghost": PluginConfig(),
}


@pytest.fixture
def in_the_way(project):
    """A file in place of the handoff's folder, so that a flush stops after the daily note."""
    path = project / ".holdfast" / "continuity"
    path.parent.mkdir(exist_ok=True)
    path.write_text("in the way")
    return path


@pytest.mark.parametrize("given", [True, False])
def test_flush__more_was_said_after_a_refusal__both_are_in_the_note(opened, payload, note, in_the_way, given):
    session = opened().session("s")
    session.add("user", "Please paint the shed green")
    with pytest.raises(FlushRefused):
        session.flush(payload(decisions=["the first words"]) if given else None)
    in_the_way.unlink()
    session.add("user", "Please also mow the lawn")

    opened().session("s").flush()

    assert "mow the lawn" in note()
    assert ("- Decision: the first words\n" in note()) is given
    again = opened().session("s")
    assert (again.state, again.unflushed) == (State.SAFE, [])


def test_flush__repeated_after_a_refusal__one_block_and_its_fact_names_it(opened, payload, note, in_the_way):
    session = opened().session("s")
    session.add("user", "hello")
    given = payload(facts=["The build needs Python 3.11"])
    with pytest.raises(FlushRefused):
        session.flush(given)
    in_the_way.unlink()

    receipt = session.flush(given)

    assert note().count("<!-- holdfast:block") == 1
    assert not receipt.repeated
    assert session.flush(given).repeated
    assert session.flush().repeated
    [fact] = opened().facts.list()
    assert (fact.content, fact.source) == ("The build needs Python 3.11", receipt.flush_id)


@pytest.mark.parametrize("stated_again", [True, False])
def test_flush__its_note_is_gone__written_again_with_the_override_and_what_was_refused_before(
    opened, payload, project, note, stated_again
):
    session = opened().session("s")
    session.add("user", "hello")
    with pytest.raises(FlushRefused, match="curated"):
        session.flush(payload(curated=None, decisions=["stated first"]))
    with pytest.raises(FlushRefused):
        opened(plugins=GHOST).session("s").flush(payload(decisions=["gone"]))
    opened().session("s").override("the agent is gone")
    given = payload(decisions=["kept"])
    session = opened().session("s")
    session.flush(given)
    before = note()
    assert "**Operator override:** the agent is gone" in before
    [path] = (project / ".holdfast" / "memory").glob("*.md")
    path.unlink()

    receipt = opened().session("s").flush(given if stated_again else None)

    assert "- Decision: stated first\n" in before
    assert note() == before
    assert any("written again" in warning for warning in receipt.warnings)


def test_flush__an_earlier_payload_could_not_be_kept__receipt_and_note_say_so(opened, payload, note):
    session = opened().session("s")
    session.add("user", "hello")
    with pytest.raises(FlushRefused):
        opened(plugins=GHOST).session("s").flush(payload(decisions=["gone"]))

    receipt = opened().session("s").flush(payload(decisions=["another"]))

    [warning] = [w for w in receipt.warnings if w.startswith(stated.NOT_KEPT)]
    assert warning in note()


@pytest.mark.parametrize("flushed_before", [True, False])
def test_flush__all_it_had_was_overridden__session_is_safe_and_the_override_is_used_up(
    opened, payload, note, flushed_before
):
    if flushed_before:
        first = opened().session("s").flush(payload())
    with pytest.raises(FlushRefused):
        opened(plugins=GHOST).session("s").flush(payload(decisions=["gone"]))
    opened().session("s").override("the agent is gone")
    session = opened().session("s")
    if flushed_before:
        receipt = session.flush()
        assert (receipt.flush_id, receipt.repeated) == (first.flush_id, True)
    else:
        with pytest.raises(NothingToFlush):
            session.flush()
    assert opened().unsafe() == []
    again = opened().session("s")
    assert (again.state, again.override_reason) == (State.SAFE, "")


def test_flush__pending_flush_cannot_be_read__context_is_written_from_the_messages(opened, project, note):
    session = opened().session("s")
    session.add("user", "Please paint the shed green")
    state = str(project / ".holdfast" / "state")
    safety.begin(state, Marker(session="s", at=AT, reason="manual", key="k", pending={"payload": 5}))

    receipt = opened().session("s").flush()

    assert "paint the shed green" in note()
    assert not receipt.repeated
    assert opened().unsafe() == []
