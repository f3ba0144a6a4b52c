"""Searches text with all layers and masks the hits."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import islice

from holdfast_redaction.budget import SECONDS, Budget, RedactionFailed
from holdfast_redaction.layers import context, pem, pii, presence, values
from holdfast_redaction.layers.exact import ASIDE, Formats
from holdfast_redaction.mark import Marker
from holdfast_redaction.patterns import KINDS, Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from holdfast_redaction.layers.presence import Keywords
    from holdfast_redaction.rules.loader import UserRules

#: Maximum searches after masking. The second finds nothing, except in odd input.
ROUNDS = 4
#: Maximum secrets whose repetitions are searched. Each costs a pass over the text.
_REPEATED = 100
#: A secret of at least this length is also masked inside a longer word.
_UNMISTAKABLE = 12
_PERSONAL = frozenset(KINDS[1:])
#: Characters per chunk, see :meth:`Scanner.in_chunks`.
CHUNK_CHARS = 200_000


class Scanner:
    """Finds secrets and personal data. Stateless except for compiled expressions.

    ``disabled`` names rules to leave out, ``kinds`` the personal data to find. ``extra`` searches with a user's own
    rules. ``allowed`` returns whether a value is not a secret in this project.
    """

    def __init__(
        self,
        *,
        disabled: frozenset[str] = frozenset(),
        kinds: frozenset[str] = _PERSONAL,
        extra: UserRules | None = None,
        allowed: Callable[[str], bool] | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self._formats = Formats(disabled)
        self._disabled = disabled
        self._kinds = kinds
        self._extra = extra
        self._allowed = allowed
        self._seconds = seconds

    def find(self, text: str, keywords: Keywords | None = None) -> list[Hit]:
        """All hits in text order, without overlaps. ``keywords`` are those that may occur, if known.

        Raises: RedactionFailed when a rule took too long, because the text may hold more.
        """
        hits: list[Hit] = []
        budget, lower = Budget(len(text), self._seconds), _lower(text)
        self._search_area(text, lower, 0, len(text), keywords or presence.find(text, lower), budget, hits)
        return self._judged(text, hits)

    def in_chunks(self, text: str, size: int = CHUNK_CHARS) -> Iterator[list[Hit]]:
        """:meth:`find` in steps, so that a caller sees progress in a long text: empty lists, then all hits.

        A hit begins in its chunk but may extend beyond it. Raises: like ``find``.
        """
        hits: list[Hit] = []
        start = 0
        while start < len(text):
            end = cut(text, start, size)
            budget, lower = Budget(len(text), self._seconds), _lower(text)
            first, last = max(0, start - ASIDE), end + ASIDE
            keywords = presence.find(text[first:last], lower[first:last])
            self._search_area(text, lower, start, end, keywords, budget, hits)
            start = end
            yield []
        yield self._judged(text, hits)

    def _judged(self, text: str, hits: list[Hit]) -> list[Hit]:
        """``hits`` plus the user's rules' hits and the repetitions of secrets, in order and without overlaps."""
        if self._extra:
            hits += self._extra.find(text, Budget(len(text), self._seconds))
        if not hits:
            return hits
        settled = self._settled(text, hits)
        # Also from before they were merged, because a neighbour that overlaps a secret becomes one long hit with it.
        again = _repeated(text, settled, hits)
        return self._settled(text, settled + again) if again else settled

    def _search_area(
        self, text: str, lower: str, start: int, end: int, keywords: Keywords, budget: Budget, hits: list[Hit]
    ) -> None:
        hits += self._formats.find(text, lower, keywords, budget, start, end)
        if text.find("-----BEGIN ", start, end) >= 0:
            hits += pem.find(text)
            budget.check("private-key")
        hits += context.find(text, lower, budget, start, end, words=keywords.words)
        if self._kinds:
            hits += pii.find(text, lower, self._kinds, budget, start, end)

    def _settled(self, text: str, hits: list[Hit]) -> list[Hit]:
        """The hits without disabled, allowed or already masked ones. Overlapping hits are merged."""
        starts, ends = _marks(text) if values.MARK in text else ((), ())
        merged: list[Hit] = []
        for hit in sorted(hits, key=_place) if len(hits) > 1 else hits:
            if hit.rule in self._disabled or (starts and _overlaps(hit, starts, ends)):
                continue
            if self._allowed and self._allowed(text[hit.start : hit.end]):
                continue
            last = merged[-1] if merged else None
            if last and hit.start < last.end:
                best = min(last, hit, key=_rank)
                merged[-1] = Hit(last.start, max(last.end, hit.end), best.rule, best.rank, best.kind)
            else:
                merged.append(hit)
        return merged


def cut(text: str, start: int, size: int) -> int:
    """Where a chunk of about ``size`` characters from ``start`` ends: after a line ending in its second half, or
    after a word, or anywhere."""
    stop = start + size
    if stop >= len(text):
        return len(text)
    half = start + size // 2
    return (text.rfind("\n", half, stop) + 1) or (text.rfind(" ", half, stop) + 1) or stop


def _rank(hit: Hit) -> int:
    return hit.rank


def _place(hit: Hit) -> tuple[int, int]:
    return hit.start, -hit.end


def _overlaps(hit: Hit, starts: Sequence[int], ends: Sequence[int]) -> bool:
    """Whether the hit overlaps an earlier redaction. Those are in order and do not touch."""
    before = bisect_right(starts, hit.end - 1)
    return before > 0 and ends[before - 1] > hit.start


def _repeated(text: str, settled: list[Hit], hits: list[Hit]) -> list[Hit]:
    """Repetitions of known secrets without a name: "password=X", and later a bare X. Without the ones already in
    ``settled`` under an equally good name."""
    if len(hits) == 1 and text.count(text[hits[0].start : hits[0].end]) < 2:
        return []
    known = {text[h.start : h.end]: h for h in settled + hits if h.kind == "secret" and 8 <= h.end - h.start <= 200}
    again: list[Hit] = []
    ranks: dict[tuple[int, int], int] = {}
    for secret in islice(known, _REPEATED):
        if text.count(secret) < 2:
            continue
        hit, at = known[secret], text.find(secret)
        if values.is_protected(secret) or not values.has_secret_mix(secret):
            continue
        ranks = ranks or {(h.start, h.end): h.rank for h in settled}
        while at >= 0:
            end = at + len(secret)
            apart = not (at and text[at - 1].isalnum()) and not text[end : end + 1].isalnum()
            if (apart or len(secret) >= _UNMISTAKABLE) and ranks.get((at, end), hit.rank + 1) > hit.rank:
                again.append(Hit(at, end, hit.rule, hit.rank))
            at = text.find(secret, end)
    return again


def mask(text: str, hits: list[Hit], placeholder: Callable[[str, str], str]) -> str:
    """``text`` with each hit replaced by ``placeholder(rule, secret)``."""
    out: list[str] = []
    at = 0
    for hit in hits:
        out += (text[at : hit.start], placeholder(hit.rule, text[hit.start : hit.end]))
        at = hit.end
    return "".join([*out, text[at:]])


def redact_with(scanner: Scanner, text: str, placeholder: Callable[[str, str], str]) -> str:
    """Mask until nothing more is found. Raises: RedactionFailed, also when masking did not converge."""
    keywords = presence.find(text, _lower(text))  # masking adds none
    for _ in range(ROUNDS + 1):
        hits = scanner.find(text, keywords)
        if not hits:
            return text
        text = mask(text, hits, placeholder)
    raise RedactionFailed("Masking did not converge.", next_step="Report the rule to its author.")


@lru_cache(1)
def default_redactor() -> Callable[[str], str]:
    """The function of ``redact``, shared, so that expressions are compiled once."""
    scanner, marker = Scanner(), Marker()
    return lambda text: redact_with(scanner, text, marker.placeholder)


def _lower(text: str) -> str:
    lower = text.lower()
    if len(lower) != len(text):  # a few letters of other scripts become two
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return lower


def _marks(text: str) -> tuple[list[int], list[int]]:
    """The start and end offsets of earlier redactions."""
    starts, ends = [], []
    at = text.find(values.MARK)
    while at >= 0:
        end = text.find("]", at, at + 120)
        end = end + 1 if end >= 0 else at + len(values.MARK)
        starts.append(at)
        ends.append(end)
        at = text.find(values.MARK, end)
    return starts, ends
