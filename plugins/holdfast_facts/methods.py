"""The methods added to an opened project; :class:`holdfast.plugin.features.Features` declares them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.facts.extract import ExtractResult
    from holdfast.facts.queue import GivenUp
    from holdfast.plugin.features import Said


def prompt(
    memory: Holdfast,
    max_tokens: int | None = None,
    *,
    counter: Callable[[str], int] | None = None,
    fenced: bool = False,
) -> str:
    from holdfast_facts import counters
    from holdfast_facts.prompt import prompt

    settled = memory.config.prompt
    budget = settled.max_tokens if max_tokens is None else max_tokens
    return prompt(memory.services, budget, counter or counters.counter(settled.counter), fenced=fenced)


def extract(memory: Holdfast, messages: Said | Iterable[Said], *, source: str = "") -> ExtractResult:
    from holdfast.flush.backlog import extract_now
    from holdfast_facts.extraction.conversation import turns_given

    return extract_now(memory.services, turns_given(messages), source=source)


def extract_queued(memory: Holdfast, *, due: int | None = None) -> ExtractResult:
    if due is not None:
        from holdfast.flush.backlog import work_off

        return work_off(memory.services, limit=due)
    from holdfast_facts.extraction.turnwise import everything

    return everything(memory.services)


def extract_turns(memory: Holdfast) -> ExtractResult:
    from holdfast_facts.extraction.turnwise import run

    return run(memory.services)


def turns_given_up(memory: Holdfast) -> list[GivenUp]:
    from holdfast.facts.queue import Queue

    services = memory.services
    return Queue(services.state, services.config.extract).log()
