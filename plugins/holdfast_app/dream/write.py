"""Writing and undoing a dream: backup, diary, MEMORY.md by compare-and-swap, and the mark last."""

from __future__ import annotations

import contextlib
import difflib
import secrets
from collections.abc import Callable, Iterator
from datetime import UTC
from functools import partial
from typing import TYPE_CHECKING

from attrs import evolve

from holdfast.config.layout import ARCHIVE, Surface
from holdfast.errors import Conflict, HoldfastError, PluginError, Refused
from holdfast.fs import durable, paths, private
from holdfast.storage import ABSENT, block_marker, sha256
from holdfast.text import ownlines
from holdfast.text.lazy import log
from holdfast_app.dream import confirmed, diary, dreamlog, memorytext, state_files, when
from holdfast_app.dream.consolidate import updated
from holdfast_app.dream.dreamlog import DreamResult, Status
from holdfast_app.dream.state_files import Backup, Proposal
from holdfast_app.dream.when import Mark
from holdfast_app.facts.rejected import key_of

if TYPE_CHECKING:
    from holdfast_app.base import Services

logger = log("holdfast.dream")


def lock(services: Services, *, timeout_s: float = 10.0) -> durable.Lock:
    """The lock for dream, undo and review. Raises: Unavailable."""
    private.make(services.state)
    return durable.lock(services.private("dream.lock"), timeout_s=timeout_s)


def new_id() -> str:
    """The id for a run and its diary block."""
    return f"dream_{secrets.token_hex(6)}"


def admitted(services: Services, text: str) -> str:
    """``text`` as it may be shown and recorded. If the gate refuses it or is broken, a notice replaces it."""
    if not text:
        return ""
    try:
        return services.gate.admit(paths.rewrite(text, services.root), surface=Surface.DIARY)
    except PluginError as error:  # its message was masked when it was made
        return f"Withheld, because it cannot be checked: {paths.rewrite(error.message, services.root)}"
    except HoldfastError:
        return "Withheld, because it may not be stored."


def admitted_all(services: Services, strings: list[str]) -> list[str]:
    """:func:`admitted` for many strings, with few calls to the validators."""
    rewritten = list(map(paths.rewriter(services.root), strings))
    if all(rewritten):
        with contextlib.suppress(HoldfastError):
            return services.gate.admit_all(rewritten, surface=Surface.DIARY)
    return [admitted(services, text) for text in strings]


def apply(services: Services, proposal: Proposal) -> DreamResult:
    """Write a checked result: backup, diary, MEMORY.md, mark. Source: reading A30.

    Raises: Conflict when MEMORY.md changed since the draft. The diary then records that it was not applied.
    """
    result, name = proposal.result, proposal.name
    stored = services.store.read(name)
    if (stored.revision if stored else ABSENT) != proposal.base:
        raise Conflict(f"{name} was edited since.", next_step="Dream again: `holdfast dream --force`.")
    before = stored.text if stored else None
    changed = before != proposal.text
    if changed:
        backup = Backup(
            id=result.id, at=result.at.astimezone(UTC), name=name, before=before, after=sha256(proposal.text)
        )
        result = evolve(result, backup=state_files.back_up(services.state, backup, keep=services.config.dream.backups))
    page = services.layout.name(Surface.DIARY, result.at.date())
    _tell(services, page, result, lambda block_id: diary.render(result, block_id, proposal.diary))
    if result.archived:
        _tell(services, services.layout.archive, result, partial(diary.archived, result), ARCHIVE)
    result = evolve(result, diary=page, status=Status.DONE, reason="" if changed else "There was nothing to change.")
    if changed:
        try:
            services.store.replace(Surface.MEMORY, name, proposal.text, proposal.base)
        except HoldfastError as error:
            with contextlib.suppress(HoldfastError):
                why = admitted(services, error.message)
                _tell(services, page, result, lambda block_id: diary.not_applied(result, block_id, why))
            raise
    _confirm(services, proposal)
    when.set_mark(services.state, Mark(digest=proposal.digest, at=services.now(), id=result.id))
    logger.info("dreamt as %s", result.id)
    return evolve(result, next_step="`holdfast dream --undo` reverts it." if changed else "")


