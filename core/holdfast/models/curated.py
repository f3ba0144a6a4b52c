"""The decision about curated memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from attrs import field, frozen

from holdfast.models.checks import items, made, must_be_text


@frozen(kw_only=True)
class CuratedEntry:
    """One permanent line for curated memory; ``replaces`` names the line that it corrects, if any."""

    text: str = field(validator=must_be_text)
    replaces: str = field(default="", validator=must_be_text)


CuratedLines: TypeAlias = Sequence[CuratedEntry | str | Mapping[str, str]]


def _entries(value: CuratedLines, name: str) -> tuple[CuratedEntry, ...]:
    return tuple(
        CuratedEntry(text=v) if isinstance(v, str) else made(CuratedEntry, v, f"{name}[{number}]")
        for number, v in enumerate(items(value, name))
    )


def _memory(value: CuratedLines) -> tuple[CuratedEntry, ...]:
    return _entries(value, "memory")


def _user(value: CuratedLines) -> tuple[CuratedEntry, ...]:
    return _entries(value, "user")


@frozen(kw_only=True)
class CuratedDecision:
    """The explicit decision about MEMORY.md and USER.md. Without entries it is ``none``. An entry may be given as a
    string or as a mapping with ``text`` and ``replaces``."""

    memory: tuple[CuratedEntry, ...] = field(default=(), converter=_memory)
    user: tuple[CuratedEntry, ...] = field(default=(), converter=_user)

    @property
    def is_none(self) -> bool:
        return not (self.memory or self.user)
