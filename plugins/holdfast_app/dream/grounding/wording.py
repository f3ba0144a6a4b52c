"""How many of a line's words are its sources' words.

No measure of alignment, order or omission distinguishes a true line in other words from a false one.
So a line with many words that its source sentences do not have is doubted, whatever these words are.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from holdfast_app.dream.grounding.lexicon import GENERIC
from holdfast_app.dream.grounding.line import Line, feature
from holdfast_app.dream.grounding.relations import clauses
from holdfast_app.dream.grounding.tokens import Token

#: Maximum number of sentences compared with a clause.
_SENTENCES: Final = 8


class Wording(NamedTuple):
    """Of a line's ``total`` words, ``unsaid`` are in no sentence that their clause could be from."""

    unsaid: tuple[str, ...]
    total: int

    @property
    def is_free(self) -> bool:
        """Whether a third of the words or more is unsaid."""
        return 3 * len(self.unsaid) >= self.total > 0

    @property
    def coverage(self) -> float:
        """The share of words that are said, 0 to 1 (1 for a line without words)."""
        return round(1 - len(self.unsaid) / self.total, 3) if self.total else 1.0


def wording(line: Line) -> Wording:
    """A compared line's words. Each clause may be from another sentence."""
    unsaid, count = list[str](), 0
    parts = clauses(line.body)
    for part in parts:
        tokens = [t for t in part.tokens if t.is_claim or t.root not in GENERIC]
        read = [t for t in tokens if not _is_reckoned(line, t)]
        near = line.matches if len(parts) == 1 else line.near(part.tokens)
        lacks = [[t.text for t in read if not m.unit.says(*feature(t), alone=True)] for m in near[:_SENTENCES]]
        fewest = min(lacks or [[t.text for t in read]], key=len)
        unsaid += fewest
        count += len(tokens)
    return Wording(tuple(unsaid), count)


def _is_reckoned(line: Line, token: Token) -> bool:
    """Whether a value is in no source. Whether it follows from one is checked elsewhere."""
    return token.is_claim and any(map(str.isdigit, token.text)) and not line.evidence.offers(token.wants)
