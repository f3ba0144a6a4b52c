"""Sessions as people see them: a short id that commands accept again, and the session's first words."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from holdfast.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast import Holdfast

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
#: Length of a short id. The first 12 digits of a version 7 UUID are a time, so neighbours share fewer of them.
_SHORT, _SHORT_OF_TIME = 8, 13
#: Minimum length of an accepted prefix.
_LEAST: Final = 4
#: Maximum length of a title, in characters.
_TITLE: Final = 80


def short(session: str) -> str:
    """The beginning of a UUID. Other ids are names and stay whole."""
    found = _UUID.fullmatch(session)
    if not found:
        return session
    return session[: _SHORT_OF_TIME if found[1] == "7" else _SHORT]


def titles(memory: Holdfast, sessions: Iterable[str]) -> dict[str, str]:
    """The first words that the user wrote in each session, masked and on one line. Empty where there are none.

    Raises: Unavailable.
    """
    first = {session: _first(memory, session) for session in sessions}
    masked = memory.services.gate.outgoing_all(list(first.values()), surface="journal")
    return {session: " ".join(text.split())[:_TITLE] for session, text in zip(first, masked, strict=True)}


def _first(memory: Holdfast, session: str) -> str:
    from holdfast.errors import Corrupt
    from holdfast.journal import archive
    from holdfast.journal.journal import Journal

    journal = Journal(memory.services.state, session)
    said: Iterable[dict[str, Any]]
    if journal.exists():
        said = (entry.record for entry in journal.of_kinds("message"))
    else:
        try:
            said = archive.messages(memory.services.state, session)
        except Corrupt:
            return ""
    return next((str(one["text"]) for one in said if one["role"] == "user"), "")


def _archived(memory: Holdfast) -> Iterator[str]:
    """The sessions of the archive files that can be read."""
    from holdfast.errors import Corrupt
    from holdfast.journal import archive

    for path in archive.files(memory.services.state):
        with suppress(Corrupt):
            yield from (one["session"] for one in archive.read(path)[:1])


def resolve(memory: Holdfast, given: str) -> str:
    """The session with the id ``given``, or the only session whose id begins with it. Raises: NotFound; Unavailable."""
    from holdfast.journal import archive
    from holdfast.journal.journal import Journal

    if Journal(memory.services.state, given).exists() or archive.messages(memory.services.state, given):
        return given
    matches = sorted({one for one in (*memory.sessions(), *_archived(memory)) if one.startswith(given)})
    if len(matches) == 1 and len(given) >= _LEAST:
        return matches[0]
    if matches and len(given) >= _LEAST:
        raise NotFound(
            f"{len(matches)} sessions begin with {given!r}.",
            next_step=f"Give more of the id: {', '.join(matches[:4])}{', ...' if len(matches) > 4 else ''}.",
        )
    raise NotFound(
        f"There is no session {given!r}. {memory.config.retention.of_turns}",
        next_step="`holdfast sessions` lists the sessions.",
    )
