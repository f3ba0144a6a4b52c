"""The file store, an implementation of the storage contract (docs/storage-contract.md).

Documents are Markdown files. A reader needs no lock and never sees half of a write.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from itertools import islice
from typing import ClassVar

from holdfast import models
from holdfast.errors import Corrupt, Refused, Unavailable
from holdfast.fs import durable
from holdfast.storage import (
    ABSENT,
    Capability,
    ComposedBackend,
    Condition,
    Document,
    FactOrder,
    Remove,
    Update,
    appended,
    block_ids,
    changed_between,
    check_block,
    check_text,
    no_document,
    sha256,
)
from holdfast_file import intent as intents
from holdfast_file import repair
from holdfast_file.facts import FactFile
from holdfast_file.intent import Intent
from holdfast_file.place import Place, is_shared, read_bytes

#: Limit of a document, in bytes. Reading a longer one would slow every command down.
_MOST_BYTES = 20_000_000
_MOST_DOCUMENTS = 10_000  # four a day for seven years
_REPAIR = "Run `holdfast doctor --fix`, which keeps a copy, or repair it in an editor. Until then no flush writes it."


class _Documents(ComposedBackend):
    """Every change locks the store and first repairs an interrupted one."""

    _place: Place

    def read(self, name: str) -> Document | None:
        path = self._place.document(name)
        while True:
            body = read_bytes(path, name, most=_MOST_BYTES)
            if body is None:
                return None
            pending = intents.pending(self._place.intent)
            status = self._place.regular(path)
            if status is None or status.st_size != len(body):
                continue  # an append ended meanwhile, so the intent may be gone and the bytes incomplete
            if pending and pending.name == name and pending.torn_in(body):
                body = body[: pending.offset]
            text = _text(body, self._place, name)
            return Document(name=name, text=text, revision=sha256(text))

    def write(self, name: str, text: str, expected: str | None = None) -> str:
        path = self._place.document(name)
        data = check_text(text, name).encode()
        with self._place.lock:
            self._recover()
            stored = self.read(name)  # even when nothing is expected, because corrupt data is not overwritten
            if expected not in (None, stored.revision if stored else ABSENT):
                if stored:
                    # The caller may have met its own earlier write, see append.
                    durable.sync(path, private=False)
                raise changed_between(name)
            self._replace(path, data, new=stored is None)
        return sha256(text)

    def append(self, name: str, block: str, header: str, block_id: str) -> str:
        path = self._place.document(name)
        check_block(name, block, header, block_id)
        with self._place.lock:
            self._recover()
            stored = self.read(name)
            before = stored.text if stored else ""
            if stored and block_id in block_ids(before):
                durable.sync(path, private=False)  # its writer may have been killed before the flush
                return stored.revision
            added = appended(before, block, header)
            if not before or is_shared(path):
                self._replace(path, (before + added).encode(), new=stored is None)
            else:
                self._extend(path, Intent(name, len(before.encode()), added.encode()))
        return sha256(before + added)

    def delete(self, name: str) -> None:
        path = self._place.document(name)
        with self._place.lock:
            self._recover()
            if not os.path.lexists(path):
                if os.path.isdir(os.path.dirname(path)):
                    durable.fsync_dir(os.path.dirname(path))  # so that "it is gone" is durable, too
                raise no_document(name)
            durable.remove(path)

    def names(self, prefix: str = "") -> list[str]:
        folder = prefix.rpartition("/")[0]
        documents = self._walk(folder, os.path.realpath(os.path.join(self._place.folder, folder)), frozenset())
        names = sorted(name for name in islice(documents, _MOST_DOCUMENTS) if name.startswith(prefix))
        if next(documents, None) is not None:
            raise Corrupt(
                f"{folder or os.path.basename(self._place.folder)!r} holds more than {_MOST_DOCUMENTS:,} documents.",
                next_step="Move the oldest ones to another place.",
            )
        return names

    def _walk(self, folder: str, real: str, above: frozenset[str]) -> Iterator[str]:
        """The documents in ``folder``, whose path without symbolic links is ``real``."""
        path = os.path.join(self._place.folder, folder)
        if real in above or not self._place.holds(real):
            return
        missing = contextlib.suppress(FileNotFoundError, NotADirectoryError)
        with durable.reporting(folder or self._place.folder, "list the folder"), missing, os.scandir(path) as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}" if folder else entry.name
                try:
                    self._place.check(name)
                except Refused:
                    continue
                if entry.is_dir():
                    inner = os.path.join(real, entry.name)
                    inner = os.path.realpath(inner) if entry.is_symlink() else inner
                    yield from self._walk(name, inner, above | {real})
                elif entry.is_file(follow_symlinks=False):
                    yield name

    def _replace(self, path: str, data: bytes, *, new: bool) -> None:
        if new:
            self._place.make_folder(os.path.dirname(path))
        durable.replace(path, data)

    def _extend(self, path: str, intent: Intent) -> None:
        intents.note(self._place.intent, intent)
        durable.append(path, intent.data, private=False)  # if it fails, the intent stays for the next writer
        durable.fsync_dir(os.path.dirname(path))  # a killed process's rename may not be durable yet
        with contextlib.suppress(Unavailable):  # the block is durable, and the next writer clears the finished intent
            intents.clear(self._place.intent)

    def _recover(self) -> None:
        """Finish or undo an append interrupted by a crash or a failed disk. The caller holds the lock."""
        if pending := intents.pending(self._place.intent):
            try:
                path = self._place.document(pending.name)
                body = read_bytes(path, pending.name)
            except (Refused, Corrupt):
                body = None  # it is no longer the file that the append was for
            if body is not None and pending.torn_in(body):
                durable.truncate(path, pending.offset, private=False)
            elif body is not None and body.startswith(pending.data, pending.offset):  # the append is complete
                # Its flush may have failed or been skipped. Flushing the same file again proves nothing.
                durable.replace(path, body)
            elif body is not None:
                durable.sync(path, private=False)  # its writer may have cut it back without a flush
        intents.clear(self._place.intent)


def _text(body: bytes, place: Place, name: str) -> str:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Corrupt(f"{place.shown(name)!r} is not UTF-8 text (byte {error.start}).", next_step=_REPAIR) from error
    if "\0" in text:
        raise Corrupt(f"{place.shown(name)!r} holds a NUL character (byte {body.index(0)}).", next_step=_REPAIR)
    return text


class FileBackend(_Documents):
    """Markdown documents and ``facts.jsonl`` in the folder ``path`` under ``root``. Nothing is made before a write.

    ``lock_timeout_s`` bounds how long a write waits for another process, in seconds.
    """

    name: ClassVar[str] = "file"
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.LOCAL_FILES})

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        path: str = ".holdfast",
        facts: str = "facts.jsonl",
        lock_timeout_s: float = 10.0,
    ) -> None:
        self._place = Place(root, path=path, facts=facts, timeout_s=lock_timeout_s)
        self._facts = FactFile(self._place)

    def facts(self, order: FactOrder = FactOrder.CREATED, limit: int | None = None) -> Iterator[models.Fact]:
        return self._facts.all(order, limit)

    def add_fact(self, fact: models.Fact, limit: int) -> models.AddResult:
        return self._facts.add(fact, limit)

    def _update(self, change: Update) -> models.Fact:
        return self._facts.update(change)

    def _remove(self, change: Remove) -> models.Fact:
        return self._facts.delete(change)

    def _batch(self) -> contextlib.AbstractContextManager[object]:
        return self._facts.batch()

    def check(self, *, thorough: bool = False) -> Condition:
        damage = repair.damage(self._place) if thorough else None
        return Condition(lost=repair.lost(self._place) if damage else self._facts.lost(), damage=damage)

    def repair(self) -> None:
        with self._place.lock:
            if repair.damage(self._place):
                repair.repair(self._place)
        self._facts.accept()

    def compact(self) -> None:
        if os.path.isdir(self._place.state):
            with self._place.lock:
                self._recover()
        self._facts.compact()

    def judge(self, is_known: Callable[[models.Fact], bool]) -> None:
        """Let a row whose fact is not known here neither replace nor evict one that is, nor take up its room."""
        self._facts.is_known = is_known

    def where(self, name: str = "") -> str:
        return self._place.shown(name)
