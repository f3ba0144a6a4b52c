"""Splits text into sentences."""

import re
from collections.abc import Iterator
from typing import Final

from holdfast.text.lazy import Lazy

#: The punctuation comes first, so the search can skip to it. Abbreviations are checked from there by lookbehind, also a
#: day of a month, as German writes it, and an ellipsis amid a sentence.
_SHORTENED: Final = (
    "e.g i.e etc vs approx Dr Mr Mrs Ms Prof St Inc Ltd Nr Fa Hr Hrn Fr z.B d.h bzw ca vgl usw"
    " Jan Feb Aug Sept Oct Nov Dec"
)
_MONTHS: Final = "Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|[a-zäöü]"
_END: Final = Lazy(
    r"[.!?](?<!^\d.)(?<!^\d\d.)(?<!\b[a-z].)(?<!\bz. B.)(?<!\b[ia]m \d.)(?<!\b[ia]m \d\d.)"
    + "".join(rf"(?<!\b{re.escape(word)}.)" for word in _SHORTENED.split())
    + rf"(?!(?:(?<=\b\d.)|(?<=\b\d\d.)|(?<=\.\.\.)) (?:{_MONTHS}))[\"')\]*]*\s+|[。！？][\"'）」』]*\s*"
)


def split(text: str) -> Iterator[tuple[int, str]]:
    """(offset, sentence) of ``text``, each sentence with the blanks after it."""
    start = 0
    for end in _END.finditer(text):
        yield start, text[start : end.end()]
        start = end.end()
    if start < len(text):
        yield start, text[start:]
