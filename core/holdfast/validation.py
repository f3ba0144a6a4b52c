"""A validator's input. A named tuple, not an attrs value, because this is on the path that runs at every agent
event, and importing attrs there would cost more than everything else together (docs/decisions/0002-hot-path.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

#: Maximum characters in a document to check or edit. A larger document would be of no use as memory.
MAX_DOCUMENT_CHARS: Final = 5_000_000

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.models import Finding

#: Characters checked per deadline. Short strings are grouped up to this size for one validator call.
CHUNK_CHARS = 200_000


class ValidationRequest(NamedTuple):
    """Content on its way to storage, or already stored and being checked.

    ``surface`` is a :class:`holdfast.config.layout.Surface`; ``name`` its document (``""`` without
    one); ``text`` the content itself; ``sources`` the material it was made from, as ``(name, text)`` pairs, for
    checks that compare (grounding); ``stored`` is true when the text is already in the store (``holdfast validate``);
    ``entailed`` are lines that a judge found in the sources where words cannot prove them; ``outgoing`` is true when
    stored text is about to be shown, where only findings with a replacement count.
    """

    surface: str
    name: str
    text: str
    sources: tuple[tuple[str, str], ...] = ()
    stored: bool = False
    entailed: tuple[str, ...] = ()
    outgoing: bool = False


class Chunks(NamedTuple):
    """The findings on a long document, found step by step. A validator returns it instead of a sequence.

    Each step yields findings with spans in the whole document, and has its own deadline.
    """

    steps: Iterator[Sequence[Finding]]


def can_mask(finding: Finding, text: str) -> bool:
    """Whether the finding has a usable replacement. A span outside of the text, or of zero length, hides nothing."""
    if finding.span is None or finding.replacement is None:
        return False
    start, end = finding.span
    return 0 <= start < end and start < len(text)


def mask(text: str, findings: list[Finding]) -> str:
    """Replace each finding's span. Overlapping spans are all covered by the replacement for the first and then longest
    span, so no part of any span stays."""
    spans = sorted(
        ((*f.span, f.replacement) for f in findings if f.span and f.replacement is not None and can_mask(f, text)),
        key=lambda s: (s[0], -s[1]),
    )
    out: list[str] = []
    position = 0
    for start, end, replacement in spans:
        if start >= position:
            out += (text[position:start], replacement)
        position = max(position, min(len(text), end))
    return "".join([*out, text[position:]])
