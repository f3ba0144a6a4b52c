"""The outcome of every line of the memory before and after a dream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holdfast.text.plain import same_key
from holdfast_app.dream.consolidate import Before
from holdfast_app.dream.dreamlog import DreamResult, Gone, Supported
from holdfast_app.dream.grounding import ground


class Compared(NamedTuple):
    """``lines`` is the new memory with its evidence. Of the old items, ``merged`` went into others, newer statements
    replaced the ``replaced`` ones, and ``dropped`` ones were removed, each with its reason."""

    lines: list[Supported]
    merged: list[Gone]
    replaced: list[Gone]
    dropped: list[Gone]


def compare(
    before: Before,
    new: str,
    after: Sequence[str],
    sources: tuple[tuple[str, str], ...],
    *,
    result: DreamResult,
    days: Mapping[str, str],
) -> Compared:
    """Compare the items ``before`` with those ``after``, parsed from ``new``. The ``archived`` items of ``result`` are
    in neither list of old items. A reason in its ``refused`` explains a dropped item. ``days`` has the day on which an
    old item was last said."""
    still = {same_key(text) for text in after} | {same_key(one.text) for one in result.archived}
    lines = supported(before, after, sources)
    # An old item that a model left out counts as merged when a new one has all its words, and proves it.
    merged: list[Gone] = []
    older: list[Gone] = []
    dropped: list[Gone] = []
    newer = before.replaced(after)
    reasons = {same_key(one.text): one.reason for one in result.refused}
    there = new.splitlines()
    gone = [text for text in before.items if same_key(text) not in still]
    for found in ground(gone, [("new", new)]):
        best = found.supports[0] if found.supports else None
        if heir := newer.get(found.text):
            older.append(Gone(text=found.text, reason=f"now: {heir}", said=days.get(found.text, "")))
        elif best is not None and found.ok and _holds(line := there[best.line - 1].removeprefix("- "), found.text):
            merged.append(Gone(text=found.text, reason=f"now in: {line}"))
        else:
            reason = reasons.get(same_key(found.text), "left out by the dream")
            dropped.append(Gone(text=found.text, reason=reason))
    return Compared(lines, merged, older, dropped)


def supported(before: Before, after: Sequence[str], sources: Sequence[tuple[str, str]]) -> list[Supported]:
    """The items ``after`` a dream with their evidence."""
    return [
        Supported(
            text=found.text,
            sources=[f"{support.document}:{support.line}" for support in found.supports],
            kept=before.has(found.text),
        )
        for found in ground(after, sources)
    ]


def _holds(new: str, old: str) -> bool:
    """Whether ``new`` has all words of ``old`` in their order."""
    rest = iter(same_key(new).split())
    return all(word in rest for word in same_key(old).split())
