"""Housekeeping when a session ends: pack the journals of sessions that ended long ago, and remove their lock files."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, suppress
from typing import Final

from holdfast.errors import HoldfastError
from holdfast.fs import durable, safeopen
from holdfast.journal import emergency_log, journal, safety
from holdfast.journal.journal import Journal
from holdfast_app.records import journals, packs

#: So many journals stay in ``state/sessions``, the newest ones. Packing begins when there are ``_MORE`` more.
KEPT: Final = 60
_MORE: Final = 20
#: Limits of one call: journals, and bytes of them.
_MOST, _BYTES = 100, 4 << 20


def tidy(state: str, *, limit_s: float = 0.02) -> int:
    """Pack the oldest ended and flushed sessions. Returns their number. Stops after ``limit_s`` seconds of its own
    processor time, so that a busy machine keeps up. The next call continues. Raises: Unavailable."""
    until = time.thread_time() + limit_s
    files = journals.by_age(state)
    if len(files) < KEPT + _MORE:
        return 0
    chosen: dict[Journal, bytes] = {}
    with ExitStack() as held:
        for path in files[:-KEPT]:
            if time.thread_time() > until or len(chosen) == _MOST or sum(map(len, chosen.values())) > _BYTES:
                break
            with suppress(HoldfastError, OSError):
                one = _ended(state, path)
                if one is not None:
                    for lock in (one.flush_lock_path, one.lock_path):
                        held.enter_context(durable.lock(lock, 0.0))
                    if _ended(state, path):  # nothing was said meanwhile
                        chosen[one] = one.data()
        if chosen:
            packs.add(state, [(one.stem, one.session_id, data) for one, data in chosen.items()])
            for one in chosen:
                _forget(one)
            durable.fsync_dir(os.path.dirname(files[0]))
    return len(chosen)


def _ended(state: str, path: str) -> Journal | None:
    """The journal at ``path``, if its session ended, everything in it is flushed, and nothing waits or failed."""
    session_id = journal.session_id_of(path)
    if session_id is None or not session_id.isprintable():
        return None
    one = Journal(state, session_id)
    last = one.last_checkpoint()
    row = last.record if last else {}
    receipt = row.get("receipt") or {}
    if one.path != path or not row.get("ended") or row["unrecorded"] or not receipt or receipt.get("spooled"):
        return None
    if one.is_unflushed() or os.path.lexists(emergency_log.away_path(state, one.stem)):
        return None
    return None if safety.read(state, session_id) else one


def _forget(one: Journal) -> None:
    """Remove a packed journal's files. The hint goes first, because without a journal it means a loss."""
    with safeopen.Folder(one.folder) as folder:
        for path in (one.hint_path, one.path, one.flush_lock_path, one.lock_path):
            with suppress(FileNotFoundError):
                folder.unlink(os.path.basename(path))
