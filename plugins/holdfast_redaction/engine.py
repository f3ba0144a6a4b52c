"""The search through all layers, and the public ``redact``."""

from __future__ import annotations

from holdfast_redaction import _table, context, names, pem, pii, values
from holdfast_redaction.budget import SECONDS, Budget
from holdfast_redaction.exact import LONG_WORD, Formats
from holdfast_redaction.patterns import KINDS, Hit
from holdfast_redaction.presence import Presence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast_redaction.loader import UserRules

#: How often a text is searched again after masking, at most. The second search finds nothing in all but odd texts.
ROUNDS = 4
#: Of how many secrets of a text the repetitions are looked for: each costs a pass over the text.
_REPEATED = 100
#: A secret as long as this is masked inside of a longer word too.
_UNMISTAKABLE = 12
_PERSONAL = frozenset(KINDS[1:])


class Scanner:
    """Finds secrets and personal data. Keeps the expressions that it compiled; otherwise without state.

    ``disabled`` names rules that are left out; ``kinds`` the personal data to look for; ``extra`` finds by a user's
    own rules; ``allowed`` says of a value that it is no secret here.
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
        # A hint may also be a keyword; without rules of its own it has none.
        hints = tuple((h, ()) for h in sorted(names.HINTS - {k for k, _ in _table.LOWER}))
        self._presence = Presence(_table.WORDS, _table.TEXT, _table.LOWER + hints, {**LONG_WORD, **pii.SHAPES})
        self._disabled = disabled
        self._kinds = kinds
        self._extra = extra
        self._allowed = allowed
        self._seconds = seconds

    def find(self, text: str) -> list[Hit]:
        """What there is to mask, in order of the text, without overlaps.

        Raises: RedactionFailed when a rule took too long: the text is not known to be clean.
        """
        budget = Budget(len(text), self._seconds)
        lower = _lower(text)
        present, present_lower, possible = self._presence.find(text, lower)
        hits = self._formats.find(text, lower, present, present_lower, budget, possible)
        if "-----BEGIN " in text:
            hits += pem.find(text)
            budget.check("private-key")
        hints = [word for word, _ in present_lower if word in names.HINTS]
        if hints:
            hits += context.find(text, lower, hints, budget)
        if self._kinds:
            hits += pii.find(text, lower, self._kinds, possible, budget)
        if self._extra:
            hits += self._extra.find(text, lower, budget)
        if not hits:
            return hits
        settled = self._settled(text, hits)
        # Before they were settled, too: a neighbour that overlaps a secret makes one long hit of both.
        again = _repeated(text, settled, hits)
        return self._settled(text, settled + again) if again else settled

    def _settled(self, text: str, hits: list[Hit]) -> list[Hit]:
        """Without what is switched off, allowed or masked already; overlapping hits become one."""
        marks = _marks(text)
        merged: list[Hit] = []
        for hit in sorted(hits, key=lambda h: (h.start, -h.end)):
            if hit.rule in self._disabled or (marks and any(s < hit.end and hit.start < e for s, e in marks)):
                continue
            if self._allowed and self._allowed(text[hit.start : hit.end]):
                continue
            last = merged[-1] if merged else None
            if last and hit.start < last.end:
                best = min(last, hit, key=lambda h: h.rank)
                merged[-1] = Hit(last.start, max(last.end, hit.end), best.rule, best.rank, best.kind)
            else:
                merged.append(hit)
        return merged


def _repeated(text: str, settled: list[Hit], hits: list[Hit]) -> list[Hit]:
    """The same secrets where nothing says that they are one: "password=X", and later a bare X. Without those that
    ``settled`` holds already, under a name as good."""
    known = {text[h.start : h.end]: h for h in settled + hits if h.kind == "secret" and 8 <= h.end - h.start <= 200}
    ranks = {(h.start, h.end): h.rank for h in settled}
    again = []
    for secret, hit in list(known.items())[:_REPEATED]:
        if values.is_protected(secret) or not values.has_secret_mix(secret):
            continue
        at = text.find(secret)
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
    """Mask until nothing more is found. Raises: RedactionFailed, also when masking does not come to rest."""
    for _ in range(ROUNDS):
        hits = scanner.find(text)
        if not hits:
            return text
        text = mask(text, hits, placeholder)
    if scanner.find(text):
        from holdfast_redaction.failure import RedactionFailed

        raise RedactionFailed("Masking the text does not come to rest.", next_step="Report the rule to its author.")
    return text


def _lower(text: str) -> str:
    lower = text.lower()
    if len(lower) != len(text):  # a few letters of other scripts become two
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return lower


def _marks(text: str) -> list[tuple[int, int]]:
    """Where earlier redactions lie."""
    marks = []
    at = text.find(values.MARK)
    while at >= 0:
        end = text.find("]", at, at + 120)
        end = end + 1 if end >= 0 else at + len(values.MARK)
        marks.append((at, end))
        at = text.find(values.MARK, end)
    return marks
