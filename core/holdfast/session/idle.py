"""End abandoned sessions through the same gate as any other end."""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.fs import safeopen
from holdfast.journal import journal
from holdfast.session.session import Session
from holdfast.text.lazy import log

if TYPE_CHECKING:
    from holdfast.session.services import Services

logger = log(__name__)


def end_idle(services: Services, *, but: Collection[str], limit_s: float) -> list[str]:
    """End every session except ``but`` whose last turn is older than ``[session] idle_minutes``; returns their ids.

    See :meth:`holdfast.project.Project.end_idle`.
    """
    before = services.clock() - timedelta(minutes=services.config.session.idle_minutes)
    ended = []
    until = time.monotonic() + limit_s
    for path in journal.session_files(services.state):
        if time.monotonic() > until:
            break
        try:
            if safeopen.stat(path).st_mtime > before.timestamp() or journal.last_checkpoint_of(path) is not None:
                continue
            session_id = journal.session_id_of(path)
            if session_id is None or session_id in but:
                continue
            session = Session(services, session_id)
            if session.unflushed and not session.ended:
                session.end()
                ended.append(session_id)
        except OSError:
            continue  # gone meanwhile
        except HoldfastError as error:
            logger.warning("an idle session could not be ended: %s", error.message)
    return ended
