"""Copying a store to another backend: documents and facts, verified by digest. The source is only read.

The target may already hold the content's beginning from an interrupted run. Then the rest is copied.
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from attrs import evolve, frozen

from holdfast.config.serde import fact_out
from holdfast.errors import ConfigError, Conflict
from holdfast.fs import durable, private
from holdfast.models import Fact
from holdfast.plugin import discovery
from holdfast.plugin.manager import PluginManager
from holdfast.storage import ABSENT, Add, StorageBackend, sha256
from holdfast.text.stored import duplicate_key
from holdfast_app import progress
from holdfast_app.base import Services
from holdfast_app.trust.provenance import Provenance

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
    if to == services.config.storage.backend:
        raise ConfigError(f"The project already uses the backend {to!r}.", next_step="Name another backend.")
    entry, manager = discovery.choose(discovery.scan(), discovery.BACKENDS, to), PluginManager()
    manager.register_backend(discovery.import_object(entry), entry)
    with closing(manager.storage_backend(evolve(services.config.storage, backend=to), services.root)) as target:
        private.make(services.state)
        with durable.lock(services.private("migrate.lock")):
            if services.is_remote:
                services.store.record_all(Provenance(services.root, services.state))  # it did not come from a clone
            return migrate(services.store.backend, target, prefixes=services.layout.prefixes())


def migrate(source: StorageBackend, target: StorageBackend, *, prefixes: Sequence[str] = ("",)) -> Migration:
    """Copy all facts and the documents under ``prefixes``, then read both and compare. Facts keep ids, times and order.

    Raises: Conflict before anything is written when the target holds anything but a beginning of the same
    documents and facts, and when source or target changed meanwhile. Calling it again continues from there.
    """
    names, (facts, skipped) = _names(source, prefixes), _distinct(source)
    there = {name: _text(target, name) or "" for name in _names(target, prefixes)}
    for name, text in there.items():
        if not (_text(source, name) or "").startswith(text) or name not in names:
            raise _foreign(source, target, f"the document {name!r}")
    stored = list(target.facts())
    if facts[: (present := len(stored))] != stored:
        raise _foreign(source, target, "facts")
    done, total, changed = 0, len(names) + len(facts), present < len(facts)
    for name in names:
        wanted = _text(source, name) or ""
        if there.get(name) != wanted:
            changed = True
            document = target.read(name)
            target.write(name, wanted, expected=document.revision if document else ABSENT)
        progress.report(done := done + 1, total, "copied")
    for start in range(present, len(facts), BATCH):
        part = facts[start : start + BATCH]
        target.commit([Add(fact, sys.maxsize) for fact in part])
        progress.report(len(names) + start + len(part), total, "copied")
    if (digest := _digest(source, prefixes)) != _digest(target, prefixes):
        raise Conflict(
            f"A store changed during the copy, or the {target.name} store did not keep what was written.",
            next_step="Stop the other writers, then run it again to continue. The source is untouched.",
        )
    target.repair()  # facts of an earlier store here do not count as missing
    return Migration(
        source=source.name,
        target=target.name,
        documents=len(names),
        facts=len(facts),
        sha256=digest,
        unchanged=not changed,
        skipped=tuple(skipped),
    )


def _foreign(source: StorageBackend, target: StorageBackend, what: str) -> Conflict:
    return Conflict(
        f"The {target.name} store already holds {what} that differs from the {source.name} store.",
        next_step="Move that store (not `state`) away, or set `[storage] path` for the copy. Nothing was changed.",
    )


def _names(store: StorageBackend, prefixes: Sequence[str]) -> list[str]:
    return sorted({name for prefix in prefixes for name in store.names(prefix)})


def _text(store: StorageBackend, name: str) -> str | None:
    document = store.read(name)
    return document.text if document else None


def _digest(store: StorageBackend, prefixes: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for name in _names(store, prefixes):
        digest.update(f"{json.dumps(name)} {sha256(_text(store, name) or '')}\n".encode())
    for fact in _distinct(store)[0]:
        digest.update(json.dumps(fact_out(fact), sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


def _distinct(store: StorageBackend) -> tuple[list[Fact], list[str]]:
    """The facts, and the ids of duplicates, which only a manually edited file can hold."""
    first: dict[str, Fact] = {}
    skipped = [fact.id for fact in store.facts() if first.setdefault(duplicate_key(fact.content), fact) is not fact]
    return list(first.values()), skipped
