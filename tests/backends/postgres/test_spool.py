"""A flush while the database does not answer is kept on this machine, and stored once it does."""

import json
from pathlib import Path

import pytest
from tests.backends.postgres.cluster import shared
from tests.backends.postgres.proxy import Proxy
from tests.plugins.agents.test_hook_restore import STATED
from tests.support.trusting import trusted

from holdfast.api import Holdfast, block_marker
from holdfast_app import spool
from holdfast_app.records import lastbrief
from holdfast_cli import main


def spooling(project: Path, namespace: str, monkeypatch: pytest.MonkeyPatch) -> Proxy:
    """A proxy before the database, and behind it the store of a project with a spool."""
    monkeypatch.setattr(spool, "PATIENCE_S", 1.0)
    proxy = Proxy(shared().port)
    lines = ["[storage]", 'backend = "postgres"', f'server = "{shared().url(port=proxy.port)}"', "spool = true"]
    trusted(project, "\n".join([*lines, f'namespace = "{namespace}"\n']))
    return proxy


@pytest.mark.parametrize("before", [True, False], ids=["connected before", "first connection"])
def test_flush__database_does_not_answer__is_kept_and_stored_once_it_does(before, tmp_path, monkeypatch):
    proxy = spooling(tmp_path, f"spool/{before}", monkeypatch)
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
            assert note.text.count(block_marker(receipt.flush_id)) == 1
            assert [fact.content for fact in memory.facts.list()] == ["The port is 8443"]
            assert memory.spool.items() == []
    finally:
        proxy.close()


def test_load_status_and_web__server_away__kept_flushes_and_the_age_of_the_last_brief(tmp_path, monkeypatch, capsys):
    pytest.importorskip("jinja2", reason="the extra `web` is not installed")
    from holdfast_web.site import Site

    proxy = spooling(tmp_path, "away", monkeypatch)
    with Holdfast.open(tmp_path) as memory:
        session = memory.session("one")
        session.add("user", "Hello")
        session.flush(STATED)
        with lastbrief.keeping(memory.services) as keep:
            keep("The brief of this morning.")
        proxy.close()
        session.add("user", "Go on")
        assert session.flush(STATED.evolve(facts=("The port is 8443",))).spooled
        site = Site(memory, port=1)
        pages = [
            site.answer(
                site.access.prefix + path, host="127.0.0.1:1", cookie=site.access.set_cookie().partition(";")[0]
            )
            for path in ("", "start")
        ]
    for page, words in zip(
        pages, (["1 flush", "just now"], ["The port is 8443", "The brief of this morning."]), strict=True
    ):
        assert page.status == 200
        assert all(one in page.body.decode() for one in words)
    assert main(["load", "--root", str(tmp_path)]) == 3
    shown = capsys.readouterr()
    for words in ("1 flush", "The port is 8443", "from just now.", "The brief of this morning."):
        assert words in shown.out
    assert "holdfast: " in shown.err
    assert main(["load", "--json", "--root", str(tmp_path)]) == 3
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["error"]["exit_code"], len(told["spooled"])) == (False, 3, 1)
    assert told["copy"]["text"] == "The brief of this morning."
    assert main(["status", "--root", str(tmp_path)]) == 0
    assert "The last brief that this machine has read is from just now." in capsys.readouterr().out
