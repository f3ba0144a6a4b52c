"""Removing data past its ``[retention]`` limit, unless it is still needed.

Never removed: journals with unflushed turns or whose session is UNSAFE or has not ended, today's documents, a
document that open work in the handoff points to, and the proof for the last flush of any session still in progress.
"""

import os
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from attrs import define, evolve, field, frozen

from holdfast import Session
from holdfast.config.layout import Surface
from holdfast.config.serde import moment
from holdfast.errors import NotFound
from holdfast.flush import handoff
from holdfast.fs import durable, private
from holdfast.journal.safety import State
from holdfast_app import progress
from holdfast_app.base import Services
from holdfast_app.data_loss import note_forgotten
from holdfast_app.journal import journal, past
from holdfast_app.journal.journal import Journal, retire
from holdfast_app.privacy import transforms
from holdfast_app.privacy.selectors import day_of
from holdfast_app.privacy.sweep import Walk, alone, last_said
from holdfast_app.privacy.transforms import Changed, Edit, Left, is_temporary
from holdfast_app.records import packs
from holdfast_app.sessions import rewriting

DATED = (Surface.DAILY, Surface.DIARY, Surface.TRAIL, Surface.REPORT, Surface.HEARTBEAT, Surface.BRIEFING)
#: A temporary file younger than this may belong to a write in progress.
TEMPORARY_DAYS = 1
BACKUPS = ("backups", "dreams")  # backup folders in the private folder
_WAIT_S = 0.2


@frozen(kw_only=True)
class RetentionReport:
    """The removed items or, with ``dry_run``, those to remove. ``kept`` lists expired items still needed, and why."""

    dry_run: bool
    removed: tuple[Changed, ...] = field(converter=tuple[Changed, ...])
    kept: tuple[Left, ...] = ()
    failed: tuple[Left, ...] = ()


def retention(services: Services, forget: Callable[[], None], *, dry_run: bool = False) -> RetentionReport:
    """See :meth:`holdfast_app.project.Holdfast.retention`. A place that fails is reported, and the others are still
    cleaned.
    Raises: Unavailable when a purge or another retention run is in progress."""
    job = _Job(services=services, dry_run=dry_run, forget=forget)
    with nullcontext() if dry_run or not os.path.isdir(services.state) else alone(services):
        job.run()
    failed = tuple(dict.fromkeys(job.left))
    return RetentionReport(dry_run=dry_run, removed=job.changed, kept=tuple(job.kept), failed=failed)


