"""Copying a store to another backend: documents and facts, verified by digest, resumable. The source is only read.

What is about to be written is noted by its digest first, in the private folder. So a later run knows what an
interrupted one left in the target from what somebody else wrote there, and may bring it up to date.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attrs import evolve, frozen

from holdfast.config.provenance import FACTS
from holdfast.errors import ConfigError, Conflict, Unavailable
from holdfast.facts.factrules import duplicate_key
from holdfast.fs import durable, safeopen
from holdfast.models import AddOutcome, Fact
from holdfast.storage import ABSENT, Capability, StorageBackend, sha256

if TYPE_CHECKING:
    from holdfast.session.services import Services

#: Facts that become durable together, where the target can do that.
BATCH: Final = 1000

Progress = Callable[[int, int], object]


@frozen(kw_only=True)
class Migration:
    """What was copied. ``sha256`` is the digest of everything, read back from the target.

    ``unchanged`` is true when the target held all of it before; ``skipped`` names facts that a hand-edited source had
    twice, the first of which was kept.
    """

    source: str
    target: str
    documents: int
    facts: int
    sha256: str
    unchanged: bool
    skipped: tuple[str, ...] = ()


def migrate_project(services: Services, to: str, progress: Progress | None = None) -> Migration:
    """Copy the project's store into the backend ``to``, which takes its settings from ``[storage]`` too.

    The configuration still names the old one afterwards. ``progress`` is told how many documents and facts of how many
    are copied. Raises: ConfigError when ``to`` is in use already; PluginNotFound; what :func:`migrate` raises.
    """
    from holdfast.fs import private
    from holdfast.plugin import discovery
    from holdfast.plugin.manager import Dispatch

    storage = services.config.storage
    if to == storage.backend:
        raise ConfigError(f"The project uses the backend {to!r} already.", next_step="Name another one.")
    entry = discovery.choose(discovery.scan(), discovery.BACKENDS, to)
    plugin = discovery.import_object(entry)
    target = Dispatch.storage_backend(plugin, entry, evolve(storage, backend=to), Path(services.root))
    try:
        private.make(services.state)
        with durable.lock(services.private("migrate.lock")):
            if services.store.provenance is not None and Capability.REMOTE in services.store.backend.capabilities:
                services.store.provenance.register([*services.store.names(), FACTS])  # no clone brought them
            return migrate(
                services.store.backend,
                target,
                record=services.private(f"migrate-{storage.backend}-{to}.jsonl"),
                prefixes=services.layout.prefixes(),
                progress=progress,
            )
    finally:
        target.close()


def migrate(
    source: StorageBackend,
    target: StorageBackend,
    *,
    record: str,
    prefixes: Sequence[str] = ("",),
    progress: Progress | None = None,
) -> Migration:
    """Copy all facts and the documents under ``prefixes``, then read both and compare.

    ``record`` is the path of a file for the digests of what was written; keep it for the next run. Facts keep ids,
    times and order. Raises: Conflict before anything is written when the target holds what is neither in the source
    nor of an earlier run, and when source or target changed meanwhile; the same call again goes on from there.
    """
    return _Run(source, target, _Record(record), prefixes, progress).run()


class _Record:
    """The digests that were about to be written, one JSON text a line."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._known: set[str] = set()
        try:
            with safeopen.reader(path) as file:
                self._known.update(line.decode("utf-8", "replace").strip() for line in file)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise durable.unavailable(error, path, "read") from error

    def promise(self, *what: str | int) -> None:
        """Note it durably, once."""
        self.promise_all([what])

    def promise_all(self, many: Iterable[tuple[str | int, ...]]) -> None:
        """Note all of them, with one flush."""
        lines = [json.dumps(what) for what in many if what not in self]
        if lines:
            # A line that a crash cut off is ended by the newline in front; half a line matches nothing.
            durable.append(self._path, "\n".join(["", *lines, ""]).encode())
            self._known.update(lines)

    def __contains__(self, what: tuple[str | int, ...]) -> bool:
        return json.dumps(what) in self._known


