"""Facts that leave a full store."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import Holdfast
from holdfast.config.values import StorageConfig
from holdfast_app.config import Config, FactsConfig

Rules = Callable[..., Holdfast]


@pytest.fixture(params=("file", "sqlite"))
def rules(request, project, clock, closing) -> Rules:
    """``rules(max_facts=3)`` opens the project with these ``[facts]`` settings. No two facts are of the same second."""

    def later() -> Any:
        clock.tick(seconds=1)
        return clock()

    def open_with(**settings: Any) -> Holdfast:
        config = Config(storage=StorageConfig(backend=request.param), facts=FactsConfig(**settings))
        return closing(Holdfast.open(project, config=config, clock=later))

    return open_with


def contents(memory: Holdfast) -> list[str]:
    return [f.content for f in memory.facts.list()]


@pytest.mark.req("R058")
def test_add__limit_lowered_by_many__comes_down_at_once_and_all_are_told(rules):
    facts = rules(max_facts=40).facts
    made = [facts.create(f"fact {n}", "goal", 0.5).fact for n in range(40)]
    memory = rules(max_facts=2)
    result = memory.facts.create("no, tabs", "correction", 0.1)
    assert contents(memory) == ["fact 39", "no, tabs"]
    gone = tuple(one.id for one in made[:39] if one)
    assert tuple(line.id for line in memory.facts.trail.entries()) == gone == result.evicted


def test_remember__full_store_and_an_older_value_leaves__nothing_else_is_evicted(rules):
    memory = rules(max_facts=2)
    memory.facts.remember("The port is 8080", "context", 0.9)
    memory.facts.remember("Likes tea", "preference", 0.1)
    assert memory.facts.remember("The port is 9090", "context", 0.9).evicted == ()
    assert sorted(contents(memory)) == ["Likes tea", "The port is 9090"]


def test_trail__line_cut_by_a_full_disk__the_next_one_is_whole(rules, project):
    memory = rules(max_facts=1)
    memory.facts.create("first")
    second = memory.facts.create("second").fact
    trail = project / ".holdfast" / "state" / "facts.log.jsonl"
    os.truncate(trail, trail.stat().st_size - 9)
    memory.facts.create("third")
    assert [line.id for line in memory.facts.trail.entries()] == [second.id]
