"""What a validator is shown. A named tuple, not an attrs value: this is on the path that runs at every agent
event, and importing attrs there would cost more than everything else together (docs/decisions/0002-hot-path.md).
"""

from __future__ import annotations

from typing import Final, NamedTuple

#: A document with more characters is not checked, and not edited: it would be of no use as memory.
MAX_DOCUMENT_CHARS: Final = 5_000_000

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.models import Finding

#: A deadline counts for this many characters. Of many short texts as many are put into one question.
PORTION_CHARS = 200_000


class Subject(NamedTuple):
    """One text on its way to storage, or already stored and being checked.

    ``surface`` is one of :data:`holdfast.config.layout.SURFACES`; ``name`` the document it belongs to (``""`` when it
    has none); ``text`` the text itself; ``sources`` the texts it was made from, as ``(name, text)`` pairs, for checks
    that compare (grounding); ``stored`` is true when the text already lies in the store (``holdfast validate``);
    ``entailed`` are lines of the text that a judge found in the sources where words cannot prove them.
    """

    surface: str
    name: str
    text: str
    sources: tuple[tuple[str, str], ...] = ()
    stored: bool = False
    entailed: tuple[str, ...] = ()


class Portions(NamedTuple):
    """The findings on a long text, found step by step: a validator returns it instead of a sequence.

    Each step yields findings with spans in the whole text, and has a deadline of its own.
    """

    steps: Iterator[Sequence[Finding]]
