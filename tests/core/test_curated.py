"""Curated memory through the whole flush, with the first-party validator that keeps it curated."""

from pathlib import Path

import pytest

from holdfast.config.values import PluginConfig
from holdfast.errors import FlushRefused
from holdfast.flush.curated import bullets

WITH_CURATED = {"curated": PluginConfig(), "offline": PluginConfig(enabled=False)}


@pytest.fixture
def session(opened):
    session = opened(plugins=WITH_CURATED).session("s")
    session.add("user", "hello")
    return session


@pytest.fixture
def memory_file(project) -> Path:
    path = project / ".holdfast" / "MEMORY.md"
    path.parent.mkdir(exist_ok=True)
    return path


DIARY = [
    "2026-11-21: fixed the login test",
    "Today we merged the login branch",
    "Probably the cache is at fault",
    "Worked on branch fix-login",
]


@pytest.mark.req("R108", "R154", "R155", "R156", "R173", "R101", "R103")
@pytest.mark.parametrize("entry", DIARY)
def test_compact__memory_entry_is_a_diary_a_branch_or_a_guess__is_refused_and_the_log_is_the_place(
    session, payload, note, memory_file, entry
):
    with pytest.raises(FlushRefused) as refused:
        session.compact(0, payload(curated={"memory": [entry]}))
    assert refused.value.target == "curated memory"
    assert not memory_file.exists()
    assert session.messages
    assert session.compact(0, payload(facts=[entry])) == []
    assert f"- Fact: {entry}\n" in note()


@pytest.mark.req("R139", "R151", "R152", "R153", "R157", "R182", "R102")
def test_compact__standing_facts_are_decided__are_in_their_files_on_other_days_and_for_other_providers(
    session, opened, payload, memory_file, project, clock
):
    decided = {
        "memory": ["The database runs on host db1", "Never force-push to main"],
        "user": ["Prefers short answers", "Call him Alex, not Alexander"],
    }
    session.compact(0, payload(curated=decided))
    before = memory_file.read_bytes(), (project / ".holdfast" / "USER.md").read_bytes()
    assert before == (
        b"# Memory\n\n- The database runs on host db1\n- Never force-push to main\n",
        b"# User\n\n- Prefers short answers\n- Call him Alex, not Alexander\n",
    )
    clock.tick(days=3)
    later = opened(plugins=WITH_CURATED).session("later")
    later.add("user", "hello")
    later.switch_provider("other")
    later.end()
    assert (memory_file.read_bytes(), (project / ".holdfast" / "USER.md").read_bytes()) == before


def test_flush__curated_line_with_a_newer_value__replaces_the_older_which_is_in_the_archive(opened, payload, project):
    memory = opened()
    for value, flush in (("2.2.0", "a"), ("2.3.0", "b")):
        lines = [f"The current release is {value}", "The tests need Docker"]
        receipt = memory.session(flush).flush(payload(curated={"memory": lines}, state_mutations=[]))
    text = (project / ".holdfast" / "MEMORY.md").read_text()
    assert [*bullets(text)] == ["The current release is 2.3.0", "The tests need Docker"]
    archive = memory.store.read(memory.services.archive).text
    assert "- The current release is 2.2.0 (from MEMORY.md, replaced by: The current release is 2.3.0)" in archive
    assert any("a newer value replaced 'The current release is 2.2.0'" in w for w in receipt.warnings)
    assert memory.session("b").flush().repeated
    assert memory.session("a").flush().repeated
    assert [*bullets((project / ".holdfast" / "MEMORY.md").read_text())] == [*bullets(text)]
