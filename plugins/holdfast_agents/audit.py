"""What a client's summary lost of what was flushed: objective, next step, blockers, pointers.

The summary goes on as the model's only memory of the conversation, so whatever it dropped is put back in front of the
model at the next chance. Words decide, not meaning: a text counts as kept when enough of its words stand in the summary
and all of what cannot be worded otherwise (numbers, names of files, identifiers).

Between finding and telling, only names of fields are kept (``state/agents/STEM.lost``); the texts come from the
handoff.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from holdfast.fs import durable, private, safeopen
from holdfast.journal.journal import file_stem
from holdfast.text import untrusted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.flush.handoff import Work

#: The parts of a handoff that a summary must not lose, as they are told.
LABELS: Mapping[str, str] = {
    "objective": "Objective",
    "next_action": "Next step",
    "blockers": "Blockers",
    "artifacts": "Artifacts",
    "follow_ups": "Promised",
}
_ENOUGH = 0.6
_WORD = re.compile(r"[\w#][\w./#:@-]*\w|\w", re.UNICODE)
_EXACT = re.compile(r"\d|[/_#@]|\w\.\w|[a-z][A-Z]")
_SHORT = 3
_MOST = 65536  # bytes of the file of names that are read


def lost(work: Work, summary: str) -> tuple[str, ...]:
    """Names of the fields of ``work`` that ``summary`` does not tell of, in the order of :data:`LABELS`."""
    told = summary.casefold()
    words = set(_WORD.findall(told))
    return tuple(name for name in LABELS if any(not _is_kept(text, told, words) for text in _texts(work, name)))


def tell(work: Work, names: Iterable[str]) -> str:
    """What is put before the model; empty when there is nothing to tell."""
    lines = []
    for name in (n for n in LABELS if n in set(names)):
        texts = [" ".join(t.split()) for t in _texts(work, name)]
        if texts:
            lines.append(f"- {LABELS[name]}: {'; '.join(texts)}")
    return "\n".join(lines)


def keep(state: str, session: str, names: Iterable[str]) -> None:
    """Remember what was lost until it is told. Raises: Unavailable."""
    private.make(state, "agents")
    durable.replace(path_of(state, session), json.dumps(list(names)).encode())


def kept(state: str, session: str) -> tuple[str, ...]:
    """What :func:`keep` remembered; empty when that is nothing."""
    try:
        names = untrusted.from_json(safeopen.read(path_of(state, session), _MOST))
    except (OSError, ValueError):
        return ()
    return tuple(n for n in names if n in LABELS) if isinstance(names, list) else ()


def forget(state: str, session: str) -> None:
    """It was told. Raises: Unavailable."""
    durable.remove(path_of(state, session))


def path_of(state: str, session: str) -> str:
    return os.path.join(state, "agents", f"{file_stem(session)}.lost")


def _texts(work: Work, name: str) -> tuple[str, ...]:
    value = getattr(work, name)
    texts = (value,) if isinstance(value, str) else tuple(value)
    return tuple(t for t in texts if t.strip() and t.strip(" .").casefold() not in ("none", "n/a", "nothing"))


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
