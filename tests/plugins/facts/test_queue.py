"""Turns that wait for their extraction: durable, bounded, and not lost when their taker dies."""

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.api import Message, Turn, Unavailable
from holdfast_app.facts.extraction.queue import MAX_ATTEMPTS, Queue

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def turns(name: str) -> list[Turn]:
    return [Turn(messages=[Message(role="user", text=f"about {name}\u2028\n", at=NOW, id=name, tokens=3)])]


@pytest.fixture
def queue(tmp_path) -> Queue:
    return Queue(str(tmp_path / "state"))


def put(queue: Queue, name: str, *, error: str = "down", now: datetime = NOW) -> str:
    return queue.add(turns(name), ["openai"], error=error, source="s", now=now)


def claim(queue: Queue, now: datetime):
    return queue.claim(now, limit=1, wanted=lambda item: item.due <= now)


def test_put__more_than_fit__oldest_are_given_up_and_written_down(queue, monkeypatch):
    monkeypatch.setattr("holdfast_app.facts.extraction.queue.MAX_ITEMS", 5)
    for number in range(8):
        put(queue, str(number))
    items = queue.items()
    assert len(items) == 5
    assert items[0].turns[0].user.startswith("about 3")
    assert [(gone.turns, gone.why) for gone in queue.log()] == [(1, "more than 5 pieces waited")] * 3


def test_claim__waited_too_long__written_down_before_it_leaves(queue, tmp_path):
    """Where the log cannot be written the turns go on waiting: nothing is lost without a word."""
    put(queue, "a")
    (tmp_path / "state" / "extract.log.jsonl").mkdir()
    late = NOW + timedelta(hours=73)
    with pytest.raises(Unavailable):
        claim(queue, late)
    assert len(queue.items()) == 1
    (tmp_path / "state" / "extract.log.jsonl").rmdir()
    assert claim(queue, late) == []
    assert queue.items() == []
    assert [gone.why for gone in queue.log()] == ["they waited for more than 72 h"]


@pytest.mark.parametrize(("hours", "tried"), [(0, MAX_ATTEMPTS), (20, 4), (100, 1)])
def test_failed__each_time__attempts_and_wait_are_bounded_and_the_log_holds_nothing_that_was_said(
    queue, tmp_path, hours, tried
):
    put(queue, "a")
    now, attempts = NOW, 1
    while items := queue.items():
        now = max(now, items[0].due) + timedelta(hours=hours)
        if claimed := claim(queue, now):
            attempts += 1
            assert queue.failed(claimed[0], {"openai": "down"}, now=now) == bool(queue.items())
    assert attempts == tried
    [gone] = queue.log()
    assert (gone.turns, gone.attempts, gone.error, gone.source, gone.plugins) == (1, tried, "down", "s", ("openai",))
    path = tmp_path / "state" / "extract.log.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    assert "about" not in path.read_text()
