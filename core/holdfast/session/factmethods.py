""":class:`holdfast.Holdfast`'s methods for facts, the profile, the prompt and extraction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.facts.extract import ExtractResult, Said
    from holdfast.facts.lifecycle import Facts
    from holdfast.facts.queue import GivenUp
    from holdfast.models import Profile
    from holdfast.session.services import Services


class FactMethods:
    """A base class of :class:`holdfast.Holdfast`."""

    services: Services

    @property
    def facts(self) -> Facts:
        """Facts: create, get, update, delete, list, import and export."""
        from holdfast.facts.lifecycle import Facts

        return Facts(self.services)

    @property
    def profile(self) -> Profile:
        """The stored user profile and recent activity. Raises: Corrupt, Unavailable."""
        from holdfast.facts.profile import load

        return load(self.services)

    def update_profile(self, **sections: str) -> Profile:
        """Set sections (work, personal, top_of_mind, recent, earlier, background); empty strings clear a section.

        Returns the profile. Raises: BadValue for another name; Refused and PluginError from the gate.
        """
        from holdfast.facts.profile import update

        return update(self.services, sections)

    def prompt(
        self, max_tokens: int | None = None, *, counter: Callable[[str], int] | None = None, fenced: bool = False
    ) -> str:
        """Profile and facts as a block for a system prompt, of at most ``max_tokens`` (2000 unless configured).

        ``counter`` counts a string's tokens (default: ``[prompt] counter``). ``fenced`` marks the block
        as recalled data, so it is never extracted again. Empty when nothing is stored or nothing fits.
        Raises: BadValue for a negative budget; ConfigError for an unusable counter; PluginError; Corrupt.
        """
        from holdfast.facts.prompt import prompt
        from holdfast.plugin.counters import counter as named

        settled = self.services.config.prompt
        budget = settled.max_tokens if max_tokens is None else max_tokens
        return prompt(self.services, budget, counter or named(settled.counter), fenced=fenced)

    def extract(self, messages: Said | Iterable[Said], *, source: str = "") -> ExtractResult:
        """Extract facts from a conversation and store the accepted ones. Nothing is journalled.

        ``messages`` are dicts of the Chat Completions or the Messages interface, or :class:`~holdfast.models.Message`
        and :class:`~holdfast.models.Turn` values.
        Messages are redacted before any extractor sees them, and text recalled from memory is removed. The result
        holds the outcome for each candidate. Turns on which an extractor failed wait for a retry: by the next
        extraction or flush, or by :meth:`extract_queued`. ``source`` is kept with the facts.
        Raises: BadValue for any other value, and for a ``source`` that is not a string; Refused, PluginError; Corrupt,
        Unavailable.
        """
        from holdfast.flush.backlog import extract_now

        return extract_now(self.services, messages, source=source)

    def extract_queued(self, *, due: int | None = None) -> ExtractResult:
        """Try every waiting item once, due or not. With turn-by-turn extraction that includes turns that just ended.

        ``due`` limits this to that many items, and only to those due for their next try.
        """
        if due is not None:
            from holdfast.flush.backlog import work_off

            return work_off(self.services, limit=due)
        from holdfast.session.turnwise import everything

        return everything(self.services)

    def extract_turns(self) -> ExtractResult:
        """Extract every ended turn not extracted yet, and retry due items in the queue. Returns an empty result
        while another process does it. Raises: Unavailable."""
        from holdfast.session.turnwise import run

        return run(self.services)

    def turns_given_up(self) -> list[GivenUp]:
        """Turns whose extraction failed too often, oldest first. They are not tried again. Raises: Unavailable."""
        from holdfast.facts.queue import Queue

        return Queue(self.services.state, self.services.config.extract).log()
