"""An application's store: facts recorded as written here, and passages withheld from agents."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from holdfast.config.layout import Layout
from holdfast.errors import Corrupt
from holdfast.fs import durable, private
from holdfast.services import store
from holdfast.storage import (
    ABSENT,
    Add,
    Change,
    Document,
    Remove,
    StorageBackend,
    Update,
    appended,
    check_name,
    get_fact,
    update_fact,
    updated,
)

if TYPE_CHECKING:
    from holdfast.models import AddResult, Fact, Written
    from holdfast_app.trust.passages import Passage


#: Documents with nothing withheld, each with its file's status.
_CLEAN: Final = "clean.json"
#: Documents with something withheld after which one that was not made here counts unread.
_MOST_READ: Final = 1_000


class Sifted(NamedTuple):
    """A document's text for agents. Withheld passages became blank, so that line numbers stay."""

    text: str
    withheld: tuple[Passage, ...]


class Trusting:
    """Withholds no passage and no fact. All methods raise Unavailable when the records cannot be read or written."""

    #: Whether anything may be withheld. If not, nothing needs to be read for :meth:`record`.
    withholds: ClassVar[bool] = False

    def begin(self, documents: Iterable[tuple[str, str]], facts: Iterable[Fact]) -> None:
        """Record, once, the project's content from before this machine's first write."""

    def record(self, name: str, before: str, after: str) -> None:
        """Record the passages that a write of this machine is about to add."""

    def settle(self) -> None:
        """Make the records durable, before a flush counts as such."""

    def confirm(self, name: str, text: str) -> None:
        """Record that a document was read back after a write."""

    def delete(self, name: str) -> None:
        """Record durably that a call is about to delete the document."""

    def sift(self, name: str, text: str) -> Sifted:
        """The document's text without passages that are withheld from agents."""
        return Sifted(text, ())

    def record_facts(self, facts: Iterable[Fact]) -> None:
        """Record facts that this machine is about to store."""

    def stored(self) -> list[str]:
        """The documents created here, read back and not deleted by a call, sorted."""
        return []

    def withheld_facts(self, facts: Iterable[Fact]) -> list[Fact]:
        """Those of ``facts`` that are withheld from agents."""
        return []

    def accept(self, documents: Mapping[str, Iterable[Passage]], facts: Iterable[Fact]) -> None:
        """Record passages and facts that the user has seen."""

    @property
    def stamp(self) -> str:
        """Changes when a withheld passage may be shown, or the reverse."""
        return ""

    def file_stamp(self, name: str) -> str:
        """Changes with the document's file and with :attr:`stamp`. Empty where documents are not files."""
        return ""


