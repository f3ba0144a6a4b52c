"""Step 4 of a flush: read back its content, here and elsewhere. The store's writes read back
themselves (:class:`holdfast.services.store.Store`). This compares published content, and an earlier flush's receipt.

Documents change after a flush for good reasons: another session writes the handoff, a dream consolidates MEMORY.md, a
correction replaces a line, retention and purges remove. None of that is a loss.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.config.serde import flushed_payload
from holdfast.errors import FlushRefused, HoldfastError, Refused
from holdfast.flush import curated, handoff, notes
from holdfast.fs import paths, private
from holdfast.models import CuratedEntry, Evidence, Payload, Receipt, Written
from holdfast.services.services import Services
from holdfast.storage import sha256_of
from holdfast.text.plain import same_key

#: Time limit in seconds for waiting items, at a flush with nothing new to publish.
FLUSH_LIMIT_S: Final = 5.0


class Proof(NamedTuple):
    """``whole`` is stored as it was written, ``lost`` is not."""

    whole: tuple[Written, ...] = ()
    lost: tuple[Written, ...] = ()

    def of(self, surface: str) -> Written | None:
        return next((w for w in self.whole if w.surface == surface), None)


def publish(services: Services, payload: Payload, receipt: Receipt) -> Receipt:
    """Call ``on_flush``; the receipt with the plugins' evidence. Published content must read back as it was published.
    Raises: FlushRefused, PluginError."""
    evidence = services.plugins.on_flush(payload, receipt)
    for item in evidence:
        paths.check_pointer(item.pointer, "evidence.pointer")
        if item.published.strip() != item.read_back.strip():
            raise FlushRefused(
                f"The content published at {item.pointer} reads back differently.",
                next_step="Look at it there, then flush again.",
                target=Surface.TRAIL,
            )
    warnings = (*receipt.warnings, *warnings_of(services, evidence))
    return evolve(receipt, evidence=evidence, pending=pending(services, evidence), warnings=warnings)


def pending(services: Services, evidence: Iterable[Evidence]) -> int:
    """The number of unpublished items, after another try: those in the outbox, which have no pointer yet, also of
    earlier flushes, and those that a plugin keeps itself. Raises: PluginNotFound when items wait and no installed
    package can send them."""
    waiting = services.outbox.send_due(limit_s=FLUSH_LIMIT_S) if services.waits(private.OUTBOX) else 0
    return waiting + sum(e.pending for e in evidence if e.pointer)


def warnings_of(services: Services, evidence: Iterable[Evidence]) -> tuple[str, ...]:
    published = (f"{e.target}: {e.note}" for e in evidence if e.note)
    return tuple(dict.fromkeys(paths.rewrite(text, services.root) for text in published))


def check(services: Services, receipt: Receipt, flushed: dict[str, Any] | None) -> Proof:
    """Compare ``receipt`` with the stored documents. ``flushed`` is the session's record of that flush; without it
    (an earlier holdfast kept none) curated lines are not looked for. Raises: Corrupt, Unavailable, PluginError."""
    whole: list[Written] = []
    lost: list[Written] = []
    for written in receipt.written:
        (whole if _is_whole(services, receipt, flushed, written) else lost).append(written)
    return Proof(whole=tuple(whole), lost=tuple(lost))


def _is_whole(services: Services, receipt: Receipt, flushed: dict[str, Any] | None, written: Written) -> bool:
    if receipt.summary == notes.PURGED:
        return True  # purged data must not come back
    document = services.store.read(written.name)
    if document is None:
        return services.is_expired(written.surface, receipt.at)
    if written.surface in (Surface.DAILY, Surface.TRAIL):
        return _has_block(document.text, receipt, flushed, written)
    payload = flushed_payload(flushed) if flushed is not None else None
    if written.surface == Surface.HANDOFF:
        return _has_entry(services, handoff.parse(document.text, written.name), receipt, payload)
    if written.surface in (Surface.MEMORY, Surface.USER) and payload is not None and payload.curated is not None:
        entries = payload.curated.memory if written.surface == Surface.MEMORY else payload.curated.user
        return not missing(services, written.surface, document.text, entries, receipt.at)
    return True


def _has_block(text: str, receipt: Receipt, flushed: dict[str, Any] | None, written: Written) -> bool:
    text = text.replace("\r\n", "\n")
    base = receipt.flush_id.partition("-")[0]  # a suffix counts the copies next to edited ones
    for match in re.finditer(rf"\n<!-- holdfast:block id={re.escape(base)}(-\d+)? -->\n", text):
        block = text[text.rfind("\n", 0, match.start()) + 1 :].encode("utf-8", "surrogatepass")[: written.size]
        if sha256_of(block) == written.sha256:
            return True
    if written.surface != Surface.DAILY or not receipt.summary:
        return False
    # A purge or a scrub changes note and receipt alike, but not the digest.
    again = notes.of_receipt(receipt, overrides=(flushed or {}).get("overrides", ()))
    return again.strip("\n") in text


def _has_entry(services: Services, entries: Sequence[handoff.Work], receipt: Receipt, payload: Payload | None) -> bool:
    mine = next((w for w in entries if w.session == receipt.session_id), None)
    if mine is None and handoff.is_full(entries):
        return True  # newer work took its place
    if payload is None:
        return mine is not None
    note = next((w.name for w in receipt.written if w.surface == Surface.DAILY), "")
    wanted = handoff.of(payload, session=receipt.session_id, flush=receipt.flush_id, note=note)
    if not wanted.is_open and mine is None:
        return True  # a closed marker goes when the next session writes
    name = services.layout.name(Surface.HANDOFF)
    try:
        text = services.gate.admit(handoff.render([wanted]), surface=Surface.HANDOFF, name=name)
        wanted = handoff.parse(text, name)[0]
    except Refused:
        pass  # then it was admitted only next to manually written text, so compare it as it is
    if mine is not None and any(handoff.same(mine, entry) for entry in (wanted, handoff.shortened(wanted))):
        return True
    decided = services.decided(receipt.session_id, receipt.flush_id)
    if decided is None:
        return False
    return not decided.is_open or (mine is not None and mine.is_open)  # it was closed or reopened by command since


def missing(
    services: Services, surface: str, text: str | None, entries: Sequence[CuratedEntry], at: datetime
) -> list[CuratedEntry]:
    """The entries decided at ``at`` that ``text`` does not hold, without those that a dream consolidated or a later
    decision replaced since. Raises: Unavailable, PluginError."""
    name = services.layout.name(Surface(surface))
    absent = []
    for entry in entries:
        try:
            new = services.gate.admit(curated.apply(text, [entry], surface), surface=surface, name=name, previous=text)
        except Refused:
            new = curated.apply(text, [entry], surface)
        if new != text:
            absent.append(entry)
    if not absent:
        return []
    texts = [curated.item(entry.text) for entry in absent]
    gone = _replaced(services, at) | set(map(same_key, services.let_go(surface, texts, at)))
    return [entry for entry, text in zip(absent, texts, strict=True) if same_key(text) not in gone]


def _replaced(services: Services, at: datetime) -> set[str]:
    """Keys of the lines that a later flush replaced, as its block says."""
    day = at.astimezone(services.config.tz).date()
    keys: set[str] = set()
    for name in services.store.names():
        if services.layout.surface_of(name) is not Surface.DAILY or name < services.layout.name(Surface.DAILY, day):
            continue
        try:
            document = services.store.read(name)
        except HoldfastError:
            continue  # only its replaced lines are unknown then, and an extra line is not a loss
        for line in (document.text if document else "").splitlines():
            _, instead, old = line.partition(" (instead of: ")
            if instead and line.startswith("- "):
                keys.add(same_key(curated.item(old.removesuffix(")"))))
    return keys