def _confirm(services: Services, proposal: Proposal) -> None:
    """Record the statements that confirmed each item of the new memory."""
    items = [item.text for item in memorytext.read(proposal.text).items]
    record = updated(confirmed.load(services.state), items, proposal.said, services.now())
    confirmed.save(services.state, record)


def undo(services: Services, *, force: bool = False, dry_run: bool = False) -> DreamResult:
    """Restore MEMORY.md from before the last change by a dream or an undo. Undoing an undo restores the dream.
    ``dry_run`` writes only the run's record.

    Raises: Refused when there is none, or MEMORY.md was edited since and not ``force``; Conflict; Corrupt; Unavailable.
    """
    with lock(services):
        now = services.now()
        stored = services.store.read(services.layout.name(Surface.MEMORY))
        current = stored.text if stored else ""
        kept = _undoable(services, current, force=force)
        text = kept.before if kept.before is not None else memorytext.TITLE + "\n"
        text = services.gate.outgoing(text, surface=Surface.MEMORY, name=kept.name)
        page = services.layout.name(Surface.DIARY, now.date())
        done = kept.at.astimezone(services.config.tz)
        result = DreamResult(
            id=new_id(),
            at=now,
            status=Status.UNDONE,
            reason=ownlines.line(ownlines.UNDO, kept.title, f"{done:%Y-%m-%d}", f"{done:%H:%M}"),
            next_step="`holdfast dream --undo` restores it.",
            diary=page,
            diff="".join(diff(current, text, kept.name)),
        )
        if dry_run:
            reason = f"The {kept.title} of {done:%Y-%m-%d %H:%M} would be undone. Nothing was written."
            result = evolve(result, status=Status.PROPOSED, dry_run=True, reason=reason, next_step="", diary="")
            dreamlog.record(services.state, result)
            return result
        backup = Backup(
            id=result.id,
            at=now.astimezone(UTC),
            name=kept.name,
            before=stored.text if stored else None,
            after=sha256(text),
            title="undo",
        )
        named = state_files.back_up(services.state, backup, keep=services.config.dream.backups)
        result = evolve(result, backup=named)
        _tell(services, page, result, lambda block_id: diary.undone(result, block_id))
        # Without a record, the next dream does not take the lines that leave for ones that a person removed.
        there = {key_of(item.text) for item in memorytext.read(text).items}
        record = confirmed.load(services.state)
        confirmed.save(services.state, {key: one for key, one in record.items() if key in there})
        services.store.replace(Surface.MEMORY, kept.name, text, stored.revision if stored else ABSENT)
        dreamlog.record(services.state, result)
        return result


def _undoable(services: Services, current: str, *, force: bool) -> Backup:
    """The newest backup from before a change that led to the ``current`` text; with ``force`` the newest of all.

    Backups decide, not the log, so a dream killed right after its write can be undone. Raises: Refused.
    """
    backups = state_files.backups(services.state)
    digest = sha256(current)
    found = next((b for b in reversed(backups) if b.after == digest), None)
    if found is None and not backups:
        raise Refused("No dream can be undone.", next_step="`holdfast dream --log` lists the runs.")
    if found is None and not force:
        raise Refused(
            f"{backups[-1].name} was edited since the last {backups[-1].title}, and that would be lost.",
            next_step="To undo anyway, run `holdfast dream --undo --force`. The current text is kept as a backup.",
        )
    return found or backups[-1]


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
    services.store.append(Surface.DIARY, page, text, header or diary.header(result.at.date()), block_id)


def diff(old: str, new: str, name: str) -> Iterator[str]:
    return difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), name, name, n=2)
