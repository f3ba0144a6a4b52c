"""Finds flushed work that a client's summary lost: objective, next step, blockers, pointers.

The summary becomes the model's only memory of the conversation, so lost items are shown to the model again at the next
chance. The check compares words, not meaning. An item counts as kept when the summary has enough of its words and all
of its numbers, file names and identifiers, which cannot be reworded.

Until the model has seen them, only field names are stored (``state/agents/STEM.lost``). The values come from the
handoff.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from holdfast.fs import durable, private, safeopen
from holdfast.journal.journal import file_stem
from holdfast.text import untrusted
from holdfast.text.lazy import Lazy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.flush.handoff import Work

#: The handoff fields that a summary must not lose, with the labels shown to the model.
LABELS: Mapping[str, str] = {
    "objective": "Objective",
    "next_action": "Next step",
    "blockers": "Blockers",
    "artifacts": "Artifacts",
    "follow_ups": "Promised",
}
_ENOUGH = 0.6
_WORD = Lazy(r"[\w#][\w./#:@-]{0,200}\w|\w")
_EXACT = Lazy(r"\d|[/_#@]|\w\.\w|[a-z][A-Z]")
_SHORT = 3
_MOST = 65536  # maximum bytes read from the file of names


def lost(work: Work, summary: str) -> tuple[str, ...]:
    """Names of ``work``'s fields that ``summary`` lacks, in the order of :data:`LABELS`."""
    told = summary.casefold()
    words = set(_WORD.findall(told))
    return tuple(name for name in LABELS if any(not _is_kept(text, told, words) for text in _texts(work, name)))


def describe(work: Work, names: Iterable[str]) -> str:
    """The lines shown to the model. Empty when nothing was lost."""
    lines = []
    for name in (n for n in LABELS if n in set(names)):
        strings = [" ".join(t.split()) for t in _texts(work, name)]
        if strings:
            lines.append(f"- {LABELS[name]}: {'; '.join(strings)}")
    return "\n".join(lines)


def keep(state: str, session: str, names: Iterable[str]) -> None:
    """Store the names of lost fields until the model has seen them. Raises: Unavailable."""
    private.make(state, "agents")
    durable.replace(path_of(state, session), json.dumps(list(names)).encode())


def kept(state: str, session: str) -> tuple[str, ...]:
    """The names stored by :func:`keep`."""
    try:
        names = untrusted.from_json(safeopen.read(path_of(state, session), _MOST))
    except (OSError, ValueError):
        return ()
    return tuple(n for n in names if n in LABELS) if isinstance(names, list) else ()


def forget(state: str, session: str) -> None:
    """Remove the stored names, after the model has seen them. Raises: Unavailable."""
    durable.remove(path_of(state, session))


def path_of(state: str, session: str) -> str:
    return os.path.join(state, "agents", f"{file_stem(session)}.lost")


def _texts(work: Work, name: str) -> tuple[str, ...]:
    value = getattr(work, name)
    strings = (value,) if isinstance(value, str) else tuple(value)
    return tuple(t for t in strings if t.strip() and t.strip(" .").casefold() not in ("none", "n/a", "nothing"))


def _is_kept(text: str, told: str, words: set[str]) -> bool:
    if " ".join(text.casefold().split()) in told:
        return True
    exact = [w.casefold() for w in _WORD.findall(text) if _EXACT.search(w)]
    if any(w not in told for w in exact):
        return False
    wanted = set(_words(text.casefold()) or _WORD.findall(text.casefold()))
    return len(wanted & words) >= _ENOUGH * len(wanted)


def _words(text: str) -> list[str]:
    return [w for w in _WORD.findall(text) if len(w) > _SHORT or _EXACT.search(w)]