@define(kw_only=True)
class _Job(Walk):
    """A walk that removes old data: ``changed`` is what it removed, ``left`` what it could not remove."""

    edit: Edit = field(factory=Edit)
    kept: list[Left] = field(factory=list)
    needed: dict[str, str] = field(factory=dict)  # documents to keep, and why
    pointers: dict[str, str] = field(factory=dict)  # documents named by each session's open work

    def run(self) -> None:
        rules = self.services.config.retention
        for path in progress.each(journal.session_files(self.services.state, packed=True), "Checking journals"):
            self._guarded(self._shown(path), self._expire, path, rules.journal)
        if self.unpacked:
            self._guarded(past.FOLDER, packs.compact, self.services.state, self.unpacked)
        names = self.services.store.names() if any(getattr(rules, surface) for surface in DATED) else []
        failed = len(self.left)
        if names:
            self._guarded("the handoff", self._look_at_handoff)
            for name in progress.each(names if failed == len(self.left) else [], "Checking documents"):
                surface = self.services.layout.surface_of(name)
                if surface in DATED and (days := getattr(rules, surface)):
                    self._guarded(name, self._expire_document, surface, name, days)
        for path in progress.each(list(transforms.files(self.services.state)), "Checking private files"):
            self._guarded(self._shown(path), self._private, path)
        for path in sorted(filter(is_temporary, {*transforms.files(self.services.state), *self.store_files()})):
            if self._is_old(path, TEMPORARY_DAYS):
                self._guarded(self._shown(path), self._remove, path)
        if self.changed and not self.dry_run:
            self._guarded(private.DERIVED, self.forget)

    # --- journals

    def _expire(self, path: str, days: int) -> None:
        session_id = journal.session_id_of(path)
        if session_id is None or Journal(self.services.state, session_id).path != path:
            return  # damaged: `holdfast doctor` reports it
        session = Session(self.services, session_id)
        reason = self._why_needed(session)
        if reason and session.last_receipt is not None:
            for written in session.last_receipt.written:
                self.needed.setdefault(written.name, f"session {session_id} {reason}, and this proves its last flush")
        last = last_said(session.journal)
        if not days or last is None or self.services.clock() - last <= timedelta(days=days):
            return
        if reason:
            self.kept.append(Left(name=self._shown(path), why=f"session {session_id} {reason}"))
            return
        if not self.dry_run:
            lock = session.journal.flush_lock_path
            with durable.lock(lock, timeout_s=_WAIT_S):
                session.catch_up()
                if self._why_needed(session):
                    return  # another process just resumed the session
                rewriting.erase(session.journal)
                self.unpacked.add(session.journal.stem)
                retire(lock)
        self._note("journals", self._shown(path), removed=True)

    def _why_needed(self, session: Session) -> str:
        """Why a session's journal must be kept, or an empty string."""
        if session.state is State.UNSAFE:
            return "is UNSAFE"
        if session.unflushed:
            return "has unflushed turns"
        idle = timedelta(minutes=self.services.config.session.idle_minutes)
        last = None if session.ended else last_said(session.journal)
        return "has not ended" if last and self.services.clock() - last <= idle else ""

    # --- documents

    def _look_at_handoff(self) -> None:
        """Raises: Corrupt. Then no document is removed, since the needed ones are unknown."""
        services = self.services
        document = services.store.read(services.layout.name(Surface.HANDOFF))
        for work in handoff.parse(document.text) if document else ():
            if work.is_open:
                listed = (*work.artifacts, *work.facts, *work.follow_ups, *work.needs_operator, *work.rejected)
                self.pointers[work.session] = "\n".join([work.note, work.next_action, work.blocker, *listed])

    def _expire_document(self, surface: Surface, name: str, days: int) -> None:
        services = self.services
        day = day_of(services.layout, surface, name)
        today = services.now().date()
        if day is None or day >= today or (today - day).days <= days:
            return
        pointing = [session_id for session_id, named in self.pointers.items() if name in named]
        why = f"open work of session {pointing[-1]} points to it" if pointing else self.needed.get(name, "")
        if why:
            self.kept.append(Left(name=name, why=why))
            return
        if not self.dry_run:
            note_forgotten(services, name)
            try:
                services.store.delete(name)
            except NotFound:
                return
        self._note("documents", name, removed=True)

    # --- private files

    def _private(self, path: str) -> None:
        rules = self.services.config.retention
        inside = os.path.relpath(path, self.services.state).split(os.sep)
        is_damaged = ".damaged-" in inside[-1]
        if is_damaged or (inside[0] in BACKUPS and len(inside) > 1):
            days = rules.damaged if is_damaged else rules.backup
            if days and self._is_old(path, days):
                self._remove(path)
        elif rules.log and len(inside) == 1 and path.endswith(".jsonl") and inside[0] not in _LASTING:
            before = self.services.clock() - timedelta(days=rules.log)
            walk = Walk(services=self.services, edit=_OldRows(before), dry_run=self.dry_run)
            walk.file(path)
            self.changed += [evolve(change, kind="log lines", removed=True) for change in walk.changed]

    def _is_old(self, path: str, days: int) -> bool:
        with durable.reporting(path, "check"), suppress(FileNotFoundError):
            written = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
            return self.services.clock() - written > timedelta(days=days)
        return False

    def _remove(self, path: str) -> None:
        if not self.dry_run:
            durable.remove(path)
        self._note("private files", self._shown(path), removed=True)


#: Proof of a purge and queued work never expire.
_LASTING = frozenset({"tombstones.jsonl", "extract.jsonl", "outbox.jsonl", "spool.jsonl", "portable.jsonl"})


class _OldRows(Edit):
    def __init__(self, before: datetime) -> None:
        self._before = before

    def row(self, row: dict[str, Any]) -> dict[str, Any] | None:
        with suppress(KeyError, TypeError, ValueError):
            return None if moment(row["at"]) < self._before else row
        return row
