"""A flush that goes on after a refusal: nothing said meanwhile is left out, and nothing is written a second time."""

import pytest

from holdfast.api import FlushRefused, hookimpl
from holdfast.config.values import PluginConfig
from holdfast.journal.safety import Marker, begin
from holdfast_app.privacy.sweep import forget_marker

AT = "2026-11-21T14:30:00+00:00"
GHOST = {"curated": PluginConfig(enabled=False), "offline": PluginConfig(enabled=False), "ghost": PluginConfig()}


class Broken:
    """Fails after the note is written."""

    @hookimpl
    def on_flush(self, payload, receipt):
        raise RuntimeError("broken")


@pytest.fixture
def in_the_way(project):
    """A file in place of the handoff's folder, so that a flush stops after the daily note."""
    path = project / ".holdfast" / "continuity"
    path.parent.mkdir(exist_ok=True)
    path.write_text("in the way")
    return path


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


def test_flush__pending_flush_cannot_be_read__context_is_written_from_the_messages(opened, state, note):
    session = opened().session("s")
    session.add("user", "Please paint the shed green")
    begin(str(state), Marker(session="s", at=AT, reason="manual", key="k", pending={"payload": 5}))

    receipt = opened().session("s").flush()

    assert "paint the shed green" in note()
    assert not receipt.repeated
    assert opened().unsafe() == []


def test_flush__pending_flush_but_its_journal_was_deleted__is_completed_from_the_marker(opened, project, note):
    session = opened(Broken()).session("s")
    session.add("user", "Please paint the shed green")
    with pytest.raises(FlushRefused):
        session.flush()
    for path in [
        *(project / ".holdfast" / "state" / "sessions").glob("s.*"),
        *(project / ".holdfast").glob("memory/*"),
    ]:
        path.unlink()

    opened().session("s").flush()

    assert "paint the shed green" in note()
    assert opened().unsafe() == []


def test_flush__marker_is_deleted_while_it_fails__the_payload_is_in_a_new_one(opened, payload, project, note):
    class Deleting:
        @hookimpl
        def on_flush(self, payload, receipt):
            forget_marker(str(project / ".holdfast" / "state"), "s")
            raise RuntimeError("broken")

    session = opened(Deleting()).session("s")
    with pytest.raises(FlushRefused):
        session.flush(payload(decisions=["kept all the same"]))
    assert opened().unsafe()[0].stated[0].payload is not None
    opened().session("s").flush()
    assert "kept all the same" in note()


def test_flush__completed_on_a_later_day__its_facts_have_the_time_at_which_they_were_stated(opened, payload, clock):
    at = clock()
    with pytest.raises(FlushRefused):
        opened(Broken()).session("s").flush(payload(facts=["The port is 8443"]))
    clock.tick(days=1)
    receipt = opened().session("s").flush()
    [fact] = opened().facts.list()
    assert (receipt.at, fact.created_at) == (at, at)
