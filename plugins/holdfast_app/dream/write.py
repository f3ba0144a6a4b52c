"""Writing, reviewing and undoing a dream: backup, diary, MEMORY.md by compare-and-swap, and the mark last.

A dream waits for review with ``[dream] apply = "propose"``. A user accepts or rejects it.
"""

import contextlib
import difflib
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC
from functools import partial
from itertools import zip_longest
from typing import Final

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.errors import Conflict, HoldfastError, PluginError, Refused
from holdfast.flush import curated, notes
from holdfast.fs import durable, paths, private
from holdfast.storage import ABSENT, Document, block_marker, sha256
from holdfast.text.plain import one_line, same_key
from holdfast_app.authorship import witness
from holdfast_app.base import Services
from holdfast_app.dream import confirmed, dreamlog, memorytext, when
from holdfast_app.dream.consolidate import Before, updated
from holdfast_app.dream.dreamlog import Backup, DreamResult, Gone, Proposal, Status
from holdfast_app.dream.when import Mark
from holdfast_app.facts.rejected import Rejected, key_of
from holdfast_app.records import archive, ownlines

#: Maximum wait for a dream before lines are taken out, in seconds, because a flush may be what takes them out.
_BUSY_S: Final = 1.0


def lock(services: Services, *, timeout_s: float = 10.0) -> durable.Lock:
    """The lock for dream, undo and review. Raises: Unavailable."""
    private.make(services.state)
    return durable.lock(services.private("dream.lock"), timeout_s=timeout_s)


def new_id() -> str:
    """The id for a run and its diary block."""
    return f"dream_{secrets.token_hex(6)}"


def admitted(services: Services, *strings: str) -> list[str]:
    """The strings as they may be shown and recorded. A notice replaces one that the gate refuses, or that it cannot
    check."""
    rewritten = paths.rewriter(services.root)
    try:
        return services.gate.admit_all(list(map(rewritten, strings)), surface=Surface.DIARY)
    except PluginError as error:  # its message was masked when it was made
        return [text and f"Withheld, because it cannot be checked: {rewritten(error.message)}" for text in strings]
    except HoldfastError:
        if len(strings) == 1:
            return ["Withheld, because it may not be stored."]
    half = len(strings) // 2
    return admitted(services, *strings[:half]) + admitted(services, *strings[half:])


def apply(services: Services, proposal: Proposal) -> DreamResult:
    """Write a checked result: backup, diary, MEMORY.md, mark. Source: reading A30.

    Raises: Conflict when MEMORY.md changed since the draft. The diary then records that it was not applied.
    """
    result, name = proposal.result, proposal.name
    stored = services.store.read(name)
    if (stored.revision if stored else ABSENT) != proposal.base:
        raise Conflict(
            f"{name} was edited since.", next_step="Dream again: `holdfast dream`, after a review with `--force`."
        )
    before = stored.text if stored else None
    changed = before != proposal.text
    if changed:
        result = _backed_up(services, result, name, before, proposal.text)
    page = services.layout.name(Surface.DIARY, result.at.date())
    _tell(services, page, result, lambda block_id: _rendered(result, block_id, proposal.diary))
    if result.archived:
        lines = [f"- {one_line(gone.text)} ({one_line(gone.reason)})" for gone in result.archived]
        block = partial(archive.block, at=result.at, about=_about(result), lines=lines)
        _tell(services, services.archive, result, block, archive.HEADER)
    result = evolve(result, diary=page, status=Status.DONE, reason="" if changed else "There was nothing to change.")
    if changed:
        try:
            services.store.replace(Surface.MEMORY, name, proposal.text, proposal.base)
        except HoldfastError as error:
            with contextlib.suppress(HoldfastError):
                why = f"MEMORY.md stayed as it was: {one_line(admitted(services, error.message)[0])}"
                _tell(
                    services, page, result, lambda block_id: _block(result, block_id, ownlines.NOT_APPLIED_TITLE, [why])
                )
            raise
    items = [item.text for item in memorytext.read(proposal.text).items]
    confirmed.save(services.state, updated(confirmed.load(services.state), items, proposal.said, services.now()))
    when.set_mark(services.state, Mark(digest=proposal.digest, at=services.now(), id=result.id))
    return evolve(result, next_step="`holdfast dream --undo` reverts it." if changed else "")


def _backed_up(
    services: Services, result: DreamResult, name: str, before: str | None, after: str, *, title: str = "dream"
) -> DreamResult:
    at, gate = result.at.astimezone(UTC), services.gate
    before = gate.outgoing(before, surface=Surface.MEMORY, name=name) if before else before
    backup = Backup(id=result.id, at=at, name=name, before=before, after=sha256(after), title=title)
    return evolve(result, backup=dreamlog.back_up(services.state, backup))


