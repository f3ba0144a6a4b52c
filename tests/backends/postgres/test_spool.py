"""A flush while the database does not answer is kept on this machine, and stored once it does."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.backends.postgres.cluster import shared
from tests.backends.postgres.proxy import Proxy
from tests.plugins.agents.test_hook_restore import STATED
from tests.support.trusting import trusted

from holdfast import Holdfast
from holdfast.flush.spool import shipping
from holdfast.storage import block_marker


@pytest.mark.parametrize("before", [True, False], ids=["connected before", "first connection"])
def test_flush__database_does_not_answer__is_kept_and_stored_once_it_does(
    before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipping, "PATIENCE_S", 2.0)
    cluster = shared()
    proxy = Proxy(cluster.port)
    server = cluster.url(port=proxy.port)
    (tmp_path / "holdfast.toml").write_text(
        f'[storage]\nbackend = "postgres"\nserver = "{server}"\nnamespace = "spool/{before}"\nspool = true\n'
    )
    trusted(tmp_path)
    try:
        with Holdfast.open(tmp_path) as memory:
            session = memory.session("one")
            if before:
                session.add("user", "Hello")
                session.flush(STATED)
            proxy.mute = True
            session.add("user", "Go on")
            receipt = session.flush(STATED.evolve(facts=("The port is 8443",)))
            assert receipt.spooled.startswith("postgresql://")
            assert f":{proxy.port}/" in receipt.spooled
            assert session.state == "safe"
        proxy.mute = False
        with Holdfast.open(tmp_path) as memory:
            sent = memory.spool.send(limit_s=30)
            assert [one.id for one in sent.written] == [receipt.flush_id], sent
            note = memory.store.read(next(name for name in memory.store.names() if name.startswith("memory/2")))
            assert note is not None
            assert note.text.count(block_marker(receipt.flush_id)) == 1
            assert [fact.content for fact in memory.facts.list()] == ["The port is 8443"]
            assert memory.spool.items() == []
    finally:
        proxy.close()
