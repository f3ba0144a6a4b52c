"""The methods added to an opened project; :class:`holdfast.plugin.features.Features` declares them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.models import Profile
    from holdfast.plugin.features import Said
    from holdfast_facts.extraction.extract import ExtractResult
    from holdfast_facts.extraction.queue import GivenUp
    from holdfast_facts.store.lifecycle import Facts


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
    from holdfast_facts.extraction.backlog import extract_now
    from holdfast_facts.extraction.conversation import turns_given

    return extract_now(memory.services, turns_given(messages), source=source)


def extract_queued(memory: Holdfast, *, due: int | None = None) -> ExtractResult:
    if due is not None:
        from holdfast_facts.extraction.backlog import work_off

        return work_off(memory.services, limit=due)
    from holdfast_facts.extraction.turnwise import everything

    return everything(memory.services)


def extract_turns(memory: Holdfast) -> ExtractResult:
    from holdfast_facts.extraction.turnwise import run

    return run(memory.services)


def turns_given_up(memory: Holdfast) -> list[GivenUp]:
    from holdfast_facts.extraction.queue import Queue

    services = memory.services
    return Queue(services.state, services.config.extract).log()


def facts(memory: Holdfast) -> Facts:
    from holdfast_facts.store.lifecycle import Facts

    return Facts(memory.services)


def profile(memory: Holdfast) -> Profile:
    from holdfast_facts.profile import load

    return load(memory.services)


def update_profile(memory: Holdfast, **sections: str) -> Profile:
    from holdfast_facts.profile import update

    return update(memory.services, sections)
