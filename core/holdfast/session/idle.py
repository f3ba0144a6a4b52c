"""End abandoned sessions through the same gate as any other end."""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.journal import journal
from holdfast.journal.statusindex import StatusIndex
from holdfast.text.lazy import log

if TYPE_CHECKING:
    from holdfast.session.services import Services

logger = log(__name__)


def end_idle(services: Services, *, but: Collection[str], limit_s: float) -> list[str]:
    """End every session except ``but`` whose last turn is older than ``[session] idle_minutes``; returns their ids.

    See :meth:`holdfast_app.project.Holdfast.end_idle`.
    """
    limit = timedelta(minutes=services.config.session.idle_minutes).total_seconds()
    ended = []
    until = time.monotonic() + limit_s
    index = StatusIndex(services.state)
    for path, seen in index.journals.items():
        if time.monotonic() > until:
            break
        try:
            if services.clock().timestamp() - seen.changed_ns / 1e9 < limit:
                continue
            from holdfast.session.session import Session
            from holdfast.session.status import all_flushed, remember

            if all_flushed(path, index) is not None:
                continue
            session_id = journal.session_id_of(path)
            if session_id is None or session_id in but:
                continue
            session = Session(services, session_id)
            if session.unflushed and not session.ended:
                session.end()
                ended.append(session_id)
            else:
                remember(session, path, index)
        except HoldfastError as error:
            logger.warning("an idle session could not be ended: %s", error.message)
    index.save()
    return ended
