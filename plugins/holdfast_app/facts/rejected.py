"""Facts and statements removed on this machine.

``state/rejected`` has one line for each statement removed, purged or replaced, with a keyed digest and the time, never
the statement itself. Extractors, imports and dreams may not bring such a statement back. Stating it later lifts that.

``state/facts.log.jsonl`` has one line for each fact removed or overwritten, and why. A fact that a newer value replaced
keeps its content there (it passed the gate when it was stored). The content of evicted, overwritten and deleted facts
is lost.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from attrs import frozen

from holdfast.config.serde import moment, stamp
from holdfast.fs import durable, ownership_mark, private
from holdfast.storage import sha256_of
from holdfast.text.plain import same_key
from holdfast_app import durable_queue
from holdfast_app.base import Services
from holdfast_app.records import blocks
from holdfast_file import mark as marks

NAME: Final = "rejected"
REASON: Final = "it was removed or replaced here, and only `holdfast remember` brings it back"
_LIFTED: Final = "-"


def key_of(text: str) -> str:
    """A statement's key. It changes with the words, but not with case or surrounding whitespace."""
    return sha256_of(same_key(text).encode("utf-8", "surrogatepass"))[:24]


class Rejected:
    """One project's list, read when it is made. Raises: Unavailable, here and on every change."""

    def __init__(self, services: Services) -> None:
        self._path = services.private(NAME)
        self._secret = b""
        text = (private.read(self._path) or b"").decode("ascii", "replace")
        rows = (line.partition(" ") for line in text.split("\n"))
        self._stamps = {digest: time for digest, _, time in rows if digest}  # parsed when asked, since they are many

    def at(self, text: str) -> datetime | None:
        """When ``text`` was rejected; None when it was not."""
        return self._time(self._digest(key_of(text))) if self._stamps else None

    def has(self, text: str, said: datetime | None = None) -> bool:
        """Whether ``text``, stated at ``said``, was rejected later. Without a time, whether it was rejected."""
        at = self.at(text)
        return at is not None and (said is None or said <= at)

    def add(self, keys: Iterable[str], at: datetime, *, kept: bool = True) -> None:
        """Reject statements by :func:`key_of`, durably. Without ``kept``, for this object alone."""
        known = {digest: self._time(digest) for digest in map(self._digest, keys)}
        new = {digest: stamp(at.astimezone(UTC)) for digest, before in known.items() if before is None or before < at}
        self._stamps |= new
        if new and kept:
            self._append(map(" ".join, new.items()))

    def add_pulled(self, services: Services, *, kept: bool = True) -> None:
        """Reject the facts that others removed, unless one is stored again. A pull brings only their tombstones."""
        storage = services.config.storage
        if storage.backend != "file":
            return
        own = {event.id for event in FactTrail(services.state).entries()}
        facts = marks.removed(durable.StoreFolder(services.root, storage.path), storage.facts)
        new = services.store.known_facts(f for f in facts if f.id not in own and self.at(f.content) is None)
        stored = {key_of(fact.content) for fact in services.store.readable_facts()}
        self.add({key_of(fact.content) for fact in new} - stored, services.now(), kept=kept)

    def lift(self, text: str) -> None:
        """Accept a statement again, because it was stated anew."""
        if self.at(text) is not None:
            digest = self._digest(key_of(text))
            del self._stamps[digest]
            self._append([f"{digest} {_LIFTED}"])

    def blanked(self, text: str, day: datetime, reached: dict[str, datetime]) -> tuple[str, int]:
        """A note with the lines empty that state something rejected later, and how many they are. For ``day`` and
        ``reached`` see :func:`holdfast_app.records.blocks.in_order`."""
        count = 0
        for block, at in blocks.in_order(text, day, reached) if self._stamps else ():
            if gone := {f"- {label}: {item}" for _, label, item in block.lines if self.has(item, at)}:
                lines = block.text.split("\n")
                count += sum(line in gone for line in lines)
                text = text.replace(block.text, "\n".join("" if line in gone else line for line in lines), 1)
        return text, count

    def _time(self, digest: str) -> datetime | None:
        with suppress(ValueError):  # a crash truncated the line, or it was lifted
            return moment(self._stamps.get(digest, _LIFTED))
        return None

    def _digest(self, key: str) -> str:
        self._secret = self._secret or ownership_mark.secret(make=True)
        return ownership_mark.digest(key.encode("ascii"), size=16, key=self._secret)

    def _append(self, lines: Iterable[str]) -> None:
        durable_queue.log(self._path, lines, most_bytes=durable_queue.MAX_LOG_BYTES)


@frozen(kw_only=True)
class Departure:
    """``event`` is evicted, deleted, updated or replaced. ``by`` is the new fact's id, ``source`` the old one's."""

    at: datetime
    event: str
    id: str
    why: str
    by: str = ""
    category: str = ""
    confidence: float | None = None
    content: str | None = None
    source: str = ""


class FactTrail(durable_queue.Log[Departure]):
    """One project's trail."""

    def __init__(self, state: str) -> None:
        super().__init__(os.path.join(state, "facts.log.jsonl"), Departure)

    def restore(self, rows: Iterable[object]) -> int:
        """Add events of another copy of this trail, durably, except those that are here already. Unreadable rows are
        skipped. Returns how many were added. Raises: Unavailable."""
        known = set(self.entries())
        if new := [event for event in dict.fromkeys(self.entries(rows)) if event not in known]:
            self.add(*new)
        return len(new)
