"""A validator's input. A named tuple, not an attrs value, because this is on the path that runs at every agent
event, and importing attrs there would cost more than everything else together (docs/decisions/0002-hot-path.md).
"""

from __future__ import annotations

from typing import Final, NamedTuple

#: Maximum characters in a document to check or edit. A larger document would be of no use as memory.
MAX_DOCUMENT_CHARS: Final = 5_000_000

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.models import Finding

#: Characters checked per deadline. Short strings are grouped up to this size for one validator call.
CHUNK_CHARS = 200_000


class ValidationRequest(NamedTuple):
    """Content on its way to storage, or already stored and being checked.

    ``surface`` is one of :data:`holdfast.config.layout.SURFACES`; ``name`` its document (``""`` without
    one); ``text`` the content itself; ``sources`` the material it was made from, as ``(name, text)`` pairs, for
    checks that compare (grounding); ``stored`` is true when the text is already in the store (``holdfast validate``);
    ``entailed`` are lines that a judge found in the sources where words cannot prove them.
    """

    surface: str
    name: str
    text: str
    sources: tuple[tuple[str, str], ...] = ()
    stored: bool = False
    entailed: tuple[str, ...] = ()


class Chunks(NamedTuple):
    """The findings on a long document, found step by step. A validator returns it instead of a sequence.

    Each step yields findings with spans in the whole document, and has its own deadline.
    """

    steps: Iterator[Sequence[Finding]]