class _Run:
    def __init__(
        self,
        source: StorageBackend,
        target: StorageBackend,
        record: _Record,
        prefixes: Sequence[str],
        progress: Progress | None,
    ) -> None:
        self._source = source
        self._target = target
        self._record = record
        self._prefixes = prefixes
        self._progress = progress
        self._done = self._total = 0
        self._changed = False
        self._skipped: list[str] = []

    def run(self) -> Migration:
        names = self._names(self._source)
        self._total = len(names) + self._source.count_facts()
        surplus = self._check_documents(names)
        kept = self._check_facts()
        for name in surplus:
            self._changed = True
            self._target.delete(name)
        for name in names:
            self._copy(name)
            self._tell(1)
        if kept is None:
            self._clear_facts()
        self._tell(kept or 0)
        self._copy_facts(kept or 0)
        facts, digest = self._verify(names)
        self._target.accept_facts()  # of an earlier store at its place nothing is missing
        return Migration(
            source=self._source.name,
            target=self._target.name,
            documents=len(names),
            facts=facts,
            sha256=digest,
            unchanged=not self._changed,
            skipped=tuple(self._skipped),
        )

    def _names(self, store: StorageBackend) -> list[str]:
        return sorted({name for prefix in self._prefixes for name in store.names(prefix)})

    def _tell(self, more: int) -> None:
        self._done += more
        if self._progress and more:
            self._progress(self._done, self._total)

    # --- what the target holds already

    def _check_documents(self, names: Sequence[str]) -> list[str]:
        """The target's documents that the source has no more. Raises: Conflict for one that is not ours."""
        wanted = set(names)
        surplus = []
        for name in self._names(self._target):
            there = _text(self._target, name)
            if name in wanted and there == _text(self._source, name):
                continue
            if there is not None and ("document", name, sha256(there)) not in self._record:
                raise self._foreign(f"the document {name!r}")
            if name not in wanted:
                surplus.append(name)
        return surplus

    def _check_facts(self) -> int | None:
        """How many of the source's facts the target holds, from the first one on; None when it holds an earlier
        run's that are out of date. Raises: Conflict."""
        digest, stored, agree, leaving = hashlib.sha256(), 0, True, True
        source = _distinct(self._source.facts(), [])
        for fact in self._target.facts():
            agree = agree and next(source, None) == fact
            leaving = leaving and ("leaving", _short(fact)) in self._record
            stored += 1
            digest.update(_line(fact))
        if agree:
            return stored
        if not leaving and ("facts", stored, digest.hexdigest()) not in self._record:
            raise self._foreign("facts")
        return None

    def _foreign(self, what: str) -> Conflict:
        return Conflict(
            f"The {self._target.name} store already holds {what}, other than in the {self._source.name} store.",
            next_step="Move that store away or set another `[storage] path` for it; nothing was changed.",
        )

    # --- copying

    def _copy(self, name: str) -> None:
        text = _text(self._source, name)
        if text is None:
            raise self._moving()
        there = self._target.read(name)
        if there is None or there.text != text:
            self._changed = True
            self._record.promise("document", name, sha256(text))
            self._target.write(name, text, expected=there.revision if there else ABSENT)

    def _clear_facts(self) -> None:
        self._changed = True
        self._record.promise_all(("leaving", _short(fact)) for fact in self._target.facts())
        while part := list(self._target.facts(limit=BATCH)):
            with self._target.batch():
                for fact in part:
                    self._target.delete_fact(fact.id)

    def _copy_facts(self, kept: int) -> None:
        source = _distinct(self._source.facts(), self._skipped)
        digest = hashlib.sha256()
        for fact in islice(source, kept):
            digest.update(_line(fact))
        while part := list(islice(source, BATCH)):
            for fact in part:
                digest.update(_line(fact))
            kept += len(part)
            self._changed = True
            self._record.promise("facts", kept, digest.hexdigest())
            with self._target.batch():
                for fact in part:
                    if self._target.add_fact(fact, sys.maxsize).outcome is not AddOutcome.ADDED:
                        raise self._moving()
            self._tell(len(part))

    # --- the proof

    def _verify(self, names: Sequence[str]) -> tuple[int, str]:
        """The number of facts and the digest of everything. Raises: Conflict, Unavailable."""
        digest = hashlib.sha256()
        if self._names(self._source) != list(names) or self._names(self._target) != list(names):
            raise self._moving()
        for name in names:
            text, there = _text(self._source, name), _text(self._target, name)
            if text is None or text != there:
                raise self._moving() if ("document", name, sha256(text or "")) not in self._record else self._lost(name)
            digest.update(f"{json.dumps(name)} {sha256(there)}\n".encode())
        count = 0
        for fact, there_fact in zip_longest(_distinct(self._source.facts(), []), self._target.facts()):
            if fact is None or fact != there_fact:
                raise self._moving()
            digest.update(_line(there_fact))
            count += 1
        return count, digest.hexdigest()

    def _moving(self) -> Conflict:
        return Conflict(
            "Somebody wrote to one of the two stores while they were copied.",
            next_step="End the other writers, then run it again: it goes on where it stopped.",
        )

    def _lost(self, name: str) -> Unavailable:
        return Unavailable(
            f"The {self._target.name} store did not keep {name!r} as it was written.",
            next_step="Check the disk or the backend. The source is untouched.",
        )


def _text(store: StorageBackend, name: str) -> str | None:
    document = store.read(name)
    return document.text if document else None


def _distinct(facts: Iterable[Fact], skipped: list[str]) -> Iterator[Fact]:
    """The facts without those that say the same as an earlier one: only a file edited by hand has them."""
    seen: set[bytes] = set()
    for fact in facts:
        key = hashlib.blake2b(duplicate_key(fact.content).encode(), digest_size=16).digest()
        if key in seen:
            skipped.append(fact.id)
            continue
        seen.add(key)
        yield fact


def _line(fact: Fact) -> bytes:
    from holdfast.config.serde import fact_out

    return json.dumps(fact_out(fact), sort_keys=True).encode() + b"\n"


def _short(fact: Fact) -> str:
    return hashlib.sha256(_line(fact)).hexdigest()[:16]
