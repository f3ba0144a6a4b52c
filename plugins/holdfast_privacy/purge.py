"""Forgetting on request: remove, prove that it is gone, and leave a tombstone that tells nothing of what it was.

The same call again completes a purge that was interrupted. What was purged is kept in no file on the way: the note of
an unfinished purge and the tombstone know it by a keyed digest only.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, date
from hashlib import blake2s
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from holdfast.config.serde import stamp
from holdfast.errors import BadValue, HoldfastError
from holdfast.fs import durable, private, safeopen
from holdfast.journal import journal
from holdfast.text import untrusted
from holdfast_privacy.selectors import Before, BySession, BySubject, Everything
from holdfast_privacy.sweep import TOMBSTONE_KEY, TOMBSTONES, UNFINISHED, Walk, carry_out
from holdfast_privacy.text_search import fold
from holdfast_privacy.transforms import Changed, Edit, Left, counted

if TYPE_CHECKING:
    from holdfast.session.services import Services

logger = logging.getLogger(__name__)

KINDS = ("subject", "session", "before", "all")


@frozen(kw_only=True)
class What:
    """What is to be forgotten: exactly one of a text, a session's id, a day (what is older goes), or everything."""

    subject: str | None = field(default=None, repr=False)
    session: str | None = None
    before: date | None = None
    everything: bool = False

    def __attrs_post_init__(self) -> None:
        given = [self.subject is not None, self.session is not None, self.before is not None, self.everything]
        if sum(given) != 1:
            raise BadValue(
                "purge", "takes exactly one of subject, session, before and all", next_step="Say what is to go."
            )

    @property
    def kind(self) -> str:
        """One of :data:`KINDS`."""
        given = (self.subject is not None, self.session is not None, self.before is not None, True)
        return next(kind for kind, is_it in zip(KINDS, given, strict=True) if is_it)

    def edit(self, services: Services) -> Edit:
        """What becomes of each text. Raises: BadValue."""
        if self.subject is not None:
            return BySubject(self.subject)
        if self.session is not None:
            return BySession(self.session)
        if self.before is not None:
            return Before(self.before, services.layout, services.config.tz)
        return Everything()

    def digest(self, key: bytes) -> str:
        """By which the same purge is known again, and nothing else."""
        value = fold(self.subject) if self.subject is not None else self.session or self.before or ""
        return blake2s(f"{self.kind}\n{value}".encode("utf-8", "replace"), key=key, digest_size=16).hexdigest()


def _changes(value: Iterable[Changed]) -> tuple[Changed, ...]:
    return tuple(value)


