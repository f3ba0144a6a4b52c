"""A storage backend in one file: documents and facts together in ``acme.json``, rewritten whole at every change.

Slow on large stores, and short: what the storage contract asks for is all there. :mod:`holdfast.fs.durable` makes the
rewriting atomic and durable, and its lock makes reading, judging and writing one step between processes. Reading needs
no lock, since the file is only ever replaced as a whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import attrs

from holdfast.api import StorageConfig, duplicate_key, hookimpl
from holdfast.errors import Conflict, Corrupt, DuplicateFact, NotFound, Refused
from holdfast.fs import durable
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import (
    ABSENT,
    Capability,
    Document,
    FactOrder,
    StorageBackend,
    block_ids,
    block_marker,
    check_name,
    check_text,
    sha256,
)

T = TypeVar("T")


@hookimpl
def storage_backend(config: StorageConfig, root: Path) -> StorageBackend | None:
    """The store when the configuration says ``backend = "acme"``."""
    return AcmeStore(root, path=config.path) if config.backend == "acme" else None


@attrs.define
class Content:
    """What the file holds; facts in order of insertion."""

    documents: dict[str, str] = attrs.field(factory=dict)
    facts: dict[str, Fact] = attrs.field(factory=dict)

    def twin(self, content: str) -> Fact | None:
        """The fact that counts as the same text."""
        key = duplicate_key(content)
        return next((f for f in self.facts.values() if duplicate_key(f.content) == key), None)

    def fact(self, fact_id: str) -> Fact:
        """Raises: NotFound."""
        if fact_id not in self.facts:
            raise NotFound(f"There is no fact {fact_id!r}.", next_step="List the facts with `holdfast facts`.")
        return self.facts[fact_id]


class AcmeStore(StorageBackend):
    """One file in the folder ``path`` under ``root``. Nothing is made before the first write."""

    name: ClassVar[str] = "acme"
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.CONCURRENT_WRITERS})

    def __init__(self, root: str | os.PathLike[str], *, path: str = ".holdfast") -> None:
        self._folder = os.path.join(os.fspath(root), path)
        self._path = os.path.join(self._folder, "acme.json")

    # documents

    def read(self, name: str) -> Document | None:
        text = self._load().documents.get(check_name(name))
        return None if text is None else Document(name=name, text=text, revision=sha256(text))

    def write(self, name: str, text: str, expected: str | None = None) -> str:
        _check(name, text)

        def change(content: Content) -> str:
            if expected not in (None, _revision(content, name)):
                raise Conflict(f"{name!r} was changed in between.", next_step="Read it again and redo the change.")
            content.documents[name] = text
            return sha256(text)

        return self._change(change)

    def append(self, name: str, block: str, header: str, block_id: str) -> str:
        _check(name, block)
        if block_id not in block_ids(block):
            raise ValueError(f"the block does not hold its marker line {block_marker(block_id)!r}")

        def change(content: Content) -> str:
            before = content.documents.get(name, "")
            if block_id not in block_ids(before):
                start = before or header
                newline = "" if not start or start.endswith("\n") else "\n"
                content.documents[name] = start + newline + block
            return _revision(content, name)

        return self._change(change)

    def delete(self, name: str) -> None:
        check_name(name)

        def change(content: Content) -> None:
            if content.documents.pop(name, None) is None:
                raise NotFound(f"There is no document {name!r}.", next_step="List the documents with `holdfast show`.")

        self._change(change)

    def names(self, prefix: str = "") -> list[str]:
        return sorted(name for name in self._load().documents if name.startswith(prefix))

    # facts

    def add_fact(self, fact: Fact, limit: int) -> AddResult:
        def change(content: Content) -> AddResult:
            twin = content.twin(fact.content)
            if twin:
                return AddResult(outcome=AddOutcome.DUPLICATE, fact=twin, duplicate_of=twin.id)
            if fact.id in content.facts:
                raise Conflict(f"The id {fact.id} is taken.", next_step="Draw another.")
            ranked = sorted(
                content.facts.values(), key=lambda f: (f.confidence, f.created_at)
            )  # stable: then by age here
            evicted = [f.id for f in ranked[: max(len(ranked) - limit + 1, 0)]]
            for fact_id in evicted:
                del content.facts[fact_id]
            stored = content.facts[fact.id] = attrs.evolve(fact, created_at=fact.created_at.astimezone(UTC))
            return AddResult(outcome=AddOutcome.ADDED, fact=stored, evicted=evicted)

        return self._change(change)

    def get_fact(self, fact_id: str) -> Fact:
        return self._load().fact(fact_id)

    def update_fact(
        self,
        fact_id: str,
        *,
        content: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
        source: str | Callable[[str], str] | None = None,
    ) -> Fact:
        given = {"content": content, "category": category, "confidence": confidence, "source": source}
        changes: dict[str, Any] = {field: value for field, value in given.items() if value is not None}

        def change(stored: Content) -> Fact:
            old = stored.fact(fact_id)
            if callable(source):
                changes["source"] = source(old.source)
            new = attrs.evolve(old, **changes)
            twin = stored.twin(new.content)
            if content is not None and twin and twin.id != fact_id:
                raise DuplicateFact(f"{twin.id} says the same.", next_step="Delete one of them.")
            stored.facts[fact_id] = new
            return new

        return self._change(change)

    def delete_fact(self, fact_id: str) -> Fact:
        def change(content: Content) -> Fact:
            gone = content.fact(fact_id)
            del content.facts[fact_id]
            return gone

        return self._change(change)

    def facts(self, order: FactOrder = FactOrder.CREATED, limit: int | None = None) -> Iterator[Fact]:
        listed = list(self._load().facts.values())
        if order is FactOrder.STRONGEST:
            listed.reverse()
        if order is not FactOrder.CREATED:
            listed.sort(key=lambda f: -f.confidence)
        return iter(listed[:limit])

    def count_facts(self) -> int:
        return len(self._load().facts)

    # the rest

    def compact(self) -> None:
        """The file holds nothing old; a process killed while it wrote may have left its temporary file."""
        if not os.path.isdir(self._folder):
            return
        with self._lock():
            for name in os.listdir(self._folder):
                if name.startswith(durable.TEMP_PREFIX) and name.endswith(durable.TEMP_SUFFIX):
                    durable.remove(os.path.join(self._folder, name))

    def where(self, name: str) -> str:
        return f"{os.path.basename(self._folder)}/acme.json, {name}"

    def _lock(self) -> durable.Lock:
        return durable.lock(os.path.join(self._folder, "acme.lock"))

    def _change(self, change: Callable[[Content], T]) -> T:
        """Let ``change`` judge and alter the content; what it raises leaves the file as it is."""
        durable.make_private_dir(self._folder)
        with self._lock():
            # Whoever replaced the file may have been killed before that was durable. Every answer is given from what
            # is read here, a "no" too, and a caller may rely on it.
            durable.fsync_dir(self._folder)
            content = self._load()
            before = _dump(content)
            result = change(content)
            after = _dump(content)
            if after != before:
                durable.replace(self._path, after)
            return result

    def _load(self) -> Content:
        try:
            with open(self._path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return Content()
        except OSError as error:
            raise durable.unavailable(error, self._path, "read") from error
        try:
            table = json.loads(data)
            facts = [Fact(**{**f, "created_at": datetime.fromisoformat(f["created_at"])}) for f in table["facts"]]
            return Content(documents=dict(table["documents"]), facts={f.id: f for f in facts})
        except (ValueError, TypeError, KeyError) as error:
            raise Corrupt("acme.json is damaged.", next_step="Put a backup of it back.") from error


def _dump(content: Content) -> bytes:
    facts = [{**attrs.asdict(f), "created_at": f.created_at.isoformat()} for f in content.facts.values()]
    text = json.dumps({"documents": content.documents, "facts": facts}, indent=1, ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise Refused("A text holds a lone surrogate.", next_step="Take it out of the text.") from error


def _revision(content: Content, name: str) -> str:
    return sha256(content.documents[name]) if name in content.documents else ABSENT


def _check(name: str, text: str) -> None:
    check_text(text, check_name(name))
