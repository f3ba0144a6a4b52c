"""The daily notes that a dream reads: recent notes with content, and the digest that identifies them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from holdfast.config.layout import Surface
from holdfast.text.plain import lines
from holdfast_app.markdown.lines import read_line

if TYPE_CHECKING:
    from holdfast_app.base import Services


class Note(NamedTuple):
    """A daily note."""

    day: date
    name: str
    text: str


def window(services: Services, days: int) -> list[Note]:
    """Notes from the last ``days`` calendar days, including today, oldest first. Notes with only a title are left
    out. So are withheld passages, because a dream's result would count as written here. Source: readings
    A25, A26."""
    today = services.now().date()
    found = []
    for name in services.store.backend.names(services.layout.prefix(Surface.DAILY)):
        day = services.layout.day_of(Surface.DAILY, name)
        document = services.store.read(name) if day is not None and 0 <= (today - day).days < days else None
        if day is None or document is None:
            continue
        text = services.store.sifted(document).text
        if content(text):
            found.append(Note(day, name, text))
    return sorted(found)


def content(text: str) -> str:
    """A note without its title."""
    text = text.removeprefix("\ufeff").strip()
    _, first = next(lines(text), (0, ""))
    return text[len(first) :].strip() if read_line(first).level == 1 else text


def digest_of(notes: Sequence[Note]) -> str:
    """A digest of the days and bytes of the notes. Source: reading A27."""
    digest = hashlib.sha256()
    for day, _, text in notes:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(f"{day.isoformat()} {len(data)}\n".encode() + data)
    return digest.hexdigest()
