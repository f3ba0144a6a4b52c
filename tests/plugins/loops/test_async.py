"""A flush that is awaited, and cancelled at random moments."""

import asyncio
import random

import pytest

from holdfast import Holdfast
from holdfast.journal.safety import State


@pytest.mark.req("R184", "R166")
def test_aflush__cancelled_at_random__is_reported_whole_or_not_at_all(project):
    moments = random.Random(7)
    seen = set()

    async def main(number: int) -> None:
        memory = Holdfast.open(project)
        session = memory.session("s")
        session.add("user", f"Fix number {number}")
        before = session.last_receipt
        task = asyncio.create_task(session.aflush())
        await asyncio.sleep(moments.random() * 0.02)
        task.cancel()
        try:
            await task
            seen.add("done")
        except asyncio.CancelledError:
            seen.add("cancelled")
        after, unflushed = session.last_receipt, session.unflushed
        await asyncio.sleep(0.01)
        assert (after, unflushed) == (session.last_receipt, session.unflushed), "nothing goes on after the cancellation"
        assert bool(unflushed) == (after == before), "the receipt and what it covers come together"
        memory.close()
        with Holdfast.open(project) as fresh:
            assert fresh.session("s").last_receipt == after
            assert fresh.session("s").state in {State.SAFE, State.DIRTY}
            assert fresh.validate().findings == ()

    for number in range(8):
        asyncio.run(main(number))
    assert "cancelled" in seen
