"""Replies that pick an entry of a list or table in the agent's last answer: "B" of "| B | At noon |", "let's do 5".

A letter is the whole reply and names an option. A number may begin a request.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from holdfast.text.lazy import Lazy

_LETTER: Final = Lazy(r"\W{0,3}(?:(?:option|answer|choice) )?([A-H])\W{0,3}", re.IGNORECASE)
#: A row of a table with two columns, or an entry of a list.
_ROW: Final = Lazy(r"^[ \t]*\|[ \t]*\**(?:Option )?([A-H])\**[ \t]*\|([^|\n]+)\|?[ \t]*$", re.MULTILINE)
_ENTRY: Final = Lazy(r"^[ \t]*(?:[-*] )?\**(?:Option )?([A-H])\**[.):]\**[ \t]+(\S[^\n]*)$", re.MULTILINE)
_NUMBER: Final = Lazy(
    r"(?:(?:ok(?:ay)?|yes|so|and|let['’]?s|i['’]?d|i would)[, ]+)*"
    r"(?:(?:do|go with|take|start with|try|pick|choose|fix|say)[, ]+)?"
    r"(?:the )?(?:option|number|item|no\.|#|todo|task|issue )? ?#?(\d{1,2})(?![\d.]*\w)(?![.)] \S)",
    re.IGNORECASE,
)
#: A table row or list entry; its number replaces ``{0}``.
_NUMBERED: Final = r"^[ \t]*(?:[-*] )?(?:\|[ \t]*#?{0}[ \t]*\||\**(?:Option )?{0}[.):]\**[ \t])(.+)$"
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
    pick = _LETTER.fullmatch(own.strip())
    if pick is None:
        return None
    for pattern in (_ROW, _ENTRY):
        found = list(pattern.finditer(answer))
        text = {one[1]: one[2] for one in found}.get(pick[1].upper(), "")
        if text and len(found) > 1:
            return Option(_plain(text), _subject(answer[: found[0].start()]), row=pattern is _ROW)
    return None


def numbered(answer: str, own: str) -> str:
    """The entry of ``answer`` whose number the user's words ``own`` begin with, its cells joined; empty without one."""
    number = _NUMBER.match(own)
    entry = re.search(_NUMBERED.format(number[1]), answer, re.MULTILINE) if number else None
    cells = entry[1].replace("**", "").strip("| ").split("|") if entry else []
    return " · ".join(cell.strip() for cell in cells if cell.strip())


def _subject(before: str) -> str:
    found = [one[1] or one[2] for one in _SUBJECT.finditer(before[-_NEAR:])]
    subject = _plain(_LABEL.sub("", found[-1], count=1)) if found else ""
    if len(subject.split()) < _LEAST_WORDS:
        return ""
    return subject if subject.endswith("?") else f"{subject.rstrip(':')}:"


def _plain(text: str) -> str:
    return " ".join(text.replace("**", "").split()).strip("*_ ")
