"""Takes a project's past sessions into its memory, each dated by its last message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from holdfast.errors import HoldfastError
from holdfast.models import Payload
from holdfast_app import progress
from holdfast_app.history.sessions import Past, found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast_app.project import Holdfast


@frozen(kw_only=True)
class Taken:
    """One past session: ``outcome`` is imported, known (nothing new, or its hooks follow it) or failed, with ``why``;
    in a dry run new or known. ``messages`` counts the new ones."""

    client: str
    session: str
    at: str
    messages: int
    outcome: str
    why: str = ""
    written: tuple[str, ...] = field(default=(), converter=tuple[str, ...])


def take_all(memory: Holdfast, *, dry_run: bool) -> Iterator[Taken]:
    """Import the clients' recordings from this project and its folders, oldest first. Imported sessions have no open
    work. The sources stay. A second run adds nothing."""
    root = memory.services.root
    sessions = [past for past in found() if past.is_in(root)]
    for number, past in enumerate(sessions, 1):
        progress.report(number, len(sessions), "past sessions read")
        try:
            taken = _take(memory, past, dry_run=dry_run)
        except HoldfastError as error:
            told = {"client": past.client, "session": past.id or past.path, "at": f"{past.at:%Y-%m-%d}"}
            taken = Taken(**told, messages=0, outcome="failed", why=error.message)
        if taken is not None:
            yield taken


def _take(memory: Holdfast, past: Past, *, dry_run: bool) -> Taken | None:
    """None for a recording in which the user said nothing. Raises: HoldfastError."""
    transcript = past.read()
    if not transcript.session_id or not any(message.role == "user" for message in transcript.messages):
        return None
    end = transcript.messages[-1].at
    with type(memory).open(memory.services.root, clock=lambda: end) as then:
        session = then.session(transcript.session_id)
        failed = session.unsafe  # an earlier import can have failed after the messages were journalled
        followed = session.journal.exists() and not session.ended and not failed
        known = {entry.record["id"] for entry in session.journal.entries() if entry.record["kind"] == "message"}
        new = 0 if followed else sum(message.id not in known for message in transcript.kept)
        taken = Taken(
            client=past.client,
            session=session.id,
            at=f"{end:%Y-%m-%d}",
            messages=new,
            outcome="new" if new or failed else "known",
        )
        if dry_run or taken.outcome == "known":
            return taken
        receipt = then.import_transcript(transcript).end(Payload(work_open=False, curated="none"))
        return evolve(taken, outcome="imported", written=[one.name for one in receipt.written] if receipt else ())
