"""Writes everything into one archive, and adds an archive's content to a project. Text is masked, as in all output.

Settings, waiting comments, keys and trust belong to a machine and stay there. Repeating an import after an interruption
completes it.
"""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, TypeVar

from attrs import asdict, define, evolve, field, frozen

from holdfast import Holdfast, __version__
from holdfast.config.layout import Surface
from holdfast.config.serde import stamp
from holdfast.errors import ConfigError, Conflict, Corrupt, Refused
from holdfast.fs import durable, paths, private
from holdfast.fs.records import decode
from holdfast.gate import Gate
from holdfast.storage import ABSENT
from holdfast.text.plain import clean
from holdfast_app import progress
from holdfast_app.journal.journal import Journal, session_files, session_id_of
from holdfast_app.privacy.transforms import map_texts
from holdfast_app.sessions.rewriting import adopted, whole_lines
from holdfast_app.transfer import archive
from holdfast_app.transfer.archive import Archive, Database

T = TypeVar("T")

_HEX = frozenset("0123456789abcdef-")


@define
class Counts:
    """Numbers of documents, facts, events of the facts' log, and journals."""

    documents: int = 0
    facts: int = 0
    events: int = 0
    journals: int = 0


@define(kw_only=True)
class Exported(Counts):
    """An export's result. ``masked`` counts the documents, facts, events and journals in which something was masked;
    ``withheld`` names what came with an untrusted clone and was left out."""

    masked: int = 0
    withheld: list[str] = field(factory=list)
    size: int = 0


def export(memory: Holdfast, path: str, *, force: bool = False) -> Exported:
    """Write the archive ``path`` atomically, mode 0600. Raises: ConfigError when it exists and not ``force``; Corrupt
    for damaged data; Unavailable; PluginError. Then no file is written."""
    folder, name = os.path.split(os.path.abspath(path))
    path = os.path.join(os.path.realpath(folder), name)  # a link there, which a clone can bring, is replaced
    if os.path.isdir(path) or (os.path.lexists(path) and not force):
        raise ConfigError(f"{path} exists already.", next_step="Name another file, or add `--force` to replace it.")
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as out:
        done = _Export(memory, out).run()
    done.size = len(data.getbuffer())
    durable.replace(path, data.getvalue())
    return done


class _Export:
    def __init__(self, memory: Holdfast, out: zipfile.ZipFile) -> None:
        self._memory, self._services, self._out = memory, memory.services, out
        self._done = Exported()
        self._members: dict[str, dict[str, object]] = {}

    def run(self) -> Exported:
        names, journals = self._services.store.names(), session_files(self._services.state, packed=True)
        self._done.documents = self._write(archive.DOCUMENTS, map(_line, self._documents(names)))
        self._done.facts = self._write(archive.FACTS, map(_line, self._facts()))
        self._done.events = self._write(archive.EVENTS, map(_line, self._events()))
        for path in journals:
            if data := self._journal(path):
                self._write(archive.JOURNALS + os.path.basename(path), data.splitlines(keepends=True))
                self._done.journals += 1
        manifest = {
            "format": archive.FORMAT,
            "holdfast": __version__,
            "at": stamp(self._services.now()),
            "backend": self._services.store.backend.name,
            "counts": {k: getattr(self._done, k) for k in ("documents", "facts", "events", "journals", "masked")},
            "members": self._members,
            "seal": archive.seal(self._members),
        }
        self._out.writestr(archive.MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1) + "\n")
        return self._done

    def _documents(self, names: list[str]) -> Iterator[dict[str, object]]:
        for name in names:
            stored, shown = self._services.store.read(name), self._services.recalled(name)
            sifted = self._services.store.sifted(stored) if stored else None
            if sifted and sifted.withheld:
                self._done.withheld.append(name)
            if shown and sifted:
                self._done.masked += shown.text != sifted.text
                yield {"name": name, "text": shown.text}

    def _facts(self) -> Iterator[dict[str, object]]:
        stored = list(self._services.store.backend.facts())
        known = set(map(id, self._services.store.known_facts(stored)))
        if len(known) < len(stored):
            self._done.withheld.append("facts")
        for fact, row in zip(stored, self._memory.facts.export(), strict=False):
            self._done.masked += (fact.content, fact.source) != (row["content"], row["source"])
            if id(fact) in known:
                yield row

    def _events(self) -> Iterator[dict[str, object]]:
        for entry in self._memory.facts.trail.entries():
            content, source = self._services.gate.outgoing_all([entry.content or "", entry.source], surface="fact")
            shown = evolve(entry, content=content if entry.content is not None else None, source=source)
            self._done.masked += shown != entry
            yield {**asdict(shown), "at": stamp(entry.at)}

    def _journal(self, path: str) -> bytes:
        """The journal's lines as stored, except for masked ones and an incomplete last line. Raises: Corrupt."""
        session = session_id_of(path)
        if session is None:
            step = "Run `holdfast doctor --repair`, then export again."
            raise Corrupt(f"{paths.ending(path, 4)} is damaged at byte 0.", next_step=step)
        journal, end = Journal(self._services.state, session), 0
        for entry in journal.entries():
            end = entry.end
        data = journal.data()[:end]
        shown = masked(self._services.gate, data, session)
        self._done.masked += shown != data
        return shown

    def _write(self, name: str, lines: Iterable[bytes]) -> int:
        """Write a member and note it for the manifest. Returns the number of lines."""
        digest, size, rows = hashlib.sha256(), 0, 0
        with self._out.open(name, "w", force_zip64=True) as file:
            for line in lines:
                digest.update(line)
                size += len(line)
                rows += 1
                file.write(line)
                progress.report(rows, 0, f"lines of {name} written")
        self._members[name] = {"rows": rows, "size": size, "sha256": digest.hexdigest()}
        return rows