@frozen(kw_only=True)
class PurgeReport:
    """What a purge removed or, with ``dry_run``, would remove.

    ``left`` is what of ours still holds it, and why; ``elsewhere`` what holdfast cannot reach and somebody has to
    delete: comments on a forge, files of others. ``files`` and ``size`` (in bytes) are what the last search looked at.
    ``resumed`` is true when this completed an interrupted purge; ``unfinished`` tells when other purges began that
    were interrupted.
    """

    kind: str
    dry_run: bool
    changed: tuple[Changed, ...] = field(converter=_changes)
    left: tuple[Left, ...] = ()
    elsewhere: tuple[str, ...] = ()
    files: int = 0
    size: int = 0
    resumed: bool = False
    unfinished: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing of ours holds it any more."""
        return not self.left

    @property
    def counts(self) -> dict[str, int]:
        """Kind of place -> how many things went or changed there."""
        return counted(self.changed)


def purge(services: Services, what: What, *, dry_run: bool = False) -> PurgeReport:
    """Remove ``what`` from every place and look whether it is gone. See docs/retention.md.

    A place that cannot be edited is told in the report; the others are. Raises: BadValue; Unavailable when the note
    of the purge cannot be written, or another purge runs.
    """
    if dry_run:
        return _planned(services, what)
    what.edit(services)  # says first what is wrong with it
    private.make(services.state)
    with durable.lock(services.private("purge.lock"), timeout_s=0.2):
        register = _Register(services)
        digest = what.digest(register.key)
        resumed = register.begin(digest, what.kind)
        report = _done(services, what, resumed=resumed, others=() if what.everything else register.others(digest))
        register.bury(digest, what.kind, report)
    return report


def _planned(services: Services, what: What) -> PurgeReport:
    walk = Walk(services=services, edit=what.edit(services), dry_run=True)
    walk.run()
    return PurgeReport(
        kind=what.kind,
        dry_run=True,
        changed=walk.changed,
        left=tuple(walk.left),
        elsewhere=(*published(services, walk.edit), *walk.foreign),
    )


def _done(services: Services, what: What, *, resumed: bool, others: tuple[str, ...]) -> PurgeReport:
    edit = what.edit(services)
    pointers = published(services, edit)  # before the receipts that name them go
    outcome = carry_out(services, edit)
    return PurgeReport(
        kind=what.kind,
        dry_run=False,
        changed=outcome.changed,
        left=outcome.left,
        elsewhere=(*pointers, *outcome.foreign),
        files=outcome.files,
        size=outcome.size,
        resumed=resumed,
        unfinished=others,
    )


def published(services: Services, edit: Edit) -> tuple[str, ...]:
    """Where flushes that the edit concerns published something that only a person can delete, by their receipts."""
    edit.begin(services)
    found: list[str] = []
    for path in journal.session_files(services.state):
        session_id = journal.session_id_of(path) or ""
        try:
            for entry in journal.Journal(services.state, session_id).entries():
                evidence = (entry.record.get("receipt") or {}).get("evidence") or ()
                if evidence and (edit.session(session_id, None) or edit.record(entry.record) != entry.record):
                    # What waited then may have been published since: its address is not known, its target is.
                    found += [
                        item["pointer"] or item["target"] for item in evidence if item["pointer"] or item["pending"]
                    ]
        except HoldfastError:
            continue  # the walk says so
    return tuple(dict.fromkeys(found))


def bury(services: Services, kind: str, counts: Mapping[str, object]) -> None:
    """Leave a tombstone: when, what kind, how many. Raises: Unavailable."""
    stone = {"at": stamp(services.clock().astimezone(UTC)), "kind": kind, **counts}
    durable.append(services.private(TOMBSTONES), json.dumps(stone).encode("utf-8") + b"\n")
    logger.info("a tombstone was set for a purge or scrub by %s", kind)


@define
class _Register:
    """What is known of purges, without what they purged."""

    _services: Services
    key: bytes = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        path = self._services.private(TOMBSTONE_KEY)
        try:
            with safeopen.reader(path) as file:
                self.key = file.read(32)
        except FileNotFoundError:
            self.key = b""
        except OSError as error:
            raise durable.unavailable(error, path, "read") from error
        if len(self.key) != 32:
            self.key = os.urandom(32)
            durable.replace(path, self.key)

    def begin(self, digest: str, kind: str) -> bool:
        """Note that this purge has begun. Whether it had before and was interrupted."""
        begun = self._read()
        if digest in begun:
            return True
        self._write({**begun, digest: {"kind": kind, "at": stamp(self._services.clock().astimezone(UTC))}})
        return False

    def others(self, digest: str) -> tuple[str, ...]:
        """The purges that were interrupted, but for this one: kind and when it began."""
        rows = (row for key, row in self._read().items() if key != digest)
        return tuple(f"{row.get('kind')} of {row.get('at')}" for row in rows)

    def bury(self, digest: str, kind: str, report: PurgeReport) -> None:
        """Set the tombstone; a purge that left something stays unfinished."""
        counts = {"changed": report.counts, "files_searched": report.files, "bytes_searched": report.size}
        bury(self._services, kind, {"digest": digest, **counts, "left": len(report.left)})
        if report.clean:
            self._write({} if kind == "all" else {k: v for k, v in self._read().items() if k != digest})

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            with safeopen.reader(self._services.private(UNFINISHED)) as file:
                table = untrusted.from_json(file.read())
        except (OSError, ValueError):
            return {}
        return {k: v for k, v in table.items() if isinstance(v, dict)} if isinstance(table, dict) else {}

    def _write(self, table: Mapping[str, object]) -> None:
        path = self._services.private(UNFINISHED)
        if table:
            durable.replace(path, json.dumps(table).encode("utf-8"))
        else:
            durable.remove(path)
