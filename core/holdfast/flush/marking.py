"""The UNSAFE marker of a flush: written before anything else, kept with the reason when the flush fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from attrs import evolve

from holdfast.config.serde import stamp
from holdfast.errors import FlushRefused, HoldfastError, Unavailable
from holdfast.flush import payloads
from holdfast.fs import paths
from holdfast.journal import safety
from holdfast.journal.safety import Marker
from holdfast.text.lazy import log

if TYPE_CHECKING:
    from holdfast.journal.safety import Stated
    from holdfast.models import Payload
    from holdfast.session.services import Services
    from holdfast.session.session import Session

logger = log(__name__)

#: The steps after all documents are verified.
VERIFIED: Final = frozenset({"on_flush", "facts", "journal", "marker"})


def begin(services: Services, session: Session, reason: str, stated: Stated | None) -> tuple[Marker, Marker | None]:
    """Write the marker, taking over an earlier marker's content, and return that content, too.

    Raises: FlushRefused when it cannot be written.
    """
    old = safety.read(services.state, session.id)
    marker = Marker(session=session.id, at=stamp(services.now()), reason=reason)
    if old is not None:
        marker = evolve(marker, attempts=old.attempts + 1, blocked=old.blocked, key=old.key, pending=old.pending)
    entries = old.stated if old is not None else ()
    for one in (*session.unwritten, *([stated] if stated else [])):
        entries = payloads.joined(entries, one)
    try:
        marker = safety.begin(services.state, evolve(marker, stated=entries))
    except HoldfastError as error:
        raise FlushRefused(
            f"Not even the UNSAFE marker can be written: {error.message} Context is kept.",
            next_step=error.next_step,
            target="state",
        ) from error
    session.unwritten.clear()
    return marker, old


def refuse(
    services: Services,
    session: Session,
    marker: Marker,
    error: HoldfastError,
    *,
    step: str,
    stated: Stated | None,
    given: Payload | None,
) -> NoReturn:
    """Keep the marker, with the error and the payload ``given``. Raises: FlushRefused, always."""
    current = safety.read(services.state, session.id) or marker
    target = error.target if isinstance(error, FlushRefused) and error.target else step
    strict = isinstance(error, FlushRefused) and bool(error.missing)
    if isinstance(error, Unavailable) and step not in VERIFIED:
        explain(services, error)
    if stated is not None and given is not None:
        mine = payloads.kept(services, stated, given, error)
        current = evolve(current, stated=payloads.joined(current.stated, mine))
    try:
        safety.failed(
            services.state,
            current,
            error=paths.rewrite(error.message, services.root),
            next_step=error.next_step,
            target=target,
            blocked=strict,
        )
    except HoldfastError as second:
        logger.error("the UNSAFE marker could not be updated: %s", second)  # noqa: TRY400 - the cause is raised below
    logger.warning("flush of session %s failed at %s", session.id, target)
    if isinstance(error, FlushRefused):
        error.target = error.target or target
        raise error
    raise FlushRefused(
        f"{error.message} The session is UNSAFE and nothing was dropped.",
        next_step=error.next_step,
        target=target,
    ) from error


def explain(services: Services, error: HoldfastError) -> None:
    """Add the server's address to the error for a flush that it did not take, and mention that flushes can be kept."""
    backend = services.store.backend
    if not services.is_remote:
        return
    if backend.where() not in error.message:
        error.message = f"{error.message} The store is {backend.where()}."
    if not services.config.storage.spool:
        error.next_step = (
            f"{error.next_step} With `[storage] spool = true` in your own settings a flush is kept on this machine "
            "while the server is away (docs/spool.md)."
        ).lstrip()
