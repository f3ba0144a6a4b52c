"""Writes everything into one archive. Text is masked, as in all output."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import asdict, define, evolve, field

from holdfast.config.serde import stamp
from holdfast.errors import ConfigError, Corrupt
from holdfast.fs import durable, paths, safeopen
from holdfast.fs.records import decode
from holdfast.journal.journal import Journal, session_files, session_id_of
from holdfast_app import progress
from holdfast_app.privacy.transforms import map_texts
from holdfast_app.sessions.rewriting import Change, whole_lines
from holdfast_app.transfer import archive
from holdfast_app.transfer.belongings import private_rows

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.gate import Gate
    from holdfast_app.base import Services

_HEX = frozenset("0123456789abcdef-")


@define(kw_only=True)
class Exported:
    """An export's result. ``events`` counts lines of the facts' log; ``private`` the settings file, waiting comments,
    copies that dreams kept, and archived messages; ``masked`` the documents, facts, events and journals in which
    something was masked; ``withheld`` names what came with an untrusted clone and was left out."""

    documents: int = 0
    facts: int = 0
    events: int = 0
    journals: int = 0
    private: int = 0
    masked: int = 0
    withheld: list[str] = field(factory=list)
    size: int = 0


def export(memory: Holdfast, path: str, *, force: bool = False) -> Exported:
    """Write the archive ``path`` atomically, mode 0600. Raises: ConfigError when it exists and not ``force``; Corrupt
    for damaged data; Unavailable; PluginError. Then no file is written."""
    path = os.path.realpath(path)
    if os.path.isdir(path) or (os.path.lexists(path) and not force):
        raise ConfigError(f"{path} exists already.", next_step="Name another file, or add `--force` to replace it.")
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as out:
        done = _Export(memory, out).run()
    done.size = len(data.getbuffer())
    durable.replace(path, data.getvalue())
    return done


@define
class _Export:
    _memory: Holdfast
    _out: zipfile.ZipFile
    _done: Exported = field(factory=Exported)
    _members: dict[str, dict[str, object]] = field(factory=dict)

    @property
    def _services(self) -> Services:
        return self._memory.services

    def run(self) -> Exported:
        names, journals = self._services.store.names(), session_files(self._services.state)
        self._done.documents = self._write(archive.DOCUMENTS, map(_line, self._documents(names)))
        self._done.facts = self._write(archive.FACTS, map(_line, self._facts()))
        self._done.events = self._write(archive.EVENTS, map(_line, self._events()))
        for path in journals:
            data = self._journal(path)
            if data:
                self._write(archive.JOURNALS + os.path.basename(path), data.splitlines(keepends=True))
                self._done.journals += 1
        self._done.private = self._write(archive.PRIVATE, map(_line, private_rows(self._memory)))
        self._manifest()
        return self._done

    def _documents(self, names: list[str]) -> Iterator[dict[str, object]]:
        for name in names:
            stored = self._services.store.read(name)
            shown = self._services.recalled(name)
            if stored is not None and self._services.store.sifted(stored).withheld:
                self._done.withheld.append(name)
            if shown is not None and stored is not None:
                self._done.masked += shown.text != self._services.store.sifted(stored).text
                yield {"name": name, "text": shown.text}

    def _facts(self) -> Iterator[dict[str, object]]:
        hidden = {fact.id for fact in self._services.store.withheld_facts()}
        if hidden:
            self._done.withheld.append("facts")
        stored = iter(self._services.store.backend.facts())
        for row in self._memory.facts.export():
            fact = next(stored, None)
            self._done.masked += fact is not None and (fact.content, fact.source) != (row["content"], row["source"])
            if row["id"] not in hidden:
                yield row

    def _events(self) -> Iterator[dict[str, object]]:
        gate = self._services.gate
        for one in self._memory.facts.trail.entries():
            content, source = gate.outgoing_all([one.content or "", one.source], surface="fact")
            shown = evolve(one, content=content if one.content is not None else None, source=source)
            self._done.masked += shown != one
            yield {**asdict(shown), "at": stamp(one.at)}

    def _journal(self, path: str) -> bytes:
        """The journal's lines as stored, except for masked ones and an incomplete last line. Raises: Corrupt."""
        session = session_id_of(path)
        if session is None:
            raise Corrupt(
                f"{paths.ending(path, 4)} is damaged at byte 0.",
                next_step="Run `holdfast doctor --repair`, then export again.",
            )
        journal, end = Journal(self._services.state, session), 0
        for entry in journal.entries():
            end = entry.end
        data = safeopen.read(path)[:end]
        shown = edited(data, session, partial(masked, self._services.gate))
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

    def _manifest(self) -> None:
        from holdfast import __version__

        done = self._done
        manifest = {
            "format": archive.FORMAT,
            "holdfast": __version__,
            "at": stamp(self._services.now()),
            "backend": self._services.store.backend.name,
            "counts": {k: getattr(done, k) for k in ("documents", "facts", "events", "journals", "private", "masked")},
            "members": self._members,
        }
        self._out.writestr(archive.MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1) + "\n")


def edited(data: bytes, session: str, change: Change) -> bytes:
    """A journal's lines with ``change`` applied to each record. The bytes are the same when nothing changes."""
    records = [decode(line) for line in data.splitlines()]
    if all(record is None or change(record) == record for record in records):
        return data
    return whole_lines(data, session, change)[0]


def masked(gate: Gate, record: dict[str, Any]) -> dict[str, Any]:
    """A journal record as it may leave, all its strings masked except digests."""

    def shown(text: str) -> str:
        return text if _HEX.issuperset(text) else gate.outgoing(text, surface="journal")

    changed: dict[str, Any] = map_texts(record, shown)
    return changed


def _line(row: dict[str, object]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
