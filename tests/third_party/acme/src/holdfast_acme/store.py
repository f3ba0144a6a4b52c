"""A storage backend in one file: documents and facts together in ``acme.json``, rewritten whole at every change.

Slow on large stores, and short: what the storage contract asks for is all there. :mod:`holdfast.fs.durable` makes the
rewriting atomic and durable, and its lock makes reading, judging and writing one step between processes. Reading needs
no lock, since the file is only ever replaced as a whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import ClassVar, TypeVar

import attrs

from holdfast.api import StorageConfig, hookimpl
from holdfast.errors import Conflict, Corrupt, NotFound, Refused, Unsupported
from holdfast.fs import durable
from holdfast.models import AddResult, Fact
from holdfast.storage import (
    ABSENT,
    Add,
    Change,
    Committed,
    Document,
    FactOrder,
    FactTable,
    Remove,
    StorageBackend,
    Update,
    appended,
    block_ids,
    changed_between,
    check_block,
    check_name,
    check_text,
    id_taken,
    no_document,
    sha256,
    storable,
)

T = TypeVar("T")


@hookimpl
def storage_backend(config: StorageConfig, root: Path) -> StorageBackend | None:
    """The store when the configuration says ``backend = "acme"``."""
    return AcmeStore(root, path=config.path) if config.backend == "acme" else None


@attrs.define
class Content:
    """What the file holds."""

    documents: dict[str, str] = attrs.field(factory=dict)
    facts: FactTable = attrs.field(factory=FactTable)


class AcmeStore(StorageBackend):
    """One file in the folder ``path`` under ``root``. Nothing is made before the first write."""

    name: ClassVar[str] = "acme"

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
                raise changed_between(name)
            content.documents[name] = text
            return sha256(text)

        return self._change(change)

    def append(self, name: str, block: str, header: str, block_id: str) -> str:
        check_block(check_name(name), block, header, block_id)

        def change(content: Content) -> str:
            before = content.documents.get(name, "")
            if block_id not in block_ids(before):
                content.documents[name] = before + appended(before, block, header)
            return _revision(content, name)

        return self._change(change)

    def delete(self, name: str) -> None:
        check_name(name)

        def change(content: Content) -> None:
            if content.documents.pop(name, None) is None:
                raise no_document(name)

        self._change(change)

    def names(self, prefix: str = "") -> list[str]:
        return sorted(name for name in self._load().documents if name.startswith(prefix))

    # facts

    def facts(self, order: FactOrder = FactOrder.CREATED, limit: int | None = None) -> Iterator[Fact]:
        return self._load().facts.listed(order, limit)

    def add_fact(self, fact: Fact, limit: int) -> AddResult:
        result = self.commit([Add(fact, limit)]).added[0]
        if result is None:
            raise id_taken(fact.id)
        return result

    def commit(self, changes: Sequence[Change] = (), *, names: Iterable[str] = (), listing: bool = False) -> Committed:
        made = Committed({}, [], [], [], [])

        def change(content: Content) -> None:
            for one in changes:
                if isinstance(one, Add):
                    fact = storable(one.fact, one.limit)
                    try:
                        made.added.append(content.facts.add(fact, one.limit))
                    except Conflict:
                        made.added.append(None)  # another fact has its id
                elif isinstance(one, Update):
                    made.updated.append(content.facts.update(one))
                elif isinstance(one, Remove):
                    try:
                        made.removed.append(content.facts.take(one))
                    except NotFound:
                        made.removed.append(None)
                else:
                    raise Unsupported("One document is changed at a time.", next_step="Make each change.")

        if changes:
            self._change(change)
        documents = {name: self.read(name) for name in names}
        return made._replace(documents=documents, facts=list(self.facts()) if listing else [])

    # the rest

    def compact(self) -> None:
        """The file holds nothing old; a process killed while it wrote may have left its temporary file."""
        if not os.path.isdir(self._folder):
            return
        with self._lock():
            for name in os.listdir(self._folder):
                if name.startswith(durable.TEMP_PREFIX) and name.endswith(durable.TEMP_SUFFIX):
                    durable.remove(os.path.join(self._folder, name))

    def where(self, name: str = "") -> str:
        return f"{os.path.basename(self._folder)}/acme.json" + (f", {name}" if name else "")

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
            return Content(documents=dict(table["documents"]), facts=FactTable(facts))
        except (ValueError, TypeError, KeyError) as error:
            raise Corrupt("acme.json is damaged.", next_step="Put a backup of it back.") from error


def _dump(content: Content) -> bytes:
    facts = [{**attrs.asdict(f), "created_at": f.created_at.isoformat()} for f in content.facts]
    text = json.dumps({"documents": content.documents, "facts": facts}, indent=1, ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise Refused("A text holds a lone surrogate.", next_step="Take it out of the text.") from error


def _revision(content: Content, name: str) -> str:
    return sha256(content.documents[name]) if name in content.documents else ABSENT


def _check(name: str, text: str) -> None:
    check_text(text, check_name(name))