def undo(services: Services, *, force: bool = False, dry_run: bool = False) -> DreamResult:
    """Restore MEMORY.md from before the last change by a dream or an undo. Undoing an undo restores the dream.
    ``dry_run`` writes only the run's record.

    Raises: Refused when there is none, or MEMORY.md was edited since and not ``force``; Conflict; Corrupt; Unavailable.
    """
    with lock(services):
        now = services.now()
        stored = services.store.read(services.layout.name(Surface.MEMORY))
        current = stored.text if stored else ""
        backup = _undoable(services, current, force=force)
        text = backup.before if backup.before is not None else memorytext.TITLE + "\n"
        text = services.gate.outgoing(text, surface=Surface.MEMORY, name=backup.name)
        done = backup.at.astimezone(services.config.tz)
        result = DreamResult(
            id=new_id(),
            at=now,
            status=Status.UNDONE,
            reason=ownlines.line(ownlines.UNDO, backup.title, f"{done:%Y-%m-%d}", f"{done:%H:%M}"),
            next_step="`holdfast dream --undo` restores it.",
            diary=services.layout.name(Surface.DIARY, now.date()),
            diff="".join(diff(current, text, backup.name)),
        )
        if dry_run:
            reason = f"The {backup.title} of {done:%Y-%m-%d %H:%M} would be undone. Nothing was written."
            result = evolve(result, status=Status.PROPOSED, dry_run=True, reason=reason, next_step="", diary="")
            dreamlog.record(services.state, result)
            return result
        rejected = Rejected(services)
        for item in memorytext.read(text).items:
            rejected.lift(item.text)  # it may have been taken out
        return _put(services, result, backup.name, stored, text, title="undo", heading=ownlines.UNDONE_TITLE)


def take_out(services: Services, statements: Sequence[str]) -> None:
    """Remove the lines of MEMORY.md that say one of ``statements``, so that :func:`undo` restores them. The diary
    counts them, without their text. Raises: Conflict; Corrupt; Refused; Unavailable."""
    keys, name = {same_key(text) for text in statements}, services.layout.name(Surface.MEMORY)
    with lock(services, timeout_s=_BUSY_S):
        stored, now = services.store.read(name), services.now()
        gone = [line for line in curated.bullets(stored.text if stored else "") if same_key(line) in keys]
        if stored is not None and gone:
            text = curated.without(stored.text, gone)
            result = DreamResult(
                id=new_id(),
                at=now,
                status=Status.DONE,
                reason=ownlines.line(ownlines.TAKEN_OUT, str(len(gone))),
                next_step="`holdfast dream --undo` restores them.",
                dropped=[Gone(text=line, reason="removed or replaced") for line in gone],
                diary=services.layout.name(Surface.DIARY, now.date()),
                diff="".join(diff(stored.text, text, name)),
            )
            _put(services, result, name, stored, text, title="removal", heading=ownlines.TAKEN_OUT_TITLE)


def _put(
    services: Services, result: DreamResult, name: str, stored: Document | None, text: str, *, title: str, heading: str
) -> DreamResult:
    """Replace MEMORY.md outside of a dream, with a backup, a diary block and a record."""
    result = _backed_up(services, result, name, stored.text if stored else None, text, title=title)
    lines = [one_line(result.reason)]
    _tell(services, result.diary, result, lambda block_id: _block(result, block_id, heading, lines))
    # Without a record, the next dream does not take the lines that leave for ones that a person removed.
    there = {key_of(item.text) for item in memorytext.read(text).items}
    record = confirmed.load(services.state)
    confirmed.save(services.state, {key: entry for key, entry in record.items() if key in there})
    services.store.replace(Surface.MEMORY, name, text, stored.revision if stored else ABSENT)
    dreamlog.record(services.state, result)
    return result


def _undoable(services: Services, current: str, *, force: bool) -> Backup:
    """The newest backup from before a change that led to the ``current`` text; with ``force`` the newest of all.

    Backups decide, not the log, so a dream killed right after its write can be undone. Raises: Refused.
    """
    backups = dreamlog.backups(services.state)
    digest = sha256(current)
    backup = next((b for b in reversed(backups) if b.after == digest), None)
    if backup is None and not backups:
        raise Refused("No dream can be undone.", next_step="`holdfast dream --log` lists the runs.")
    if backup is None and not force:
        raise Refused(
            f"{backups[-1].name} was edited since the last {backups[-1].title}, and that would be lost.",
            next_step="To undo anyway, run `holdfast dream --undo --force`. The current text is kept as a backup.",
        )
    return backup or backups[-1]


def waiting(services: Services) -> Proposal:
    """The waiting dream. Raises: Refused when there is none; Corrupt; Unavailable."""
    proposal = dreamlog.proposal(services.state)
    if proposal is None:
        raise Refused("No dream waits for review.", next_step="`holdfast dream` makes one when it is due.")
    return proposal


def accept(services: Services) -> DreamResult:
    """Write the waiting dream: backup, diary, MEMORY.md, mark. It passes the gate again.

    Raises: Refused; Conflict when MEMORY.md was edited since it was proposed; PluginError; Corrupt; Unavailable.
    """
    with lock(services):
        dream = waiting(services)
        stored = services.store.read(dream.name)
        previous = stored.text if stored else None
        there = Before(item.text for item in memorytext.read(previous or "", prose_is_item=True).items)
        new = [item.text for item in memorytext.read(dream.text).items if not there.has(item.text)]
        witness.check(services, new, dream.name)
        text = services.gate.admit(dream.text, surface=Surface.MEMORY, name=dream.name, previous=previous)
        base = dream.base
        if stored is not None and stored.text == text:  # an earlier process wrote it and then died
            base = stored.revision
        result = evolve(dream.result, at=services.now(), reason="", next_step="")
        return _reviewed(services, apply(services, evolve(dream, result=result, text=text, base=base)))


