"""Methods added to an opened project; :class:`holdfast.plugin.features.Features` declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

    from holdfast import Holdfast
    from holdfast_privacy.purge import PurgeReport
    from holdfast_privacy.retention import RetentionReport
    from holdfast_privacy.scrub import ScrubReport


def purge(
    memory: Holdfast,
    *,
    subject: str | None = None,
    session: str | None = None,
    before: date | None = None,
    everything: bool = False,
    dry_run: bool = False,
) -> PurgeReport:
    from holdfast_privacy.purge import What, purge

    if session is not None and session not in memory.sessions():
        session = memory.services.gate.identifier(session)
    what = What(subject=subject, session=session, before=before, everything=everything)
    try:
        return purge(memory.services, what, dry_run=dry_run)
    finally:
        memory.reread()


def scrub(memory: Holdfast, *, dry_run: bool = False) -> ScrubReport:
    from holdfast_privacy.scrub import scrub

    try:
        return scrub(memory.services, dry_run=dry_run)
    finally:
        memory.reread()


def retention(memory: Holdfast, *, dry_run: bool = False) -> RetentionReport:
    from holdfast_privacy.retention import retention

    try:
        return retention(memory.services, dry_run=dry_run)
    finally:
        memory.reread()
