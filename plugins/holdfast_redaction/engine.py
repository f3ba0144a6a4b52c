"""Searches text with all layers and masks the hits."""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice

from holdfast_redaction.budget import SECONDS, Budget
from holdfast_redaction.layers import context, pem, pii, presence, values
from holdfast_redaction.layers.exact import ASIDE, Formats
from holdfast_redaction.patterns import KINDS, Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from holdfast_redaction.layers.presence import Keywords
    from holdfast_redaction.rules.loader import UserRules

#: Maximum searches after masking. The second finds nothing, except in odd input.
ROUNDS = 4
#: Characters to search again before and after a change. No format is longer than the first number, and no search
#: looks further back than the second. A private key may be longer, so text with a key is searched as a whole.
_REACH, _BACK = 24_000, 400
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

    def find(self, text: str) -> list[Hit]:
        """All hits in text order, without overlaps.

        Raises: RedactionFailed when a rule took too long, because the text may hold more.
        """
        return self.search(text, None, None)[0]

    def search(
        self, text: str, areas: list[tuple[int, int]] | None, keywords: Keywords | None
    ) -> tuple[list[Hit], Keywords | None]:
        """Hits that begin in any of ``areas``, or everywhere with None. ``keywords`` are those that may occur, if
        known. They are returned for the search after masking, which adds none. Raises: like ``find``."""
        hits, keywords = self._searched(text, areas, keywords)
        return self._judged(text, hits), keywords

    def in_chunks(self, text: str, size: int = CHUNK_CHARS) -> Iterator[list[Hit]]:
        """:meth:`find` in steps, so that a caller sees progress in a long text: empty lists, then all hits.

        A hit begins in its chunk but may extend beyond it. Raises: like ``find``.
        """
        hits: list[Hit] = []
        start = 0
        while start < len(text):
            end = cut(text, start, size)
            hits += self._searched(text, [(start, end)], None)[0]
            start = end
            yield []
        yield self._judged(text, hits)

    def _searched(
        self, text: str, areas: list[tuple[int, int]] | None, keywords: Keywords | None
    ) -> tuple[list[Hit], Keywords | None]:
        """The hits of the built-in rules, unordered."""
        hits: list[Hit] = []
        budget, lower = Budget(len(text), self._seconds), _lower(text)
        if areas is None:
            keywords = keywords or presence.find(text, lower)
            self._searched_area(text, lower, 0, len(text), keywords, budget, hits)
        for start, end in areas or ():
            first, last = max(0, start - ASIDE), end + ASIDE
            there = presence.find(text[first:last], lower[first:last])
            self._searched_area(text, lower, start, end, there, budget, hits)
        return hits, keywords

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

    def _searched_area(
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


def mask(text: str, hits: list[Hit], placeholder: Callable[[str, str], str]) -> tuple[str, list[tuple[int, int]]]:
    """``text`` with each hit replaced by ``placeholder(rule, secret)``, and the placeholders' positions."""
    out: list[str] = []
    places = []
    at = length = 0
    for hit in hits:
        mark = placeholder(hit.rule, text[hit.start : hit.end])
        out += (text[at : hit.start], mark)
        length += hit.start - at + len(mark)
        places.append((length - len(mark), length))
        at = hit.end
    out.append(text[at:])
    return "".join(out), places


def redact_with(scanner: Scanner, text: str, placeholder: Callable[[str, str], str]) -> str:
    """Mask until nothing more is found. Raises: RedactionFailed, also when masking did not converge."""
    areas = keywords = None
    for _ in range(ROUNDS):
        hits, keywords = scanner.search(text, areas, keywords)
        if not hits:
            return text
        text, places = mask(text, hits, placeholder)
        areas = _around(text, places)
    if scanner.find(text):
        from holdfast_redaction.failure import RedactionFailed

        raise RedactionFailed("Masking did not converge.", next_step="Report the rule to its author.")
    return text


def _around(text: str, places: list[tuple[int, int]]) -> list[tuple[int, int]] | None:
    """The areas of ``text`` to search again after changes at ``places``. None for everywhere."""
    if len(text) <= _REACH or "-----BEGIN " in text:
        return None
    areas: list[tuple[int, int]] = []
    for start, end in places:
        first, last = max(0, start - _REACH), min(len(text), end + _BACK)
        if areas and first <= areas[-1][1]:
            areas[-1] = areas[-1][0], last
        else:
            areas.append((first, last))
    return areas


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