def reject(services: Services) -> DreamResult:
    """Reject the dream. The same notes are not dreamt of again. Raises: Refused; Corrupt; Unavailable."""
    with lock(services):
        dream = waiting(services)
        now = services.now()
        result = evolve(dream.result, status=Status.REJECTED, at=now, reason="It was rejected in review.", next_step="")
        when.set_mark(services.state, Mark(digest=dream.digest, at=now, id=result.id))
        return _reviewed(services, result)


def _reviewed(services: Services, result: DreamResult) -> DreamResult:
    dreamlog.record(services.state, result)
    dreamlog.clear_inbox(services.state)
    return result


def _tell(
    services: Services, page: str, result: DreamResult, block: Callable[[str], str], header: str | None = None
) -> None:
    """Append a block to the diary. ``block`` builds it from its id (the run's, numbered from the second block on)."""
    stored = services.store.read(page)
    block_id, number = result.id, 1
    while stored is not None and block_marker(block_id) in stored.text:
        number += 1
        block_id = f"{result.id}-{number}"
    text = services.gate.admit(block(block_id), surface=Surface.DIARY, name=page)
    header = header or ownlines.line(ownlines.DIARY_HEADER, result.at.date().isoformat()) + "\n"
    services.store.append(Surface.DIARY, page, text, header, block_id)


def diff(old: str, new: str, name: str) -> Iterator[str]:
    return difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), name, name, n=2)


# --- the diary: one document per day, and one block per dream that changed or proposed something


def _rendered(result: DreamResult, block_id: str, account: str) -> str:
    """One block. A blank line, the dreamer's account, then the counts from core, each part with its lines.

    Without ``told`` the counts are the account. Source: reading A28.
    """
    # A quotation cannot forge a heading, a part or a holdfast marker.
    quoted = [f"> {line}".rstrip() for line in account.strip().replace("<!--", "&lt;!--").splitlines()]
    number = len(result.kept)
    stays = [ownlines.ONE_STAYS if number == 1 else ownlines.line(ownlines.ITEMS_STAY, str(number))] if number else []
    added = ((line.text, line.sources[:1]) for line in result.lines if not line.kept)  # the record lists all sources
    return _block(
        result,
        block_id,
        ownlines.DREAM_TITLE,
        [
            "\n".join(quoted) if quoted else _counts(result),
            _part(ownlines.READ, [*result.read, *(ownlines.line(ownlines.NOT_READ, name) for name in result.left_out)]),
            _part(ownlines.KEPT, stays),
            _part(ownlines.ADDED, (" ".join([text, *(f"[{source}]" for source in best)]) for text, best in added)),
            _part(ownlines.JUDGED, _reasons(result.judged)),
            _part(ownlines.FROM_NOTES, _reasons(result.quoted)),
            _part(ownlines.MERGED, _reasons(result.merged)),
            _part(ownlines.REPLACED, _reasons(result.replaced), (gone.said for gone in result.replaced)),
            _part(ownlines.ARCHIVED, _reasons(result.archived)),
            _part(ownlines.DROPPED, _reasons(result.dropped)),
            _part(ownlines.REFUSED, _reasons(result.refused)),
            _part(ownlines.WARNINGS, result.warnings),
        ],
    )


def _reasons(lines: Iterable[Gone]) -> Iterable[str]:
    return (f"{gone.text} ({gone.reason})" for gone in lines)


def _counts(result: DreamResult) -> str:
    """The dream's counts."""
    parts = [f"{len(result.kept)} kept", f"{len(result.added)} added", f"{len(result.merged)} merged"]
    parts += [f"{len(result.dropped)} dropped", f"{len(result.refused)} refused"]
    moved = ((result.replaced, "replaced"), (result.archived, "archived"))
    parts += [f"{len(gone)} {what}" for gone, what in moved if gone]
    return ownlines.line(ownlines.COUNTS, ", ".join(parts))


def _block(result: DreamResult, block_id: str, title: str, parts: list[str]) -> str:
    return notes.block(title, block_id, result.at, _about(result), "", "\n\n".join(filter(None, parts)))


def _about(result: DreamResult) -> str:
    return f" plugin={notes.comment(result.plugin or 'none')}"


def _part(title: str, lines: Iterable[str], days: Iterable[str] = ()) -> str:
    """``lines`` as a list under a title, with the days on which they were last ``said``, where known."""
    pairs = zip_longest(map(one_line, lines), days, fillvalue="")
    items = [f"- {line}\n  {ownlines.line(ownlines.LAST_SAID, day)}" if day else f"- {line}" for line, day in pairs]
    return "\n".join([ownlines.line(ownlines.PART, title), "", *items]) if items else ""
