"""Adding an archive's content to a project. Repeating it after an interruption completes it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from holdfast.config.layout import Surface
from holdfast.errors import Conflict, Refused
from holdfast.fs import durable, private
from holdfast.fs.records import decode
from holdfast.journal.journal import Journal
from holdfast.storage import ABSENT
from holdfast.text.plain import clean
from holdfast_app import progress
from holdfast_app.transfer import archive, belongings
from holdfast_app.transfer.database import opened
from holdfast_app.transfer.exporting import edited, masked

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_app.base import Services
    from holdfast_app.transfer.archive import Archive
    from holdfast_app.transfer.database import Database


@frozen
class Left:
    """Data left out of an import, and the reason."""

    name: str
    why: str


@define
class Counts:
    """Numbers of documents, facts, events of the facts' log, journals, and other private items."""

    documents: int = 0
    facts: int = 0
    events: int = 0
    journals: int = 0
    private: int = 0


@define
class Imported:
    """An import's result. ``different`` names existing documents and facts that differ and were left alone;
    ``replaced`` names replaced documents; ``left`` has sentences about settings and waiting comments."""

    added: Counts = field(factory=Counts)
    unchanged: Counts = field(factory=Counts)
    replaced: list[str] = field(factory=list)
    different: list[str] = field(factory=list)
    evicted: int = 0
    refused: list[Left] = field(factory=list)
    left: list[str] = field(factory=list)


def import_archive(memory: Holdfast, path: str, *, replace: bool = False, settings: bool = False) -> Imported:
    """Check the archive, then add missing items. Raises: ConfigError for a damaged or unknown archive, before
    anything is written; Unavailable; PluginError. Calling it again continues. ``settings`` writes the archive's
    settings to a project without a settings file. They still need the user's trust."""
    with opened(path) as given:
        given.check()
        services = memory.services
        private.make(services.state)
        with durable.lock(services.private("migrate.lock")):
            return _Import(memory, given, replace, settings).run()


@define
class _Import:
    _memory: Holdfast
    _given: Archive | Database
    _replace: bool
    _settings: bool
    _seen: int = 0
    _done: Imported = field(factory=Imported)

    @property
    def _services(self) -> Services:
        return self._memory.services

    def run(self) -> Imported:
        for row in self._given.rows(archive.DOCUMENTS):
            self._document(row["name"], row["text"])
            self._tell()
        self._facts()
        self._events()
        for name in self._given.journals():
            self._journal(self._given.data(name))
            self._tell()
        rows = self._given.rows(archive.PRIVATE)
        done = belongings.restore(self._memory, rows, with_settings=self._settings)
        self._done.added.private, self._done.unchanged.private, self._done.left = done
        return self._done

    def _document(self, name: str, text: str) -> None:
        services, done = self._services, self._done
        if not any(name.startswith(p) for p in services.layout.prefixes()) or _is_reserved(name):
            done.refused.append(Left(name, "this project's layout has no document of that name"))
            return
        stored = services.store.read(name)
        if stored is not None and stored.text == text:
            done.unchanged.documents += 1
            return
        surface = str(services.layout.surface_of(name) or Surface.DAILY)
        kept = "\r\n".join(map(clean, text.split("\r\n")))  # line ends stay; hidden characters do not
        try:
            # As free text, because rules on a curated document's form must not refuse content already stored elsewhere.
            kept = services.gate.admit(kept, surface=Surface.DAILY, name=name, verbatim=True)
        except Refused as error:
            done.refused.append(Left(name, error.message.rstrip(".")))
            return
        if stored is None:
            try:
                services.store.replace(surface, name, kept, ABSENT)
            except Conflict:
                done.different.append(name)
                return
            done.added.documents += 1
        elif stored.text == kept:
            done.unchanged.documents += 1
        elif self._replace:
            services.store.replace(surface, name, kept, stored.revision)
            done.replaced.append(name)
        else:
            done.different.append(name)

    def _facts(self) -> None:
        here = {fact.id: fact.content for fact in self._services.store.backend.facts()}

        def new() -> Iterator[dict[str, Any]]:
            for row in self._given.rows(archive.FACTS):
                self._tell()
                if row["id"] not in here:
                    yield row
                elif here[row["id"]] == row["content"]:
                    self._done.unchanged.facts += 1
                else:
                    self._done.different.append(row["id"])

        report = self._memory.facts.import_(new())
        self._done.added.facts = report.added
        self._done.unchanged.facts += report.duplicates
        self._done.evicted = report.evicted
        self._done.refused += [Left(f"fact {bad.number} of the new ones", bad.why) for bad in report.bad]

    def _events(self) -> None:
        rows = []
        for row in self._given.rows(archive.EVENTS):
            strings = [row.get("content") or "", row.get("source") or "", row["why"]]
            content, source, why = self._services.gate.outgoing_all(strings, surface="fact")
            shown = content if row.get("content") is not None else None
            rows.append({**row, "content": shown, "source": source, "why": why})
            self._tell()
        self._done.added.events = self._memory.facts.trail.restore(rows)
        self._done.unchanged.events = len(rows) - self._done.added.events

    def _journal(self, data: bytes) -> None:
        first = decode(data.split(b"\n", 1)[0]) or {}
        session = str(first["id"])
        journal = Journal(self._services.state, session)
        private.make(self._services.state, "sessions")
        with private.lock(journal.path):
            if journal.exists():
                self._done.unchanged.journals += 1
                return
            durable.replace(journal.path, edited(data, session, partial(masked, self._services.gate)))
            self._done.added.journals += 1

    def _tell(self) -> None:
        self._seen += 1
        progress.report(self._seen, 0, "items imported")


def _is_reserved(name: str) -> bool:
    """Whether the store keeps such names for its own files."""
    return any(part.startswith(".") for part in name.split("/")) or name.endswith("facts.jsonl")
