"""An application's store: facts recorded as written here, and passages withheld from agents."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from holdfast.errors import Corrupt
from holdfast.fs import durable, private
from holdfast.services import provenance, store
from holdfast.services.provenance import Withheld
from holdfast.storage import Add, Change, Remove, Update, get_fact, update_fact, updated

if TYPE_CHECKING:
    from holdfast.models import AddResult, Fact


#: Documents with nothing withheld, each with its file's status.
_CLEAN: Final = "clean.json"
#: Documents with something withheld after which one that was not made here counts unread.
_MOST_READ: Final = 1_000


class Trusting(provenance.Provenance):
    """Withholds no passage and no fact."""

    def record_facts(self, facts: Iterable[Fact]) -> None:
        """Record facts that this machine is about to store."""

    def stored(self) -> list[str]:
        """The documents created here, read back and not deleted by a call, sorted."""
        return []

    def withheld_facts(self, facts: Iterable[Fact]) -> list[Fact]:
        """Those of ``facts`` that are withheld from agents."""
        return []

    def accept(self, documents: Mapping[str, Iterable[Withheld]], facts: Iterable[Fact]) -> None:
        """Record passages and facts that the user has seen."""

    @property
    def stamp(self) -> str:
        """Changes when a withheld passage may be shown, or the reverse."""
        return ""

    def file_stamp(self, name: str) -> str:
        """Changes with the document's file and with :attr:`stamp`. Empty where documents are not files."""
        return ""


class Store(store.Store):
    """Documents as in the kernel's, and facts."""

    provenance: Trusting

    def is_withheld(self, name: str) -> bool:
        """Whether the document exists and agents may have nothing of it, as of a damaged one. Raises: Unavailable."""
        try:
            document = self.read(name) if self.provenance.withholds else None
        except Corrupt:
            return True
        if document is None:
            return False
        sifted = self.sifted(document)
        return bool(sifted.withheld) and not sifted.text.strip("+\n")

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
        known, now, found = private.table(path), {}, dict[str, int]()
        own = set(self.provenance.stored())
        for name in self.names():
            stamp = self.provenance.file_stamp(name)
            if not stamp or known.get(name) != stamp:
                number = 1
                with suppress(Corrupt):
                    number = self.withheld_in(name) if name in own or len(found) < _MOST_READ else 1
                if number:
                    found[name] = number
            if stamp and name not in found:
                now[name] = stamp
        if remember and now != known:
            private.make(self.state, private.DERIVED)
            durable.replace(path, json.dumps(now).encode(), flush=False)
        return found

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
