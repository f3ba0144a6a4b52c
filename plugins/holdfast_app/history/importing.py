"""Takes past sessions, and what other programs remember, into a project's memory, each dated by its last message."""

from collections.abc import Iterator, Sequence

from attrs import evolve, field, frozen

from holdfast.api import HoldfastError, Payload
from holdfast.text.humanize import count
from holdfast_app import progress
from holdfast_app.authorship.witness import REASON, Witness
from holdfast_app.history.memories import ATTACHMENT, PROGRAMS
from holdfast_app.history.sessions import FOLLOWED, Past, found
from holdfast_app.project import Holdfast


@frozen(kw_only=True)
class Taken:
    """One past session or memory: ``outcome`` is imported, known (nothing new, or its hooks follow it) or failed, with
    ``why``; in a dry run new or known. ``messages`` counts the new ones, and ``statements`` has the new statements of
    a memory, those too long for a fact last."""

    client: str
    session: str
    at: str
    messages: int
    outcome: str
    why: str = ""
    written: tuple[str, ...] = field(default=(), converter=tuple[str, ...])
    statements: tuple[str, ...] = field(default=(), converter=tuple[str, ...])


def take_all(memory: Holdfast, *, dry_run: bool) -> Iterator[Taken]:
    """Import the clients' recordings from this project and its folders, oldest first. Imported sessions have no open
    work. The sources stay. A second run adds nothing."""
    return take_each(memory, [past for past in found() if past.is_in(memory.services.root)], dry_run=dry_run)


def take_each(memory: Holdfast, sessions: Sequence[Past], *, dry_run: bool) -> Iterator[Taken]:
    witness = Witness(memory.services)
    for number, past in enumerate(sessions, 1):
        progress.report(number, len(sessions), "past sessions read")
        try:
            taken = _take(memory, past, witness, dry_run=dry_run)
        except HoldfastError as error:
            fields = {"client": past.client, "session": past.name, "at": f"{past.at:%Y-%m-%d}"}
            taken = Taken(**fields, messages=0, outcome="failed", why=error.message)
        if taken is not None:
            yield taken


def _take(memory: Holdfast, past: Past, witness: Witness, *, dry_run: bool) -> Taken | None:
    """None for a recording in which the user said nothing. Raises: HoldfastError."""
    transcript, is_memory = past.read(), past.client in PROGRAMS
    name = transcript.session_id or past.id
    if not name or not (is_memory or any(message.role == "user" for message in transcript.messages)):
        return None
    end = past.at if past.transcript else transcript.kept[-1].at
    with type(memory).open(memory.services.root, clock=lambda: end) as then:
        session = then.session(name)
        begun = session.journal.exists() and not session.ended
        followed = begun and not session.unsafe and past.client in FOLLOWED
        unfinished = begun and not followed  # an earlier import was interrupted after the messages were journalled
        known = {entry.record["id"] for entry in session.journal.entries() if entry.record["kind"] == "message"}
        fresh = {} if followed else {message.id: message.text for message in transcript.kept if message.id not in known}
        hostile = {key for key, text in fresh.items() if is_memory and witness.is_hostile(text)}
        others = {message.id for message in transcript.kept if is_memory and message.tool == ATTACHMENT}
        new, stated, longer = len(fresh) - len(hostile), list[str](), list[str]()
        if is_memory:
            kept = tuple(message for message in transcript.kept if message.id not in hostile)
            transcript = evolve(transcript, kept=kept)
            offered = (message for message in transcript.messages if message.id not in hostile | others)
            stated = [message.text for message in offered if unfinished or message.id in fresh]
            short = {message.id for message in transcript.messages}
            longer = [message.text for message in kept if message.id in fresh and message.id not in short]
        left_out = hostile | (others & fresh.keys())
        taken = Taken(
            client=past.client,
            session=session.id,
            at=f"{end:%Y-%m-%d}",
            messages=new,
            outcome="new" if new or unfinished else "known",
            why=f"{count(len(left_out), 'statement')} left out: {REASON}" if left_out else "",
            statements=[*stated, *longer],
        )
        if dry_run or taken.outcome == "known":
            return taken
        payload = Payload(work_open=False, curated="none")
        if is_memory:
            nothing = dict.fromkeys(("decisions", "blockers", "artifacts", "follow_ups"), ())
            objective = f"Take along what {past.client} remembers"
            payload = payload.evolve(objective=objective, facts=stated, next_step="none", **nothing)
        receipt = then.import_transcript(transcript, session.id).end(payload)
        return evolve(taken, outcome="imported", written=[part.name for part in receipt.written] if receipt else ())