class Store(store.Store):
    """Documents as in the kernel's, and facts. ``provenance`` records its writes."""

    def __init__(self, backend: StorageBackend, layout: Layout, state: str, provenance: Trusting) -> None:
        super().__init__(backend, layout, state)
        self.provenance = provenance

    def begin(self) -> None:
        """Record, once, the project's content from before this machine's first write. Until then only this machine's
        writes count as written here. Raises: Unavailable."""
        self.provenance.begin(self.documents(), self.readable_facts())

    def sifted(self, document: Document) -> Sifted:
        """The document's text without the passages that are withheld from agents. Raises: Unavailable."""
        return self.provenance.sift(document.name, document.text)

    def for_agents(self, document: Document) -> str:
        return self.sifted(document).text

    def record(self, name: str, before: str, after: str) -> None:
        self.provenance.record(name, before, after)

    def settle(self) -> None:
        self.provenance.settle()

    def documents(self) -> Iterator[tuple[str, str]]:
        """Names and content of readable documents, one at a time."""
        for name in self.names():
            try:
                document = self.backend.read(name)
            except Corrupt:
                continue
            if document is not None:
                yield name, document.text

    def readable_facts(self) -> Iterator[Fact]:
        """The facts up to a damaged one, and the other intact ones where the backend can read them."""
        try:
            yield from self.backend.facts()
        except Corrupt as error:
            yield from error.intact

    def append(self, surface: str, name: str, block: str, header: str, block_id: str) -> Written:
        if self.provenance.withholds:
            before = self.read(name)
            text = before.text if before else ""
            # A killed flush's block is this machine's, too, even if a power cut took its record.
            self.record(name, text.replace(block.strip("\n"), ""), text + appended(text, block, header))
        return super().append(surface, name, block, header, block_id)

    def proved(self, surface: str, document: Document, text: str) -> Written:
        self.provenance.confirm(document.name, document.text)
        return super().proved(surface, document, text)

    def replace(self, surface: str, name: str, text: str, expected: str) -> Written:
        """Write a document if ``expected`` is still its revision (:data:`~holdfast.storage.ABSENT`: none), and read it
        back. Raises: Conflict when another process wrote; Unavailable when the stored text differs from the text
        written."""
        check_name(name)
        before = self.backend.read(name) if expected != ABSENT else None
        return self._replace(surface, name, text, before, expected)

    def delete(self, name: str) -> None:
        """Delete a document deliberately, so it does not count as missing. Raises: NotFound; Unavailable."""
        self.provenance.delete(check_name(name))
        self.backend.delete(check_name(name))

    def is_withheld(self, name: str) -> bool:
        """Whether the document exists and agents may have nothing of it, as of a damaged one. Raises: Unavailable."""
        with suppress(Corrupt):
            document = self.read(name) if self.provenance.withholds else None
            text, withheld = self.sifted(document) if document else ("", ())
            return bool(withheld) and not text.strip("+\n")
        return True

    def withheld_in(self, name: str) -> int:
        """The number of passages withheld from agents. Raises: Corrupt, Unavailable."""
        document = self.read(name) if self.provenance.withholds else None
        return len(self.sifted(document).withheld) if document else 0

    def known_facts(self, facts: Iterable[Fact]) -> list[Fact]:
        """Those of ``facts`` that agents may have, in their order. Raises: Unavailable."""
        listed = list(facts)
        # By identity, because a waiting change has the id of the fact that it changes.
        hidden = set(map(id, self.provenance.withheld_facts(listed)))
        return [fact for fact in listed if id(fact) not in hidden] if hidden else listed

    def withheld_facts(self) -> list[Fact]:
        """The stored facts that are withheld from agents, up to a damaged one. Raises: Unavailable."""
        if not self.provenance.withholds:
            return []
        return self.provenance.withheld_facts(self.readable_facts())

    def withheld(self, *, remember: bool = False) -> dict[str, int]:
        """The documents with passages that are withheld from agents, and how many. Reads only files that changed
        since the last call with ``remember``; a store that is not in files, whole. A damaged document counts as one
        passage, like a further one after a thousand. Raises: Unavailable."""
        if not self.provenance.withholds:
            return {}
        path = os.path.join(self.state, private.DERIVED, _CLEAN)
        known, now, counts = private.table(path), {}, dict[str, int]()
        own = set(self.provenance.stored())
        for name in self.names():
            stamp = self.provenance.file_stamp(name)
            if not stamp or known.get(name) != stamp:
                number = 1
                with suppress(Corrupt):
                    number = self.withheld_in(name) if name in own or len(counts) < _MOST_READ else 1
                if number:
                    counts[name] = number
            if stamp and name not in counts:
                now[name] = stamp
        if remember and now != known:
            private.make(self.state, private.DERIVED)
            durable.replace(path, json.dumps(now).encode(), flush=False)
        return counts

    def add_facts(
        self, facts: Sequence[Fact], limit: int, older: Sequence[Sequence[Fact]]
    ) -> tuple[list[AddResult | None], list[Fact]]:
        """:meth:`StorageBackend.add_fact` for each, recorded as written here, and delete the facts ``older`` that it
        replaces, all in one step where the backend can. They make room, so no other fact is evicted for it. The result
        is None for a fact whose id is taken. Also returns the older facts that stayed, because they are gone or have
        another source by now. Raises the same errors."""
        self.provenance.record_facts(facts)
        changes: list[Change] = []
        for fact, leaving in zip(facts, older, strict=True):
            changes += [Add(fact, limit + len(leaving)), *(Remove(old.id, old.source) for old in leaving)]
        made = self.backend.commit(changes)
        for fact, result in zip(facts, made.added, strict=True):
            if result is None or result.duplicate_of is None:
                continue
            twin = get_fact(self.backend, result.duplicate_of)
            if not self.known_facts([twin]):  # it was said here too, so what a pull brought must not hide it
                self.update_fact(twin.id, is_own=True, content=fact.content, category=fact.category, source=fact.source)
        gone = zip((old for leaving in older for old in leaving), made.removed, strict=True)
        return made.added, [old for old, removed in gone if removed is None]

    def update_fact(self, fact_id: str, *, is_own: bool = False, **changed: Any) -> Fact:
        """:func:`holdfast.storage.update_fact`. A fact that is withheld stays so, unless ``is_own``: the user states
        its new content. Raises the same errors."""
        old = get_fact(self.backend, fact_id)
        is_own = is_own or bool(self.known_facts([old]))
        if is_own:  # before the store has it, so that no other process takes it for a stranger's
            self.provenance.record_facts([updated(old, Update(fact_id, **changed))])
        return update_fact(self.backend, fact_id, **changed)

    def record_all(self, provenance: Trusting) -> None:
        """Record everything stored as written here, for a store that leaves a server. Raises: Corrupt, Unavailable."""
        for name, text in self.documents():
            provenance.record(name, "", text)
        provenance.record_facts(self.readable_facts())
