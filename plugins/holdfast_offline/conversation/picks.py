"""A reply of one letter picks an option that the agent's last answer lists: "B" of "| B | Ship at noon |"."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from holdfast.text.lazy import Lazy

_PICK: Final = Lazy(r"\W{0,3}(?:(?:option|answer|choice) )?([A-H])\W{0,3}", re.IGNORECASE)
#: A row of a table with two columns, or an entry of a list.
_ROW: Final = Lazy(r"^[ \t]*\|[ \t]*\**(?:Option )?([A-H])\**[ \t]*\|([^|\n]+)\|?[ \t]*$", re.MULTILINE)
_ENTRY: Final = Lazy(r"^[ \t]*(?:[-*] )?\**(?:Option )?([A-H])\**[.):]\**[ \t]+(\S[^\n]*)$", re.MULTILINE)
_QUESTION: Final = Lazy(r"[^\n.!?|]{12,300}\?")
_LABEL: Final = Lazy(r"\W*question(?: \d+)?(?: is)?\W*[:—–-]\W*", re.IGNORECASE)


class Option(NamedTuple):
    """The option's ``text`` and the ``question`` before the options, if there is one. ``row``: whether a table lists
    the options, as when a tool prints a form. A list may also hold offers and next steps."""

    text: str
    question: str
    row: bool


def picked(answer: str, own: str) -> Option | None:
    """The option of ``answer`` whose letter the user's words ``own`` consist of."""
    pick = _PICK.fullmatch(own.strip())
    if pick is None:
        return None
    for pattern in (_ROW, _ENTRY):
        found = list(pattern.finditer(answer))
        text = {one[1]: one[2] for one in found}.get(pick[1].upper(), "")
        if text and len(found) > 1:
            asked = _QUESTION.findall(answer, 0, found[0].start())
            question = _LABEL.sub("", asked[-1], count=1) if asked else ""
            return Option(_plain(text), _plain(question), row=pattern is _ROW)
    return None


def _plain(text: str) -> str:
    return " ".join(text.replace("**", "").split()).strip("*_ ")