def masked(gate: Gate, data: bytes, session: str) -> bytes:
    """A journal's lines as they may leave, all strings masked except digests. The same bytes when nothing changes."""
    strings = masks(gate, [decode(line) for line in data.splitlines()], but=_HEX)
    if all(text == shown for text, shown in strings.items()):
        return data
    return whole_lines(data, session, lambda row: map_texts(row, strings.__getitem__))[0]


def masks(gate: Gate, rows: list[Any], *, but: frozenset[str] = frozenset()) -> dict[str, str]:
    """Each string in the rows as it may leave. Those of characters in ``but`` alone stay."""
    strings: dict[str, str] = {}
    map_texts(rows, lambda text: strings.setdefault(text, text))
    asked = [text for text in strings if not but.issuperset(text)]
    return strings | dict(zip(asked, gate.outgoing_all(asked, surface="journal"), strict=True))


def _line(row: dict[str, object]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


@frozen
class Left:
    name: str
    why: str


@define
class Imported:
    """An import's result. ``different`` names existing documents and facts that differ and were left alone;
    ``replaced`` names replaced documents."""

    added: Counts = field(factory=Counts)
    unchanged: Counts = field(factory=Counts)
    replaced: list[str] = field(factory=list)
    different: list[str] = field(factory=list)
    evicted: int = 0
    refused: list[Left] = field(factory=list)


def import_archive(memory: Holdfast, path: str, *, replace: bool = False) -> Imported:
    """Check the archive, then add missing items. Raises: ConfigError for a damaged or unknown archive, before
    anything is written; Unavailable; PluginError. Calling it again continues."""
    with closing(archive.opened(path)) as source:
        source.check()
        services = memory.services
        private.make(services.state)
        with durable.lock(services.private("migrate.lock")):
            return _Import(memory, source, replace=replace).run()


class _Import:
    def __init__(self, memory: Holdfast, source: Archive | Database, *, replace: bool) -> None:
        self._memory, self._services, self._source, self._replace = memory, memory.services, source, replace
        self._seen = 0
        self._done = Imported()

    def run(self) -> Imported:
        for row in self._told(self._source.rows(archive.DOCUMENTS)):
            self._document(row["name"], row["text"])
        self._facts()
        self._events()
        for _, data in self._told(self._source.journals()):
            self._journal(data)
        return self._done

    def _document(self, name: str, text: str) -> None:
        services, done = self._services, self._done
        is_reserved = any(part.startswith(".") for part in name.split("/")) or name.endswith("facts.jsonl")
        if is_reserved or not name.startswith(tuple(services.layout.prefixes())):
            done.refused.append(Left(name, "this project's layout has no document of that name"))
            return
        stored = services.store.read(name)
        if stored is not None and stored.text == text:
            done.unchanged.documents += 1
            return
        surface = str(services.layout.surface_of(name) or Surface.DAILY)
        content = "\r\n".join(map(clean, text.split("\r\n")))  # line ends stay; hidden characters do not
        try:
            # As free text, because rules on a curated document's form must not refuse content already stored elsewhere.
            content = services.gate.admit(content, surface=Surface.DAILY, name=name, verbatim=True)
        except Refused as error:
            done.refused.append(Left(name, error.message.rstrip(".")))
            return
        if stored is None:
            try:
                services.store.replace(surface, name, content, ABSENT)
            except Conflict:
                done.different.append(name)
                return
            done.added.documents += 1
        elif stored.text == content:
            done.unchanged.documents += 1
        elif self._replace:
            services.store.replace(surface, name, content, stored.revision)
            done.replaced.append(name)
        else:
            done.different.append(name)

    def _facts(self) -> None:
        here = {fact.id: fact.content for fact in self._services.store.backend.facts()}

        def new() -> Iterator[dict[str, Any]]:
            for row in self._told(self._source.rows(archive.FACTS)):
                if row["id"] not in here:
                    yield row
                elif here[row["id"]] == row["content"]:
                    self._done.unchanged.facts += 1
                else:
                    self._done.different.append(row["id"])

        report = self._memory.facts.import_(new(), is_archive=True)
        self._done.added.facts = report.added
        self._done.unchanged.facts += report.duplicates
        self._done.evicted = report.evicted
        self._done.refused += [Left(f"fact {bad.number} of the new ones", bad.why) for bad in report.bad]

    def _events(self) -> None:
        rows = []
        for row in self._told(self._source.rows(archive.EVENTS)):
            strings = [row.get("content") or "", row.get("source") or "", row["why"]]
            content, source, why = self._services.gate.outgoing_all(strings, surface="fact")
            shown = content if row.get("content") is not None else None
            rows.append({**row, "content": shown, "source": source, "why": why})
        self._done.added.events = self._memory.facts.trail.restore(rows)
        self._done.unchanged.events = len(rows) - self._done.added.events

    def _journal(self, data: bytes) -> None:
        session = str((decode(data.split(b"\n", 1)[0]) or {})["id"])
        journal = Journal(self._services.state, session)
        private.make(self._services.state, "sessions")
        with private.lock(journal.path):
            if journal.exists():
                self._done.unchanged.journals += 1
                return
            durable.replace(journal.path, adopted(masked(self._services.gate, data, session), session))
            self._done.added.journals += 1

    def _told(self, items: Iterable[T]) -> Iterator[T]:
        """The items in order, reporting how many were begun."""
        for item in items:
            self._seen += 1
            progress.report(self._seen, 0, "items imported")
            yield item
