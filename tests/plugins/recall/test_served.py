"""A backend on a server that has a search of its own serves documents and facts; turns stay in the local index."""

import sqlite3

import pytest

from holdfast.config.values import StorageConfig
from holdfast.storage import Capability
from holdfast_app.search import index


@pytest.fixture
def memory(opened):
    """SQLite that takes itself for a server."""
    made = opened(storage=StorageConfig(backend="sqlite"))
    backend = made.services.store.backend
    if Capability.SEARCH not in backend.capabilities:
        pytest.skip("this SQLite has no FTS5")
    backend.capabilities |= {Capability.REMOTE}
    made.session("talk").add("user", "the osprey sails on Monday", message_id="m1")
    backend.write("MEMORY.md", "- The osprey is the server\n")
    backend.write("memory/2026-11-20.md", "The osprey was renamed\n")
    made.facts.create("The osprey costs nothing", "knowledge", 0.9)
    return made


def test_search__backend_serves__its_documents_and_facts_found_beside_turns(memory, project):
    found = {hit.kind: hit for hit in memory.search("what is the osprey?")}
    assert set(found) == {"turn", "memory", "note", "fact"}
    assert (found["memory"].name, found["memory"].excerpt) == ("MEMORY.md", "- The osprey is the server")
    assert found["note"].at.day == 20
    db = sqlite3.connect(project / ".holdfast/state" / index.FILE)
    assert db.execute("SELECT kind FROM source").fetchall() == [("turn",)]
    db.close()


def test_search__backend_serves__hits_of_other_kinds_and_days_leave_room_for_those_asked_for(memory, clock):
    backend = memory.services.store.backend
    for day in range(1, 20):
        backend.write(f"memory/2026-11-{day:02}.md", "The osprey osprey osprey was renamed\n")
    assert [hit.kind for hit in memory.search("osprey", kinds=["fact"], limit=1)] == ["fact"]
    until = clock().replace(day=2, hour=0)
    assert [hit.name for hit in memory.search("osprey", until=until, limit=1)] == ["memory/2026-11-01.md"]
    assert {hit.kind for hit in memory.search("osprey", since="1h")} == {"turn", "fact"}
    backend.write("memory/2026-11-21.md", "# Note\n\n- Fact: the osprey\n- Decision: Call it osprey\n")
    (hit,) = memory.search("osprey", kinds=["decision"], since="1h")
    assert (hit.where, hit.excerpt) == ("memory/2026-11-21.md:4", "- Decision: Call it osprey")
