"""A durable queue on a simulated disk: an item whose first writer failed or was killed, and that waits already."""

from __future__ import annotations

import sys
from contextlib import suppress
from random import Random

import attrs
import pytest
from tests.simulation.history import plugins
from tests.simulation.world import ROOT, Dead, Process, World

from holdfast.errors import Unavailable
from holdfast_app.durable_queue import DurableQueue


@attrs.frozen(kw_only=True)
class Item:
    id: str


@pytest.mark.skipif(sys.platform == "win32", reason="the disk in memory is a POSIX one")
@pytest.mark.parametrize("way", ["fault", "kill"])
def test_put__again_after_its_writer_got_no_answer__survives_a_power_cut(way: str) -> None:
    for at in range(1, 200):
        hit = [lost(way, at, chance) for chance in range(12)]
        assert "lost" not in hit, f"{way} at {at}"
        if "" in hit:
            return
    pytest.fail("it never ends")


def lost(way: str, at: int, chance: int) -> str:
    world = World(Random(chance), plugins())
    world.break_at(at, way)
    world.lasting = False
    with world.installed():
        with suppress(Unavailable, Dead):
            queue().put([Item(id="first")])
        world.mend()
        world.running = Process(2, world.running.offset)
        queue().put([Item(id="first")])
        world.cut_power()
        return world.hit and ("there" if [one.id for one in queue().items()] == ["first"] else "lost")


def queue() -> DurableQueue[Item]:
    return DurableQueue(f"{ROOT}/.holdfast/state/outbox.jsonl", Item, damaged=lambda line: Item(id="?"))
