"""Replies that pick an entry of a list or table in the agent's last answer: "B" of "| B | At noon |", "let's do 5".

A letter is the whole reply and names an option. A number may begin a request.
"""

from __future__ import annotations

import re
from typing import Final

from holdfast.text.lazy import Lazy

_LETTER: Final = Lazy(r"\W{0,3}(?:(?:option|answer|choice) )?([A-H])\W{0,3}\Z", re.IGNORECASE)
_NUMBER: Final = Lazy(
    r"(?:(?:ok(?:ay)?|yes|so|and|let['’]?s|i['’]?d|i would)[, ]+)*"
    r"(?:(?:do|go with|take|start with|try|pick|choose|fix|say)[, ]+)?"
    r"(?:the )?(?:option|number|item|no\.|#|todo|task|issue )? ?#?(\d{1,2})(?![\d.]*\w)(?![.)] \S)",
    re.IGNORECASE,
)
#: A table row or list entry; its letter or number replaces ``{0}``.
_ENTRY: Final = r"^[ \t]*(?:[-*] )?(?:\|[ \t]*#?{0}[ \t]*\||\**(?:Option )?{0}[.):]\**[ \t])(.+)$"


def picked(answer: str, own: str) -> str:
    """The entry of ``answer`` that the user's words ``own`` pick, its cells joined; empty without one."""
    pick = _LETTER.match(own.strip()) or _NUMBER.match(own)
    entry = re.search(_ENTRY.format(pick[1].upper()), answer, re.MULTILINE) if pick else None
    cells = entry[1].replace("**", "").strip("| ").split("|") if entry else []
    return " · ".join(cell.strip() for cell in cells if cell.strip())
