"""One session's journal: its messages, and what each compaction dropped and saved."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Final

from attrs import evolve, field, frozen

from holdfast.api import HoldfastError, Message, NotFound, Payload, Receipt
from holdfast.config.layout import Surface
from holdfast.config.serde import moment, receipt_from
from holdfast.flush import verify
from holdfast_app.authorship import sources
from holdfast_app.base import Services
from holdfast_app.journal.journal import Journal
from holdfast_app.records.journals import Incident, incidents

#: Fields of a payload in the order in which they are shown, with their labels.
FIELDS: Final = (
    ("rules", "Rules"),
    ("objective", "Objective"),
    ("facts", "Facts"),
    ("decisions", "Decisions"),
    ("rejected", "Given up"),
    ("blockers", "Blockers"),
    ("next_step", "Next step"),
    ("follow_ups", "Promised"),
    ("needs_operator", "Needed from you"),
    ("artifacts", "Proof"),
)


@frozen(kw_only=True)
class Passage:
    """A flush and the messages dropped after it. ``dropped`` are positions in the list of messages, ``kept`` is the
    number of messages that stayed. ``flushed`` is the journal's record of the flush, to check its receipt."""

    number: int
    receipt: Receipt
    flushed: dict[str, Any] | None = field(repr=False)
    dropped: range = range(0)
    kept: int = 0
    overridden: str = ""


@frozen(kw_only=True)
class Story:
    """A session from its journal, text as stored: mask it before it is shown. ``messages``, ``passages`` and
    ``incidents`` are oldest first. Messages from ``kept_from`` on are in context."""

    messages: Sequence[Message]
    passages: Sequence[Passage]
    incidents: Sequence[Incident]
    kept_from: int


def check(services: Services, passage: Passage, *, is_last: bool) -> tuple[list[str], str]:
    """The state (stored, replaced or missing) of each document in the receipt, in order, and
    a sentence when that cannot be checked. ``is_last``: no later flush replaced the session's handoff entry."""
    written = passage.receipt.written
    try:
        proof = verify.check(services, passage.receipt, passage.flushed)
    except HoldfastError as error:
        return ["missing"] * len(written), error.message
    replaced = () if is_last else (Surface.HANDOFF,)
    return [
        "stored" if part in proof.whole else "replaced" if part.surface in replaced else "missing" for part in written
    ], ""


def story(services: Services, session: str) -> Story:
    """A session's story. Damaged lines are left out. Raises: NotFound; Unavailable."""
    journal = Journal(services.state, session)
    if not journal.exists():
        raise NotFound(f"There is no session {session!r}.", next_step="The page `Sessions` lists them.")
    messages: dict[str, Message] = {}
    starts: list[int] = []
    passages: list[Passage] = []
    kept_from, override = 0, ""
    for entry in journal.of_kinds("message", "checkpoint", "override"):
        row = entry.record
        if row["kind"] == "message" and row["id"] not in messages:
            starts.append(entry.start)
            known = {key: row[key] for key in ("role", "text", "id", "tool", "failed") if key in row}
            messages[row["id"]] = Message(at=moment(row["at"]), **known)
        elif row["kind"] == "override":
            override = str(row.get("reason", ""))
        elif row["kind"] == "checkpoint":
            begin = kept_from
            kept_from = max(kept_from, bisect_left(starts, row["kept_from"]))
            if row.get("receipt"):
                _add(passages, row, range(begin, kept_from), len(messages) - kept_from, override)
                override = ""
    blocked = [incident for incident in incidents(journal) if not incident.let_through]
    return Story(messages=tuple(messages.values()), passages=passages, incidents=blocked, kept_from=kept_from)


def _add(passages: list[Passage], row: dict[str, Any], dropped: range, kept: int, override: str) -> None:
    """Add a flush's checkpoint, for a new flush or the drop after the last one."""
    receipt = receipt_from(row["receipt"])
    if not passages or passages[-1].receipt.flush_id != receipt.flush_id:
        passages.append(
            Passage(number=len(passages) + 1, receipt=receipt, flushed=row.get("flush"), dropped=dropped, kept=kept)
        )
    elif dropped:
        last = passages[-1]
        begin = last.dropped.start if last.dropped else dropped.start
        passages[-1] = evolve(last, dropped=range(begin, dropped.stop), kept=kept)
    if override:
        passages[-1] = evolve(passages[-1], overridden=override)


def items(payload: Payload) -> list[tuple[str, tuple[str, ...]]]:
    """The payload's non-empty fields as (label, items)."""
    fields = []
    for name, label in FIELDS:
        value = getattr(payload, name)
        listed = (value,) if isinstance(value, str) else value or ()
        if texts := tuple(text for text in listed if text.strip().casefold() not in ("", "none", "not stated")):
            fields.append((label, texts))
    return fields


def quoted(payload: Payload, messages: Sequence[Message]) -> list[tuple[str, ...]]:
    """Labels of payload fields that quote each message."""
    keys = [
        (label, key)
        for label, listed in items(payload)
        for text in listed
        if (key := sources.key(sources.plain(text.removesuffix("…"))))
    ]
    labels = dict(FIELDS)
    pairs = (source.partition(" ") for source in payload.sources)
    named = sorted({(rest, labels.get(name, name)) for name, _, rest in pairs})
    quotes = []
    for message in messages:
        plain, short = sources.plain(message.text), sources.short_id(message.id)
        fitting = [label for label, key in keys if key in plain] + [label for ident, label in named if ident == short]
        quotes.append(tuple(dict.fromkeys(fitting)))
    return quotes
