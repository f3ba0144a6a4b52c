"""What happens when a conversation starts: idle sessions are ended, and what waits is sent."""

import time

from holdfast.errors import HoldfastError, PluginError, must_be
from holdfast.fs import private, safeopen
from holdfast.session import Session
from holdfast.text.lazy import log
from holdfast_app.base import Services
from holdfast_app.journal import journal
from holdfast_app.records import journals

logger = log(__name__)


def send_waiting(services: Services, limit_s: float) -> None:
    try:
        if services.waits(private.SPOOL):
            services.spool.send(limit_s=limit_s)
        if services.waits(private.OUTBOX):
            services.outbox.send_due()
    except PluginError as error:  # the next flush is refused for this reason
        logger.warning("what waits could not be sent: %s", error.message)


def end_idle(services: Services, kind: type[Session], open_ids: set[str], limit_s: float) -> list[str]:
    must_be(int | float, limit_s, "limit_s")
    now = services.now().timestamp()
    before = now - services.config.session.idle_minutes * 60
    ended, until = list[str](), time.monotonic() + limit_s
    for path in journal.session_files(services.state):
        if time.monotonic() > until:
            break
        try:
            written = safeopen.stat(path).st_mtime  # later than now when the clock was set back since
            if before < written <= now or journals.last_checkpoint_of(path) is not None:
                continue
            session_id = journal.session_id_of(path)
            session = kind(services, session_id) if session_id and session_id not in open_ids else None
            if session and session.unflushed and not session.ended and session.unflushed[-1].at.timestamp() <= before:
                session.end()
                ended.append(session.id)
        except OSError:
            continue  # gone meanwhile
        except HoldfastError as error:
            logger.warning("an idle session could not be ended: %s", error.message)
    return ended
