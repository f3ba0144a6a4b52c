"""A refused flush stays visible in the session's journal after a later flush succeeded."""

import pytest

from holdfast import FlushRefused
from holdfast_app.records.journals import incidents


def test_flush__refused_again_for_the_same_reason__is_recorded_once(opened, project):
    opened().session("s1").add("user", "Fix the login test")
    notes = project / ".holdfast" / "memory"
    notes.parent.mkdir(exist_ok=True)
    notes.write_text("A file where a folder should be.\n")
    journal = opened().session("s1").journal
    for reason in ("compaction", "compaction", "compaction", "manual"):
        with pytest.raises(FlushRefused):
            opened().session("s1").flush(reason=reason)
        if reason == "compaction":
            size = journal.size()
    assert [one.reason for one in incidents(journal)] == ["compaction", "manual"]
    assert journal.size() > size
    notes.unlink()
    opened().session("s1").flush()
    notes.rename(notes.with_name("kept"))
    notes.write_text("A file where a folder should be.\n")
    opened().session("s1").add("user", "And the logout test")
    with pytest.raises(FlushRefused):
        opened().session("s1").flush()
    assert len(list(incidents(journal))) == 3
