"""Find a session by its id or the beginning of it, name it for people, and read its messages."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from holdfast import Holdfast
from holdfast.errors import HoldfastError, NotFound
from holdfast.journal import safety
from holdfast.text.humanize import nearest
from holdfast.text.lazy import Lazy
from holdfast_app.authorship.sources import short_id
from holdfast_app.journal.journal import Journal
from holdfast_app.printable import cut
from holdfast_app.trust import statefolders

#: Minimum length of the accepted beginning of an id.
_PREFIX = 4
#: A UUID, alone or after its client's prefix (``claude-code-``).
_UUID: Final = Lazy(r"((?:[a-z-]+-)?)[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
#: Length of a short id. The first 12 digits of a version 7 UUID are a time, so neighbours share fewer of them.
_SHORT, _SHORT_OF_TIME = 8, 13
#: Maximum length of a title, in characters.
_TITLE: Final = 80


def resolve(memory: Holdfast, name: str) -> str:
    """The session with the id ``name``, or the only session whose id begins with it. Raises: NotFound; Unavailable."""
    if session := begun(memory, name):
        return session
    raise unknown(memory, name)


def has_begun(memory: Holdfast, session_id: str) -> bool:
    """Whether the session has a journal or an UNSAFE marker."""
    state = memory.services.state
    session_id = memory.services.gate.identifier(session_id)
    return Journal(state, session_id).exists() or safety.read(state, session_id) is not None


def begun(memory: Holdfast, name: str, *, printed: bool = False) -> str:
    """The session with the id ``name``, or the only one whose id begins with it. Empty where there is none.

    With ``printed``, the beginning must hold the id's short form, so that a name never stands for a longer one. Raises:
    NotFound when several begin with it; Unavailable.
    """
    name = memory.services.gate.identifier(name)
    if has_begun(memory, name):
        return name
    matches = sorted(session for session in memory.sessions() if session.startswith(name))
    if printed:
        matches = [session for session in matches if name.startswith(short(session))]
    if len(name) < _PREFIX or not matches:
        return ""
    if len(matches) > 1:
        step = f"Type more of the id: {', '.join(matches[:4])}{', ...' if len(matches) > 4 else ''}."
        raise NotFound(f"{len(matches)} sessions begin with {name!r}.", next_step=step)
    return matches[0]


def short(session: str) -> str:
    """A UUID's first characters, after the client's prefix. Other ids are names and stay whole."""
    match = _UUID.fullmatch(session)
    return session[: len(match[1]) + (_SHORT_OF_TIME if match[2] == "7" else _SHORT)] if match else session


def shorts(sessions: Iterable[str]) -> dict[str, str]:
    """The short form of each id, and of those that share one the whole id."""
    known = dict.fromkeys(sessions)
    often = Counter(map(short, known))
    return {session: short(session) if often[short(session)] == 1 else session for session in known}


def titles(memory: Holdfast, sessions: Iterable[str]) -> dict[str, str]:
    """The first words that the user wrote in each session, masked and on one line. Empty where there are none.

    Raises: Unavailable.
    """
    first = {session: _first(memory, session) for session in sessions}
    masked = memory.services.gate.outgoing_all(list(first.values()), surface="journal")
    return {session: cut(text, _TITLE) for session, text in zip(first, masked, strict=True)}


def _first(memory: Holdfast, session: str) -> str:
    from holdfast_app.authorship.ownwords import own_words  # `holdfast status` needs no titles

    try:
        rows = (entry.record for entry in Journal(memory.services.state, session).of_kinds("message"))
        return next(filter(None, (own_words(str(row["text"])) for row in rows if row["role"] == "user")), "")
    except (HoldfastError, ValueError):
        return ""


def is_named(message_id: str, name: str) -> bool:
    """Whether ``name`` is the id, its beginning or its short id."""
    return message_id.startswith(name) or short_id(message_id) == name


def messages(
    memory: Holdfast, session: str, *, around: str | None = None, span: int = 0, dropped: bool = False
) -> list[dict[str, Any]]:
    """A session's message records, in order, as stored. Mask them before showing them.

    With ``around``, only the message with that id or short id, or the only one whose id begins with it, and ``span``
    messages before and after it. With ``dropped``, only those that the last compaction dropped, if one dropped any.
    Raises: NotFound; Unavailable.
    """
    journal = Journal(memory.services.state, session)
    if not journal.exists():
        raise unknown(memory, session)
    first, to = _dropped(journal) if dropped else (0, journal.size())
    entries = (entry for entry in journal.of_kinds("message") if first <= entry.start < to)
    records = list({entry.record["id"]: entry.record for entry in entries}.values())
    if around is None:
        return records
    at = next((number for number, record in enumerate(records) if record["id"] == around), -1)
    if at < 0 and len(around) >= _PREFIX:
        begun = [number for number, record in enumerate(records) if is_named(record["id"], around)]
        at = begun[0] if len(begun) == 1 else -1
    if at < 0:
        step = f"`holdfast sessions show {session}` lists them all."
        raise NotFound(f"Session {session!r} has no message {around!r}.", next_step=step)
    return records[max(at - span, 0) : at + span + 1]


def _dropped(journal: Journal) -> tuple[int, int]:
    """The offsets between which the last compaction dropped messages, or of all. An end drops nothing from a client."""
    ends, before = [0], 0
    for entry in journal.of_kinds("checkpoint"):
        now = entry.record["kept_from"]
        if now != before and not entry.record["ended"]:
            ends.append(now)
        before = now
    return (ends[-2], ends[-1]) if ends[1:] else (0, journal.size())


def unknown(memory: Holdfast, session: str) -> NotFound:
    """The error for an unknown session, with the id that was probably meant."""
    session, known = memory.services.gate.identifier(session), memory.sessions()
    step = f"`holdfast sessions` lists the sessions. {memory.config.retention.of_turns}"
    if statefolders.apart(memory.services.root, memory.services.state):
        step = "It may be in state that was put aside: `holdfast trust --adopt-state` shows it."
    if near := nearest(session, [*known, *map(short, known)]):
        step = f"Did you mean `{near}`?"
    return NotFound(f"There is no session {session!r}.", next_step=step)
