"""Searches text with all layers and masks the hits."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice

from holdfast.text.lazy import Lazy
from holdfast_redaction.layers import blocks, context, pii, values
from holdfast_redaction.layers.exact import Formats
from holdfast_redaction.layers.plain import plain_forms
from holdfast_redaction.mark import Marker
from holdfast_redaction.patterns import SECONDS, Budget, Hit, RedactionFailed

#: Maximum searches after masking. The second finds nothing, except in odd input.
ROUNDS = 4
#: Maximum secrets whose repetitions are searched. Each costs a pass over the text.
_REPEATED = 100
#: A secret of at least this length is also masked inside a longer word.
_UNMISTAKABLE = 12
_MARK = Lazy(r"\[REDACTED:[^\]]{0,110}\]?")
#: Characters per chunk, see :meth:`Scanner.in_chunks`.
CHUNK_CHARS = 200_000
#: Characters before and after a chunk that a rule may look at.
_BEFORE, _BEHIND = 300, 8_000


class Scanner:
    """Finds secrets and personal data. Stateless except for compiled expressions.

    ``disabled`` names rules to leave out. ``extra`` searches with a user's own rules. ``allowed`` returns whether a
    value is not a secret in this project.
    """

    def __init__(
        self,
        *,
        disabled: frozenset[str] = frozenset(),
        extra: Callable[[str, Budget], list[Hit]] | None = None,
        allowed: Callable[[str], bool] | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self._formats = Formats(disabled)
        self._disabled = disabled
        self._extra = extra
        self._allowed = allowed
        self._seconds = seconds

    def find(self, text: str) -> list[Hit]:
        """All hits in text order, without overlaps.

        Raises: RedactionFailed when a rule took too long, because the text may hold more.
        """
        *_, hits = self.in_chunks(text)
        return hits

    def in_chunks(self, text: str, size: int = CHUNK_CHARS) -> Iterator[list[Hit]]:
        """:meth:`find` in steps, so that a caller sees progress in a long text: empty lists, then all hits.

        Raises: like ``find``.
        """
        budget = Budget(len(text), self._seconds)
        hits: list[Hit] = []
        for plain in plain_forms(text):
            start, length = 0, len(plain.text)
            heads: list[int] = []
            while start < length:
                end = min(start + size, length)
                hits += map(plain.back, self._in_area(plain.text, start, end, budget, heads))
                start = end
                if length > size:
                    yield []
            hits += map(plain.back, blocks.find(plain.text, heads))
            budget.check("blocks")
        if self._extra:
            hits += self._extra(text, Budget(len(text), self._seconds))
        if hits:
            settled = self._settled(text, hits)
            # Also from before they were merged, because a secret and an overlapping neighbour become one long hit.
            again = _repeated(text, settled, hits)
            hits = self._settled(text, settled + again) if again else settled
        yield hits

    def _in_area(self, text: str, start: int, end: int, budget: Budget, heads: list[int]) -> list[Hit]:
        """The hits that begin in ``text[start:end]``, searched with the text around it. Adds the names that may head a
        column to ``heads``."""
        first, after = max(0, start - _BEFORE), _BEHIND
        while True:
            last = min(len(text), end + after)
            offsets: list[int] = []
            hits = self._search(text[first:last], budget, offsets)
            if last == len(text) or all(hit.end < last - first for hit in hits if hit.start < end - first):
                break
            after *= 8  # the last one goes on
        heads += [first + head for head in offsets]
        for hit in hits:
            hit.start, hit.end = hit.start + first, hit.end + first
        return [hit for hit in hits if start <= hit.start < end]

    def _search(self, text: str, budget: Budget, heads: list[int]) -> list[Hit]:
        lower = text.lower()
        if len(lower) != len(text):  # a few letters of other scripts become two
            lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
        hits = self._formats.find(text, lower, set(text.split()), budget)
        hits += context.find(text, lower, budget, heads)
        return hits + pii.find(text, lower, budget)

    def _settled(self, text: str, hits: list[Hit]) -> list[Hit]:
        """The hits without disabled, allowed or already masked ones. Overlapping hits are merged."""
        marks = [match.span() for match in _MARK.finditer(text)] if values.MARK in text else []
        merged: list[Hit] = []
        for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end)):
            # Earlier redactions are in order and do not touch.
            before = bisect_right(marks, (hit.end - 1, len(text)))
            if hit.rule in self._disabled or (before and marks[before - 1][1] > hit.start):
                continue
            if self._allowed and self._allowed(text[hit.start : hit.end]):
                continue
            if hit.rule == "password" and text.startswith("!", hit.end):  # a sentence's end, or the password's
                hit = Hit(hit.start, hit.end + 1, hit.rule, hit.rank)
            last = merged[-1] if merged else None
            if last and hit.start < last.end:
                best = min(last, hit, key=lambda h: h.rank)
                merged[-1] = Hit(last.start, max(last.end, hit.end), best.rule, best.rank, best.kind)
            else:
                merged.append(hit)
        return merged


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


def redact_with(scanner: Scanner, text: str, placeholder: Callable[[str, str], str]) -> str:
    """Mask until nothing more is found. Raises: RedactionFailed, also when masking did not converge."""
    for _ in range(ROUNDS + 1):
        hits = scanner.find(text)
        if not hits:
            return text
        parts, at = list[str](), 0
        for hit in hits:
            parts += (text[at : hit.start], placeholder(hit.rule, text[hit.start : hit.end]))
            at = hit.end
        text = "".join([*parts, text[at:]])
    raise RedactionFailed("Masking did not converge.", next_step="Report the rule to its author.")


@lru_cache(1)
def default_redactor() -> Callable[[str], str]:
    """The function of ``redact``, shared, so that expressions are compiled once."""
    scanner, marker = Scanner(), Marker()
    return lambda text: redact_with(scanner, text, marker.placeholder)
