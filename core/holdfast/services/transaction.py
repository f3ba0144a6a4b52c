"""Several documents changed in one step, for a backend on a server.

A flush writes up to six documents. One by one, each costs three round trips: read, write, read back. Here one reads
all of them, and another writes them in one transaction and reads them back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack

from attrs import frozen

from holdfast.errors import Conflict
from holdfast.models import Fact, Written
from holdfast.services.store import PATIENCE_S, TRIES, Store, conflicting, pause, proof_of, silent
from holdfast.storage import ABSENT, Append, Document, Write, appended, block_marker, check_name

#: Revision of documents not written yet. No backend's revision has a space.
_COMING = "not written yet"


@frozen(kw_only=True)
class _Step:
    """A collected append, or a collected change with the text that it makes. ``answer`` has no revision yet."""

    surface: str
    name: str
    append: Append | None = None
    change: Callable[[str | None], str] | None = None
    answer: Written


class Transaction(Store):
    """A :class:`Store` that collects appends and changes until :meth:`commit`. Reads see collected changes.

    Used by one thread, once. The backend has :attr:`~holdfast.storage.Capability.TRANSACTIONS`."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.backend, store.layout, store.state, store.provenance)
        self._stored: dict[str, Document | None] = {}
        self._coming: dict[str, str] = {}
        self._unread: set[str] = set()
        self._steps: list[_Step] = []
        self._answers: dict[Written, Written] = {}
        self._listing = False
        self.facts: list[Fact] | None = None

    def prefetch(self, names: Iterable[str]) -> None:
        """Read the documents that were not read yet, in one round trip. Raises: Corrupt, Unavailable."""
        new = [name for name in names if name not in self._stored]
        if new:
            self._stored.update(self.fetch(new).documents)

    def read(self, name: str) -> Document | None:
        if name in self._unread:
            self._settle()
        self.prefetch([name])
        if name in self._coming:
            return Document(name=name, text=self._coming[name], revision=_COMING)
        return self._stored[name]

    def append(self, surface: str, name: str, block: str, header: str, block_id: str) -> Written:
        if block_marker(block_id) not in block:
            raise ValueError("the block does not hold its own marker")
        check_name(name)
        if name in self._stored or name in self._coming:
            stored = self.read(name)
            text = stored.text if stored else ""
            if block_marker(block_id) not in text:
                text += appended(text, block, header)
            self._coming[name] = text
        else:
            self._unread.add(name)  # appending needs no reading, so it costs none
        change = Append(name=name, block=block, header=header, block_id=block_id)
        return self._collected(surface, name, block.strip("\n"), append=change)

    def change(self, surface: str, name: str, change: Callable[[str | None], str]) -> Written:
        if name in self._coming or name in self._unread:
            self._settle()  # the revision to compare with is known only when it is written
        stored = self.read(check_name(name))
        text = self._coming[name] = change(stored.text if stored else None)
        return self._collected(surface, name, text, change=change)

    def commit(self, answers: Sequence[Written], *, listing: bool = False) -> list[Written]:
        """Write the collected changes. Returns ``answers`` with the collected ones as they are stored now. With
        ``listing``, :attr:`facts` are all stored facts after it, read in the same round trip.

        Raises: Conflict after half a minute of conflicts with writers elsewhere; Unavailable when a stored text differs
        from the text written; errors of the backend and of the collected changes.
        """
        self._listing = listing
        self._settle()
        return [self._answers.get(one, one) for one in answers]

    def _apply(self, changes: Sequence[Append | Write]) -> Mapping[str, Document | None]:
        after = self.backend.commit(changes, listing=self._listing)
        self.facts = after.facts if self._listing else None
        return after.documents

    def _collected(
        self,
        surface: str,
        name: str,
        proof: str,
        *,
        append: Append | None = None,
        change: Callable[[str | None], str] | None = None,
    ) -> Written:
        answer = proof_of(surface, Document(name=name, text=proof, revision=_COMING), proof)
        self._steps.append(_Step(surface=surface, name=name, append=append, change=change, answer=answer))
        return answer

    def _settle(self) -> None:
        steps, self._steps = self._steps, []
        changed = sorted({step.name for step in steps if step.change})
        with ExitStack() as turns:
            for name in changed:  # in the same order everywhere, so that no two processes wait for each other
                turns.enter_context(self.turn(name))
            coming = dict(self._coming)
            attempt, until = 0, time.monotonic() + PATIENCE_S
            while steps:
                attempt += 1
                try:
                    self._stored.update(self._apply([self._as_change(step, coming) for step in steps]))
                    break
                except Conflict:
                    if attempt >= TRIES and time.monotonic() >= until:
                        raise conflicting(", ".join(changed), attempt) from None
                pause(attempt)
                self._stored.update(self.fetch(changed).documents)
                for step in steps:
                    if step.change:
                        stored = self._stored[step.name]
                        coming[step.name] = step.change(stored.text if stored else None)
        self._coming.clear()
        self._unread.clear()
        for step in steps:
            self._answers[step.answer] = self._proved(step, coming.get(step.name, ""))

    def _as_change(self, step: _Step, coming: dict[str, str]) -> Append | Write:
        if step.append:
            return step.append
        stored = self._stored[step.name]
        return Write(name=step.name, text=coming[step.name], expected=stored.revision if stored else ABSENT)

    def _proved(self, step: _Step, text: str) -> Written:
        """The answer, from the document as read back. Raises: Unavailable."""
        stored = self._stored[step.name]
        if step.append:
            block = step.append.block.strip("\n")
            if stored is None or block not in stored.text:
                raise silent(step.name)
            self.provenance.confirm(stored.name, stored.text)
            return proof_of(step.surface, stored, block)
        if stored is None:
            raise silent(step.name)
        if stored.text != text and step.change:  # another process wrote right after: make sure that ours is in it
            return super().change(step.surface, step.name, step.change)
        self.provenance.confirm(stored.name, stored.text)
        return proof_of(step.surface, stored, text)
