"""Copying a store to another backend: documents and facts, verified by digest. The source is only read.

The target may already hold the content's beginning from an interrupted run. Then the rest is copied.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final

from attrs import define, evolve, field, frozen

from holdfast.errors import ConfigError, Conflict
from holdfast.fs import durable, private
from holdfast.models import AddOutcome, Fact
from holdfast.storage import ABSENT, Add, StorageBackend, sha256
from holdfast.text.stored import duplicate_key
from holdfast_app import progress

if TYPE_CHECKING:
    from holdfast_app.base import Services

#: Facts made durable together, where the target supports that.
BATCH: Final = 1000


@frozen(kw_only=True)
class Migration:
    """A migration's result. ``sha256`` is the digest of everything, read back from the target.

    ``unchanged`` is true when the target already held all of it. ``skipped`` names duplicate facts in a manually edited
    source, where the first was kept.
    """

    source: str
    target: str
    documents: int
    facts: int
    sha256: str
    unchanged: bool
    skipped: tuple[str, ...] = ()


def migrate_project(services: Services, to: str) -> Migration:
    """Copy the project's store into the backend ``to``, which takes its settings from ``[storage]`` too.

    The configuration still names the old backend afterwards. Raises: ConfigError when ``to`` is already in use;
    PluginNotFound; errors of :func:`migrate`.
    """
    from holdfast.plugin import discovery
    from holdfast.plugin.manager import PluginManager
    from holdfast_app.trust.provenance import Provenance

    storage = services.config.storage
    if to == storage.backend:
        raise ConfigError(f"The project already uses the backend {to!r}.", next_step="Name another backend.")
    entry = discovery.choose(discovery.scan(), discovery.BACKENDS, to)
    manager = PluginManager()
    manager.register_backend(discovery.import_object(entry), entry)
    target = manager.storage_backend(evolve(storage, backend=to), services.root)
    try:
        private.make(services.state)
        with durable.lock(services.private("migrate.lock")):
            if services.is_remote:
                services.store.record_all(Provenance(services.root, services.state))  # it did not come from a clone
            return migrate(services.store.backend, target, prefixes=services.layout.prefixes())
    finally:
        target.close()


def migrate(source: StorageBackend, target: StorageBackend, *, prefixes: Sequence[str] = ("",)) -> Migration:
    """Copy all facts and the documents under ``prefixes``, then read both and compare. Facts keep ids, times and order.

    Raises: Conflict before anything is written when the target holds anything but a beginning of the same
    documents and facts, and when source or target changed meanwhile. Calling it again continues from there.
    """
    return _Run(source, target, prefixes).run()


@define
class _Run:
    _source: StorageBackend
    _target: StorageBackend
    _prefixes: Sequence[str]
    _done: int = 0
    _total: int = 0
    _changed: bool = False
    _skipped: list[str] = field(factory=list)

    def run(self) -> Migration:
        names = self._names(self._source)
        self._total = len(names) + sum(1 for _ in self._source.facts())
        for name in self._names(self._target):
            wanted = _text(self._source, name)
            if wanted is None or not wanted.startswith(_text(self._target, name) or ""):
                raise self._foreign(f"the document {name!r}")
        kept = self._check_facts()
        for name in names:
            self._copy(name)
            self._tell(1)
        self._tell(kept)
        self._copy_facts(kept)
        facts, digest = self._verify(names)
        self._target.repair()  # facts of an earlier store here do not count as missing
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
        if more:
            progress.report(self._done, self._total, "copied")

    # --- existing content of the target

    def _check_facts(self) -> int:
        """How many of the source's first facts the target holds. Raises: Conflict for any other."""
        number = 0
        source = _distinct(self._source.facts(), [])
        for fact in self._target.facts():
            if next(source, None) != fact:
                raise self._foreign("facts")
            number += 1
        return number

    def _foreign(self, what: str) -> Conflict:
        return Conflict(
            f"The {self._target.name} store already holds {what} that differs from the {self._source.name} store.",
            next_step="Move that store away or set another `[storage] path` for the copy. Nothing was changed.",
        )

    # --- copying

    def _copy(self, name: str) -> None:
        text = _text(self._source, name)
        if text is None:
            raise self._moving()
        there = self._target.read(name)
        if there is None or there.text != text:
            self._changed = True
            self._target.write(name, text, expected=there.revision if there else ABSENT)

    def _copy_facts(self, kept: int) -> None:
        source = islice(_distinct(self._source.facts(), self._skipped), kept, None)
        while part := list(islice(source, BATCH)):
            self._changed = True
            added = self._target.commit([Add(fact, sys.maxsize) for fact in part]).added
            if any(one is None or one.outcome is not AddOutcome.ADDED for one in added):
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
                raise self._moving()
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
            f"A store changed during the copy, or the {self._target.name} store did not keep what was written.",
            next_step="Stop the other writers, then run it again to continue. The source is untouched.",
        )


def _text(store: StorageBackend, name: str) -> str | None:
    document = store.read(name)
    return document.text if document else None


def _distinct(facts: Iterable[Fact], skipped: list[str]) -> Iterator[Fact]:
    """The facts without duplicates, which only a manually edited file can hold."""
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
