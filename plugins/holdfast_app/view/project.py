"""Read-only queries on the opened project. Text that leaves the store is masked here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import date, datetime, tzinfo
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError, NotFound
from holdfast.flush import notes
from holdfast.journal import safety
from holdfast.text.plain import in_one_line
from holdfast_app.sessions import lookup
from holdfast_app.sessions.status import status
from holdfast_app.view.journals import Journals

if TYPE_CHECKING:
    from holdfast import Fact, Holdfast
    from holdfast_app.dream.dreamlog import DreamResult
    from holdfast_app.sessions.status import Status


@frozen(kw_only=True)
class Shown:
    """A document as it may be shown. ``withheld`` counts the passages left out because this machine did
    not write them."""

    name: str
    text: str
    withheld: int = 0
    withheld_lines: frozenset[int] = frozenset()


class Project:
    """One opened project. Not safe for threads."""

    def __init__(self, memory: Holdfast) -> None:
        self.memory = memory
        self.services = memory.services
        self.root = memory.services.root
        self.name = os.path.basename(self.root) or self.root
        self.journals = Journals(memory.services)

    @property
    def zone(self) -> tzinfo | None:
        return self.services.config.tz

    @property
    def is_remote(self) -> bool:
        """Whether each document costs a request to a server."""
        return self.services.is_remote

    def now(self) -> datetime:
        return self.services.now()

    def status(self) -> Status:
        """Every session with its state; errors are masked. Raises: Unavailable."""
        now = status(self.services)
        strings = self.masked(*(text for one in now.sessions for text in (one.error, one.next_step)))
        pairs = zip(now.sessions, strings[::2], strings[1::2], strict=True)
        return evolve(now, sessions=tuple(evolve(one, error=error, next_step=step) for one, error, step in pairs))

    def alarms(self) -> int:
        """The number of UNSAFE sessions, for the head of every page; 0 when unknown, which the overview reports."""
        try:
            return len(safety.all_unsafe(self.services.state))
        except HoldfastError:
            return 0

    def titles(self, sessions: Iterable[str]) -> dict[str, str]:
        """The first words of each session's user, masked, in one line. Sessions without any are left out."""
        try:
            found = lookup.titles(self.memory, sessions)
        except HoldfastError:
            return {}
        return {session: in_one_line(text) for session, text in found.items() if text}

    def masked(self, *strings: str, surface: str = Surface.JOURNAL) -> list[str]:
        """Strings as they may leave the store. When no validator works, they are left out."""
        try:
            return self.services.gate.outgoing_all(strings, surface=surface)
        except HoldfastError:
            return ["(not shown, because a validator is broken)"] * len(strings)

    # documents

    def names(self) -> list[str]:
        """All documents, sorted. Raises: Corrupt; Unavailable."""
        return self.services.store.names()

    def document(self, name: str) -> Shown:
        """A stored document, masked. Raises: NotFound; Refused for a bad name; Corrupt; Unavailable; PluginError."""
        store = self.services.store
        found = store.read(name) if self.services.layout.surface_of(name) or name in self.names() else None
        if found is None:
            raise NotFound(f"There is no document {name!r}.", next_step="List the documents with `holdfast show`.")
        sifted = store.sifted(found)
        hidden = frozenset(line for one in sifted.withheld for line in one.lines)
        text = self.services.shown(found._replace(text=sifted.text)).text
        return Shown(name=name, text=text, withheld=len(sifted.withheld), withheld_lines=hidden)

    def standing(self, surface: Surface) -> Shown:
        """A single-document surface's document; empty when missing. Raises: as :meth:`document`."""
        name = self.services.layout.name(surface)
        try:
            return self.document(name)
        except NotFound:
            return Shown(name=name, text="")

    def text(self, name: str) -> str:
        """A document's text, masked; empty when it is missing, withheld or unreadable."""
        try:
            return self.document(name).text
        except HoldfastError:
            return ""

    def note_names(self) -> list[tuple[date, str]]:
        """The daily notes' days and names, newest first. Raises: Corrupt; Unavailable."""
        layout = self.services.layout
        found = self.services.store.backend.names(layout.prefix(Surface.DAILY))
        days = ((layout.day_of(Surface.DAILY, name), name) for name in found)
        return sorted(((day, name) for day, name in days if day), reverse=True)

    def flushes(self, name: str) -> list[notes.Block]:
        """A daily note's flush blocks, oldest first. An unreadable note has none; its page shows the error."""
        try:
            found = self.services.store.read(name)
        except HoldfastError:
            found = None
        text = self.services.store.sifted(found).text if found else ""
        return [one for one in notes.blocks(text) if one.at and one.id.startswith("flush_") and one.reason != "summary"]

    # facts

    @property
    def facts_withheld(self) -> int:
        """The number of stored facts that are withheld from agents. Raises: Corrupt; Unavailable."""
        return len(self.services.store.withheld_facts())

    def facts(self) -> list[Fact]:
        """All facts that are not withheld, newest first; mask those shown. Raises: Corrupt; Unavailable."""
        return self.services.store.known_facts(self.memory.facts.list()[::-1])

    def shown_facts(self, facts: Sequence[Fact]) -> list[Fact]:
        """The facts, masked. Raises: PluginError."""
        return self.memory.facts.shown(facts)

    # dreams

    def dreams(self) -> list[DreamResult]:
        """Every run, newest first, without dry runs, with its text as stored. Raises: Unavailable."""
        return [run for run in reversed(self.memory.dreams()) if not run.dry_run]
