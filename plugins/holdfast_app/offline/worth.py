"""Whether the text after a cue is a statement at all. Few good facts are better than many doubtful ones."""

from __future__ import annotations

import re
from typing import Final

from holdfast.text.lazy import Lazy

_WORD: Final = Lazy(r"\w+")
_WIDE: Final = Lazy(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # scripts without blanks between words
_LEAST_WORDS: Final = 2
#: An offer or a condition about the reader's wishes, which states nothing about the reader.
_OFFER: Final = Lazy(
    r"\b(?:if|whichever|whatever|unless|as|should) you(?:['’]d| would)? (?:prefer|like|want|wish|need)\b"
    r"|\b(?:let me know|feel free|would you like|do you want|shall i)\b",
    re.IGNORECASE,
)
#: Prompts of harnesses and templates address any worker, not a person with habits.
_PROMPT: Final = Lazy(
    r"\byou (?:must|can|may|should|will|are) (?:only|now|always|never|not|be given|a|an)\b|\byour (?:task|response"
    r"|answer|output|final answer) (?:is|must|should|will)\b|\brespond (?:only|with)\b|\bstep by step\b",
    re.IGNORECASE,
)
#: Endings that show that the text was cut off or continues later.
_CUT: Final = Lazy(
    r"(?:\.\.\.|…|[,;:(\[{\\|&=]|\b(?:and|or|but|the|a|an|to|of|in|on|at|for|with|that|is|are|was|as|if|because))$",
    re.IGNORECASE,
)
_POINTS_BACK: Final = Lazy(r"(?:this|that|it|these|those|they) \S+$|[)\]}>|,;]", re.IGNORECASE)
_CODE: Final = Lazy(r"[{}]|;\s*$|\s&&\s|=>|\bMozilla/|^\s*[$#>]\s|</?\w++[^<>]*>")


def is_statement(text: str) -> bool:
    """Whether ``text`` is usable as a fact: complete, and not an exclamation, question, offer, prompt or code."""
    text = text.strip().strip("*_")
    if not text or text.endswith(("!", "?")) or _CUT.search(text) or _POINTS_BACK.match(text):
        return False
    letters = [c for c in text if c.isalpha()]
    shouted = len(letters) > 12 and sum(c.isupper() for c in letters) > 0.8 * len(letters)
    if shouted or _OFFER.search(text) or _PROMPT.search(text) or _CODE.search(text):
        return False
    return len(_WORD.findall(text)) >= _LEAST_WORDS or len(_WIDE.findall(text)) > _LEAST_WORDS or _names(text)


def _names(text: str) -> bool:
    """Whether short text names a value (two words, one with a digit) or code: "port 8080", "use `uv`"."""
    words = text.split()
    return len(words) > 1 and any("`" in w or any(c.isdigit() for c in w) or "_" in w for w in words)
