"""Lines that were removed from the outbox, the fact log and the dream log are noticed; what calls remove is not."""

import os
from datetime import UTC, datetime, timedelta

import pytest
from tests.plugins.outbox.test_outbox import Board

from holdfast.fs import private
from holdfast_app import data_loss, durable_queue
from holdfast_app.checkup import mending
from holdfast_app.config import FactsConfig, RetentionConfig
from holdfast_app.dream import dreamlog
from holdfast_app.dream.dreamlog import DreamResult, Status
from holdfast_app.outbox.outbox import Item, Outbox

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


def put(state, *ids):
    Outbox(str(state)).put(
        Item(id=i, plugin="forge", flush="flush_1", target="o/r#1", body=f"body {i}", at=AT, due=AT) for i in ids
    )


def dreamt(state, number):
    dreamlog.record(str(state), DreamResult(id=f"d{number}", at=AT, status=Status.SKIPPED, reason="nothing new"))


@pytest.fixture
def filled(opened, project, payload):
    memory = opened(facts=FactsConfig(max_facts=3))
    memory.session("one").flush(payload(state_mutations=[]))
    for number in range(8):
        memory.facts.create(content=f"Fact {number}", category="knowledge", confidence=0.9)
    state = project / ".holdfast" / "state"
    put(state, "a", "b", "c", "d")
    for number in range(5):
        dreamt(state, number)
    return state


FILES = ("outbox.jsonl", "facts.log.jsonl", "dreams.jsonl")


def told(opened):
    services = opened().services
    quick, full = data_loss.newest(services), data_loss.every(services)
    assert quick == full
    return "\n".join(one.message for one in quick)


def without(path, *numbers):
    lines = [line for line in path.read_bytes().splitlines(keepends=True) if line.strip()]
    path.write_bytes(b"".join(line for n, line in enumerate(lines) if n not in [m % len(lines) for m in numbers]))


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("numbers", [(0, -1), (1, 2)])
def test_lines__removed__named_until_accepted_and_later_ones_hide_nothing(filled, opened, file, numbers):
    assert told(opened) == ""
    without(filled / file, *numbers)
    assert told(opened).startswith(f"{len(numbers)} ")
    assert f"missing from .holdfast/state/{file}" in told(opened)
    put(filled, "later")
    dreamt(filled, 9)
    opened(facts=FactsConfig(max_facts=3)).facts.create(content="Later", category="knowledge", confidence=0.9)
    assert told(opened).startswith(f"{len(numbers)} ")
    services = opened().services
    assert all(done.whole for done in mending.mend(services, data_loss.every(services)))
    assert told(opened) == ""
    dreamt(filled, 10)
    put(filled, "last")
    assert told(opened) == ""


def test_lines__sent_dropped_cut_purged_and_past_retention__are_no_loss(filled, opened, monkeypatch):
    box = Outbox(str(filled))
    box.remove("d")
    box.remove("a")
    assert told(opened) == ""
    memory = opened(retention=RetentionConfig(log=1))
    memory.purge(subject="body c")
    assert told(opened) == ""
    memory.purge(before=(AT + timedelta(days=2)).date())
    assert told(opened) == ""
    dreamt(filled, 11)
    memory.retention()
    memory.scrub()
    assert told(opened) == ""
    monkeypatch.setattr(dreamlog, "MAX_BYTES", 10)
    for number in range(20, 24):
        dreamt(filled, number)
    assert told(opened) == ""
    for item in box.items():
        box.remove([item.id])
    assert told(opened) == ""
    put(filled, "new")
    assert told(opened) == ""
    assert memory.purge(everything=True).clean
    assert told(opened) == ""


def test_missing__while_others_change_the_list__is_never_reported(filled):
    path = str(filled / "outbox.jsonl")
    if not (child := os.fork()):
        for number in range(150):
            put(filled, f"x{number}")
            Outbox(str(filled)).remove([f"x{number}"])
        os._exit(0)
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        assert durable_queue.missing(path) == 0
    with private.lock(path):
        pass


def test_mend__comment_removed_from_the_outbox__waits_again_unless_it_was_dropped(opened, project, payload):
    board = Board(project)
    board.trouble = board.is_down
    memory = opened(board)
    for target in ("o/r#1", "o/r#2"):
        memory.session(target).flush(
            payload(
                objective=f"Review {target}",
                state_mutations=[{"kind": "status", "target": target, "summary": f"in review {target}"}],
            )
        )
    [_, second] = memory.outbox.items()
    memory.outbox.drop(second.id, "It is wrong")
    (project / ".holdfast" / "state" / "outbox.jsonl").unlink()
    services = opened(board).services
    found = data_loss.newest(services)
    assert [one.message for one in found] == ["1 waiting comment is missing from .holdfast/state/outbox.jsonl."]
    assert all(done.whole for done in mending.mend(services, data_loss.every(services)))
    assert data_loss.every(services) == []
    assert [item.target for item in opened(board).outbox.items()] == ["o/r#1"]
    board.trouble = lambda item: None
    opened(board).outbox.send()
    assert board.bodies("o/r#1") == ["in review o/r#1"]
    assert board.bodies("o/r#2") == []
