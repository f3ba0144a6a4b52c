"""Several documents changed in one step, for a backend on a server.

A flush writes up to six documents. One by one, each costs three round trips: read, write, read back. Here one reads
all of them, and another writes them in one transaction and reads them back.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from typing import NamedTuple

from holdfast.errors import Conflict
from holdfast.models import Fact, Written
from holdfast.services.store import Store, silent, tries
from holdfast.storage import ABSENT, Append, Document, Write, check_name


class Step(NamedTuple):
    """A collected append, or a collected ``change`` with the ``text`` that it makes of the stored one."""

    surface: str
    name: str
    append: Append | None = None
    change: Callable[[str | None], str] | None = None
    text: str = ""


class Transaction:
    """Collects appends and changes until :meth:`commit`, at most one of each document. Reads show what is stored.

    Used by one thread, once. The backend has :attr:`~holdfast.storage.Capability.TRANSACTIONS`. ``names`` are read at
    once. Raises: Corrupt, Unavailable.
    """

    def __init__(self, store: Store, names: Iterable[str]) -> None:
        self._store = store
        self._stored = dict(store.fetch(names).documents)
        #: All stored facts after :meth:`commit`; None when it did not read them.
        self.facts: list[Fact] | None = None

    def read(self, name: str) -> Document | None:
        """The stored document, read once. Raises: Corrupt, Unavailable."""
        if name not in self._stored:
            self._stored.update(self._store.fetch([name]).documents)
        return self._stored[name]

    def append(self, surface: str, name: str, block: str, header: str, block_id: str) -> Step:
        change = Append(name=check_name(name), block=block, header=header, block_id=block_id)
        return Step(surface=surface, name=name, append=change)

    def change(self, surface: str, name: str, change: Callable[[str | None], str]) -> Step:
        return self._changed(Step(surface=surface, name=name, change=change))

    def _changed(self, step: Step) -> Step:
        stored = self.read(step.name)
        return step._replace(text=step.change(stored.text if stored else None)) if step.change else step

    def commit(self, parts: Sequence[Written | Step], *, listing: bool = False) -> list[Written]:
        """Make the collected changes. Returns ``parts`` with the collected ones as they are stored now. With
        ``listing``, :attr:`facts` are all stored facts after it, read in the same round trip.

        Raises: Conflict after half a minute of conflicts with writers elsewhere; Unavailable when a stored text differs
        from the text written; errors of the backend and of the collected changes.
        """
        steps = [part for part in parts if isinstance(part, Step)]
        changed = sorted({step.name for step in steps if step.change})
        if not steps:
            return [part for part in parts if isinstance(part, Written)]
        with ExitStack() as turns:
            for name in changed:  # in the same order everywhere, so that no two processes wait for each other
                turns.enter_context(self._store.turn(name))
            for attempt in tries(", ".join(changed)):
                if attempt:
                    self._stored.update(self._store.fetch(changed).documents)
                    steps = list(map(self._changed, steps))
                with suppress(Conflict):
                    after = self._store.backend.commit(list(map(self._as_change, steps)), listing=listing)
                    break
        self._stored.update(after.documents)
        self.facts = after.facts if listing else None
        proofs = iter(list(map(self._proved, steps)))
        return [next(proofs) if isinstance(part, Step) else part for part in parts]

    def _as_change(self, step: Step) -> Append | Write:
        if step.append:
            return step.append
        stored = self._stored[step.name]
        return Write(name=step.name, text=step.text, expected=stored.revision if stored else ABSENT)

    def _proved(self, step: Step) -> Written:
        """The proof, from the document as read back. Raises: Unavailable."""
        stored = self._stored[step.name]
        wanted = step.append.block.strip("\n") if step.append else step.text
        if stored is None or (step.append and wanted not in stored.text):
            raise silent(step.name)
        if step.change and stored.text != wanted:  # another process wrote right after: make sure that ours is in it
            return self._store.change(step.surface, step.name, step.change)
        return self._store.proved(step.surface, stored, wanted)
