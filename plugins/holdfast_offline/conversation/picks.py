"""A reply of one letter picks an option that the agent's last answer lists: "B" of "| B | Ship at noon |"."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from holdfast.text.lazy import Lazy

_PICK: Final = Lazy(r"\W{0,3}(?:(?:option|answer|choice) )?([A-H])\W{0,3}", re.IGNORECASE)
#: A row of a table with two columns, or an entry of a list.
_ROW: Final = Lazy(r"^[ \t]*\|[ \t]*\**(?:Option )?([A-H])\**[ \t]*\|([^|\n]+)\|?[ \t]*$", re.MULTILINE)
_ENTRY: Final = Lazy(r"^[ \t]*(?:[-*] )?\**(?:Option )?([A-H])\**[.):]\**[ \t]+(\S[^\n]*)$", re.MULTILINE)
#: What the options are about: the last question or heading before them.
_SUBJECT: Final = Lazy(r"^[ \t]*#{1,6} ([^|\n]{12,200})$|([^\n.!?|]{12,300}\?)", re.MULTILINE)
_LABEL: Final = Lazy(r"\W*question(?: \d+)?(?: (?:of|/) ?\d+| is)?\W*[:—–-]\W*", re.IGNORECASE)
_LEAST_WORDS: Final = 4
#: Number of characters to search for the subject, before the options.
_NEAR: Final = 2_000


class Option(NamedTuple):
    """The option's ``text`` and its ``question``, which may be a heading; empty without one. ``row``: whether a table
    lists the options, as when a tool prints a form. A list may also hold offers and next steps."""

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
            return Option(_plain(text), _subject(answer[: found[0].start()]), row=pattern is _ROW)
    return None


def _subject(before: str) -> str:
    found = [one[1] or one[2] for one in _SUBJECT.finditer(before[-_NEAR:])]
    subject = _plain(_LABEL.sub("", found[-1], count=1)) if found else ""
    if len(subject.split()) < _LEAST_WORDS:
        return ""
    return subject if subject.endswith("?") else f"{subject.rstrip(':')}:"


def _plain(text: str) -> str:
    return " ".join(text.replace("**", "").split()).strip("*_ ")
