"""Input and output of a dream."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen


@frozen(kw_only=True)
class DreamSources:
    """A dream's sources: current MEMORY.md and the daily notes, oldest first, as (name, text).

    ``confirmed`` lists when items of the memory were last confirmed, as (item, time). Items may be missing.
    """

    memory: str
    notes: tuple[tuple[str, str], ...]
    confirmed: tuple[tuple[str, datetime], ...] = ()


@frozen(kw_only=True)
class DreamDraft:
    """A proposed MEMORY.md and diary entry. Core gates both before anything changes."""

    memory: str
    diary: str = ""
