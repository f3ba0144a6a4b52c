"""The spool by itself: its order, its sentence, and the reason for which a flush still waits."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from attrs import evolve

from holdfast import session as kernel
from holdfast.api import Capability, Conflict, FlushRefused, Receipt, StorageConfig, Unavailable
from holdfast_app.checkup.verify import CHANGED, verify_all
from holdfast_app.spool import Kept, Shipped

AT = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)


def kept(number: int) -> Kept:
    at = AT - timedelta(hours=number)
    receipt = Receipt(flush_id=f"flush_{number}", session_id="s", reason="manual", at=at)
    return Kept(id=receipt.flush_id, session="s", at=at, server=f"server-{number}", receipt=receipt)


def test_ship__another_process_is_writing_them__they_are_left_and_the_reason_is_given(opened):
    spool = opened().spool
    spool.put([kept(0)])
    shipped: list[Shipped] = []
    thread = threading.Thread(target=lambda: shipped.append(spool.send(limit_s=0.1)))
    with spool.sending(timeout_s=1):
        thread.start()
        thread.join(10)
    [result] = shipped
    assert ([one.id for one in result.left], result.written, result.down is not None) == (["flush_0"], (), True)


def test_send__a_flush_cannot_be_written__later_ones_of_its_session_wait_and_others_go(opened, monkeypatch):
    def write(_services, receipt, _flushed):
        if receipt.flush_id == "flush_0":
            raise Conflict("It changed.", next_step="Try again.")

    monkeypatch.setattr("holdfast_app.spool._write", write)
    spool = opened().spool
    spool.put([kept(0), kept(1), evolve(kept(2), session="t")])
    sent = spool.send()
    assert [[one.id for one in some] for some in (sent.left, sent.written)] == [["flush_0", "flush_1"], ["flush_2"]]
    assert sent.down is None


def test_flush__spool_is_on_and_the_application_has_none__refused_with_both_ways_on(opened, project, monkeypatch):
    """The error named neither the setting nor the distribution to install."""
    memory = opened(storage=StorageConfig(spool=True))
    memory.services.store.backend.capabilities |= {Capability.REMOTE}  # files that take themselves for a server
    session = memory.session("s")
    session.add("user", "Fix the login")
    with monkeypatch.context() as patch:
        patch.setattr(type(session), "_take", kernel.Session._take)
        with pytest.raises(FlushRefused) as refused:
            session.flush()
        [marker] = memory.unsafe()
        (project / ".holdfast/state/spool.jsonl").write_text("waits\n")
        with pytest.raises(FlushRefused) as waiting:
            session.flush()
    assert refused.value.message == (
        "This application delivers nothing that waits in spool.jsonl. The session is UNSAFE and nothing was dropped."
    )
    assert "Use `holdfast.Holdfast` with the whole distribution" in refused.value.next_step
    assert "switch `[storage] spool` off" in refused.value.next_step
    assert marker.error == refused.value.message.partition(" The session")[0]
    assert "waits in spool.jsonl" in waiting.value.message
    assert [m.text for m in session.messages] == ["Fix the login"]
    (project / ".holdfast/state/spool.jsonl").unlink()
    assert session.flush().written


def test_verify__flush_was_shipped_later_and_its_curated_line_removed__is_found(opened, payload, project, monkeypatch):
    memory = opened(storage=StorageConfig(spool=True))
    backend = memory.services.store.backend
    backend.capabilities |= {Capability.REMOTE}  # files that take themselves for a server

    def away(*_: object, **__: object) -> None:
        raise Unavailable("The server is away.", next_step="Wait.")

    session = memory.session("s")
    session.add("user", "Deploy from main only")
    with monkeypatch.context() as patch:
        for name in ("commit", "read", "append"):
            patch.setattr(backend, name, away)
        assert session.flush(payload(curated={"memory": ["Deploy from main only"]})).spooled
    memory.session("t").add("user", "Next")
    assert not memory.session("t").flush(payload(curated="none")).spooled
    assert not verify_all(memory.services).findings
    file = project / ".holdfast/MEMORY.md"
    file.write_text(file.read_text().replace("Deploy from main only", "Deploy from anywhere"))
    assert ("MEMORY.md", CHANGED) in [(one.name, one.state) for one in verify_all(memory.services).findings]
