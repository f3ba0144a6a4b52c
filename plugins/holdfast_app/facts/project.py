"""An opened project's methods for facts. Each method imports its code when it is called."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from holdfast import project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from holdfast.models import Profile
    from holdfast_app.base import Services
    from holdfast_app.config import Config
    from holdfast_app.facts.extraction.extract import ExtractResult, Said
    from holdfast_app.facts.extraction.queue import GivenUp
    from holdfast_app.facts.store.lifecycle import Facts
    from holdfast_app.trust.store import Store


class RemembersFacts(project.Project):
    """The methods of :class:`holdfast.Holdfast` for facts, their extraction, the profile and the prompt."""

    services: Services
    config: Config
    store: Store

    @cached_property
    def facts(self) -> Facts:
        """Facts: create, get, update, delete, list, import and export."""
        from holdfast_app.facts.store.lifecycle import Facts

        return Facts(self.services)

    @property
    def profile(self) -> Profile:
        """The stored user profile and recent activity. Raises: Corrupt, Unavailable."""
        from holdfast_app.facts.profile import load

        return load(self.services)

    def update_profile(self, **sections: str) -> Profile:
        """Set sections (work, personal, top_of_mind, recent, earlier, background); empty strings clear a section.

        Returns the profile. Raises: BadValue for another name; Refused and PluginError from the gate.
        """
        from holdfast_app.facts.profile import update

        return update(self.services, sections)

    def prompt(
        self, max_tokens: int | None = None, *, counter: Callable[[str], int] | None = None, fenced: bool = False
    ) -> str:
        """Profile and facts as a block for a system prompt, of at most ``max_tokens`` (2000 unless configured).

        ``counter`` counts a string's tokens (default: an offline estimate). ``fenced`` marks the block
        as recalled data, so it is never extracted again. Empty when nothing is stored or nothing fits.
        Raises: BadValue for a negative budget; PluginError; Corrupt.
        """
        from holdfast.text.humanize import tokens
        from holdfast_app.facts.prompt import prompt

        budget = self.config.prompt.max_tokens if max_tokens is None else max_tokens
        return prompt(self.services, budget, counter or tokens, fenced=fenced)

    def extract(self, messages: Said | Iterable[Said], *, source: str = "") -> ExtractResult:
        """Extract facts from a conversation and store the accepted ones. Nothing is journalled.

        ``messages`` are dicts of the Chat Completions or the Messages interface, or :class:`~holdfast.models.Message`
        and :class:`~holdfast.models.Turn` values.
        Messages are redacted before any extractor sees them, and text recalled from memory is removed. The result
        holds the outcome for each candidate. Turns on which an extractor failed wait for a retry: by the next
        extraction or flush, or by :meth:`extract_queued`. ``source`` is kept with facts that name no message.
        Raises: BadValue for any other value, and for a ``source`` that is not a string; Refused, PluginError; Corrupt,
        Unavailable.
        """
        from holdfast_app.facts.extraction.extract import turns_from
        from holdfast_app.facts.flushing import extract_now

        return extract_now(self.services, turns_from(messages), source=source)

    def extract_queued(self) -> ExtractResult:
        """Try every waiting item once, due or not. With turn-by-turn extraction that includes turns that just ended."""
        from holdfast_app.facts.flushing import everything

        return everything(self.services)

    def extract_turns(self) -> ExtractResult:
        """Extract every ended turn not extracted yet, and retry due items in the queue. Returns an empty result
        while another process does it. Raises: Unavailable."""
        from holdfast_app.facts.flushing import run

        return run(self.services)

    def turns_given_up(self) -> list[GivenUp]:
        """Turns whose extraction failed too often, oldest first. They are not tried again. Raises: Unavailable."""
        from holdfast_app.facts.extraction.queue import Queue

        return Queue(self.services.state).log()
