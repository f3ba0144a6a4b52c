"""The extraction record: which messages of a session were extracted, for which plugin.

It is kept in the session's journal, one record of kind ``extracted`` for each piece and plugin, because a purge, a
scrub and retention then treat it as they treat the messages themselves. The record is written after the facts are
stored and before the piece leaves the queue. So a crash loses nothing, and a piece with a record is not asked again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from holdfast.fs import durable, safeopen
from holdfast.fs.records import decode
from holdfast.journal.journal import Journal

_LINE: Final = b'{"kind":"extracted",'  # how its line begins, since the kind is the first key


class Extracted(NamedTuple):
    """One extracted piece, with message ids ``covers``, extracted for ``plugin`` with its redacted summary
    ``summary``; also an abandoned piece."""

    plugin: str
    covers: tuple[str, ...]
    summary: str = ""


def record(one: Extracted) -> dict[str, Any]:
    """The journal's record."""
    made: dict[str, Any] = {"kind": "extracted", "plugin": one.plugin, "covers": list(one.covers)}
    if one.summary:
        made["summary"] = one.summary
    return made


def read(journal: Journal) -> list[Extracted]:
    """A session's extraction record, oldest first. Unreadable lines are skipped. Raises: Unavailable."""
    return list(_read(journal))


def _read(journal: Journal) -> Iterator[Extracted]:
    try:
        with safeopen.reader(journal.path) as file:
            for line in file:
                found = decode(line.rstrip(b"\n")) if line.startswith(_LINE) else None
                if found is not None and isinstance(found.get("covers"), list):
                    yield Extracted(
                        str(found.get("plugin", "")),
                        tuple(map(str, found["covers"])),
                        str(found.get("summary", "")),
                    )
    except (FileNotFoundError, IsADirectoryError):
        return
    except OSError as error:
        raise durable.unavailable(error, journal.path, "read") from error


def of(account: Collection[Extracted], plugin: str) -> set[str]:
    """Ids of the messages that ``plugin`` has extracted, or will not."""
    return {message_id for one in account if one.plugin == plugin for message_id in one.covers}
