"""From ranked entries to an answer: each sentence once, those that hold now first, then where it was said.

A question about rules, preferences, decisions, failures or open questions often shares no word with them, so they are
found by kind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

from holdfast.text.lazy import Lazy
from holdfast.text.plain import same_key
from holdfast_app.authorship import hostile
from holdfast_app.printable import cut
from holdfast_app.search import records, words
from holdfast_app.search.hits import Hits, SearchHit
from holdfast_app.sentences.relation import Known, Relation
from holdfast_app.sessions.lookup import short
from holdfast_models import recall

#: Maximum characters of an answer, and of a hit's text.
MOST: Final = 1_500
_LINE: Final = 200
_HOLDS, _SAID = "Holds now:", "Where it was said:"
_MORE: Final = "{count} more: add words, a kind or a day."
#: Maximum number of hits that hold, unless the question asks for nothing but a kind.
_HOLDING: Final = 5
#: Least share of the question's words in a hit that holds, so that it comes first.
_SHARE: Final = 0.5
#: Shorter lines are parts of other sentences by chance.
_SENTENCE: Final = 20
#: More characters are more than a sentence.
_LONG: Final = 600
#: What differs between two places of a line: heading, list mark and label, the source a dream names.
_FRAME: Final = Lazy(
    r"^- (?:Fact|Decision|Rule|Rejected|State|Blocker|Needed|Next step|Promised|Artifact|user): |^- \(\w{8}\) "
    r"|^(?:- )?\*\*[^*]+:\*\* |^[-*] |^#+ (?:Open: |Closed: )?|^Work is closed: |\*\*| \[\S+:\d+\]$"
    r"| \((?:after|now|agent): .*$"
)
_LABEL: Final = Lazy(
    r"\b(?:decision|remember|correction|rule|open question|fact|goal|preference|constraint|note|memory|you should know)"
    r"\s*:\s*",
    re.IGNORECASE,
)
_HOLD: Final = frozenset({records.FACT, records.MEMORY, records.RULE, records.DECISION, records.REJECTED, records.OPEN})


class Asked(NamedTuple):
    """The kinds that a question asks for, with its remaining words. Facts count by ``categories``. ``cues`` are words
    of such statements. Rules in question hold for whatever one does, so ``all`` of them answer."""

    kinds: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    cues: str = ""
    all: bool = False
    content: str = ""


_ORDERS: Final = Asked((records.RULE,), ("preference", "behavior"), "never always must prefer")
_RULES: Final = "rules?|conventions?|guidelines?|regeln?"
#: Before "rules" they ask for all.
_ALL: Final = r"(?:the|our|my|your|which|what|all|any|these|standing|project|coding|die|unsere|welche|alle|diese)"
_KINDS: Final = tuple((Lazy(rf"\b(?:{pattern})\b", re.IGNORECASE), wanted) for pattern, wanted in (
    (rf"watch out|careful|mind|avoid|allowed|prefer\w*|beachten|(?:^|{_ALL} )(?:{_RULES})", _ORDERS._replace(all=True)),
    (_RULES, _ORDERS),  # "the coupon rules"
    (r"should|must|may|like|want|sollte?|darf|muss", _ORDERS),
    (r"(?:did|does)(?:n't|n’t| not) work|not work(?:ed)?|dead ends?|tried|try|g[ai]ven? up|reject\w*|verworfen",
     Asked((records.REJECTED,), (), "dead end gave given dropped rejected instead")),
    (r"(?:go|went|gone|going) wrong|fail\w*|br(?:eak|oke|oken)|problems?|errors?|kaputt|schief",
     Asked((), (), "failed failure error broke crash killed wrong missing")),
    (r"deci(?:de\w*|sions?)|ch[oo]+sen?|choice|agreed?|settled|entschied\w*|beschlossen",
     Asked((records.DECISION,), (), "decision decided agreed chose")),
    (r"open|unanswered|block(?:ed|ers?)|waiting|pending|unresolved|undecided|stuck|offene?n?",
     Asked((records.OPEN,), (), "open question waiting blocked unclear")),
    (r"before|previous(?:ly)?|used to|chang\w*|correct\w*",
     Asked((), ("correction",), "correction changed instead now")),
))  # fmt: skip
#: Words of a question about a time or a kind that say nothing about the content.
_EMPTY: Final = frozenset(
    {"happen", "happened", "go", "going", "went", "work", "worked", "done", "still", "left", "question", "questions",
     "point", "points", "thing", "things", "anything", "everything", "news", "gemacht", "passiert", "fragen", "noch",
     "use", "used", "uses", "using", "hold", "holds", "apply", "nutzen", "nutzt", "verwenden", "verwendet", "gelten"}
)  # fmt: skip


def asked(question: str) -> Asked:
    """The kinds that ``question`` asks for."""
    matches = [(pattern, wanted) for pattern, wanted in _KINDS if pattern.search(question)]
    rest = question
    for pattern, _ in matches:
        rest = pattern.sub(" ", rest)
    content = [word for word in words.asked(rest) if word not in words.STOP and word not in _EMPTY] if rest else []
    return Asked(
        tuple(dict.fromkeys(kind for _, wanted in matches for kind in wanted.kinds)),
        tuple(dict.fromkeys(name for _, wanted in matches for name in wanted.categories)),
        " ".join(wanted.cues for _, wanted in matches),
        any(wanted.all for _, wanted in matches),
        " ".join(content),
    )


def bare(text: str) -> str:
    """A sentence without marks and labels, which a long text has inside of it, if at all."""
    return " ".join((text if len(text) > _LONG else _LABEL.sub("", _FRAME.sub(" ", text))).split())


class _Group:
    """A sentence's places, with the hit that shows it."""

    def __init__(self, hit: SearchHit, content: str, is_of_kind: bool) -> None:
        self.hit, self.key, self.others = hit, same_key(bare(hit.text)), list[SearchHit]()
        self._first, self._content, self.is_of_kind = self.key, content, is_of_kind

    @cached_property
    def share(self) -> float:
        """The share of the question's words in its first hit."""
        return words.share(self._content, self._first) if self._content else float(self.is_of_kind)

    @property
    def holds(self) -> bool:
        return self.hit.kind in _HOLD

    @property
    def newest(self) -> float:
        """When it was last said, 0 when unknown."""
        return max((hit.at.timestamp() for hit in (self.hit, *self.others) if hit.at), default=0.0)

    def joined(self) -> SearchHit:
        others = [hit for hit in self.others if hit.where != self.hit.where]
        dated = [hit.at for hit in (self.hit, *others) if hit.at]
        known = self.hit.also + tuple(hit.at_place for hit in others)
        return self.hit._replace(also=tuple(dict.fromkeys(known)), at=self.hit.at or max(dated, default=None))


def arranged(hits: Sequence[SearchHit], found_by_kind: int, wanted: Asked, limit: int) -> list[SearchHit]:
    """At most ``limit`` of ``hits``, each sentence once. The first ``found_by_kind`` were found by their kind."""
    groups: list[_Group] = []
    for at, hit in enumerate(hits):
        new = _Group(hit, wanted.content, at < found_by_kind)
        for old in groups:
            if _repeats(new, old):
                old.others.append(hit)
                # A statement that holds is shown, else the turn.
                if not old.holds and (new.holds or hit.kind == records.TURN != old.hit.kind):
                    old.others.append(old.hit)
                    old.hit, old.key = hit, new.key
                break
        else:
            groups.append(new)
    first = [group for group in groups if group.holds and (group.share >= _SHARE or (wanted.all and group.is_of_kind))]
    first.sort(key=lambda group: (group.share < _SHARE, not group.is_of_kind, -group.share, -group.newest))
    most = min(limit, _HOLDING) if wanted.content or len(first) < len(groups) // 2 else limit
    first = first[:most]
    others = [group for group in groups if group not in first]
    shown = [group.joined()._replace(holds=True) for group in first] + [group.joined() for group in others]
    return shown[:limit]


def _repeats(new: _Group, old: _Group) -> bool:
    """Whether two hits say the same sentence. A hit that has more words of the question is separate."""
    if new.key == old.key:
        return True
    if len(old.key) >= _SENTENCE and new.hit.kind == records.TURN and old.key in new.key:
        return new.share <= old.share
    return len(new.key) >= _SENTENCE and old.hit.kind == records.TURN and new.key in old.key


def replaced(hits: Sequence[SearchHit]) -> list[SearchHit]:
    """The hits; replaced ones are marked, below their successors, and hold no longer. A line is as new as a
    sentence elsewhere that it has. What holds is replaced only by what holds or the user said."""
    known: Known[tuple[int, str]] = Known()
    newer: dict[int, int] = {}
    text_of: dict[int, str] = {}
    parts = [re.split(r"(?<=[.!?])\s+", bare(hit.excerpt).strip("… ")) for hit in hits]
    sentences = [{same_key(sentence): sentence for sentence in said if sentence} for said in parts]
    dated = sorted((hit.at.timestamp() if hit.at else 0.0, n) for n, hit in enumerate(hits))
    stated = {key: at for at, n in dated for key in sentences[n]}
    latest = {key: max(at for part, at in stated.items() if part in key) for key in stated}
    for _, n in dated:
        for key, sentence in sentences[n].items():
            for (other, old), relation in known.related(sentence) if hits[n].role != "assistant" else ():
                is_newer = latest[key] > latest[old] and key not in sentences[other] and key not in old
                may = not hits[other].holds or hits[n].holds or hits[n].role == "user"
                if relation is not Relation.SAME and is_newer and may:
                    newer[other], text_of[other] = n, sentence
            known.add((n, key), sentence)
    holding = {n for n, hit in enumerate(hits) if hit.holds and n not in newer}
    order = sorted(range(len(hits)), key=lambda n: (n not in holding, max(n, newer.get(n, n)), n in newer))
    return [hits[n]._replace(holds=n in holding, replaced_by=text_of.get(n, "")) for n in order]


# for agents


def in_short(hits: Hits, retention: str) -> str:
    """The answer in the tags of recalled text, up to :data:`MOST` characters. ``retention``: how long turns stay."""
    notes = [line for line in (hits.warning, hits.damage) if line]
    if not hits:
        nothing = f"No stored content matches. Try other words, or fewer conditions. {retention}"
        return "\n".join(filter(None, (hits.heading, nothing, *notes)))[:MOST]
    instead = f"No exact match; showing results for {hits.corrected!r}." if hits.corrected else ""
    head = " ".join(filter(None, (instead, hits.heading, "`open` takes `name` and `place` and shows the whole.")))
    room = MOST - len("\n".join([head, recall.fence(""), _MORE, *notes])) - 5
    lines: list[str] = []
    for hit in hits:
        title = (_HOLDS if hit.holds else _SAID) if hits[0].holds else ""
        new = [*([title] if title and title not in lines else []), _line(hit)]
        if len(recall.defuse("\n".join(lines + new))) > room:
            break
        lines += new
    shown = sum(line.startswith("- ") for line in lines)
    more = [_MORE.format(count=len(hits) - shown)] if shown < len(hits) else []
    return "\n".join([head, recall.fence("\n".join(lines)), *more, *notes])[:MOST]


def _line(hit: SearchHit) -> str:
    name, place = (short(hit.name), short(hit.place)) if hit.kind == "turn" else (hit.name, hit.place)
    at = " ".join(filter(None, (hit.kind, hit.role, when(hit))))
    newer = f" (replaced by: {cut(hit.replaced_by, _LINE // 2)})" if hit.replaced_by else ""
    project = f" project={hit.project!r}" if hit.project else ""
    return f"- [{at}] name={name!r} place={place!r}{project}: {cut(said(hit), _LINE)}{newer}"


def said(hit: SearchHit) -> str:
    """The matching part; of a statement that holds, without its marks and label. Marked where it instructs an agent."""
    text = bare(hit.excerpt) if hit.holds else hit.excerpt
    if hit.role == "user" or hostile.is_marked(text) or not hostile.instructs(hit.text):
        return text
    return hostile.MARK.format(name=hit.name) + text


def when(hit: SearchHit) -> str:
    """When a turn or fact was recorded; for a line, its document's day. Empty when unknown."""
    timed = hit.kind in ("turn", "fact")
    return f"{hit.at:{'%Y-%m-%d %H:%M' if timed else '%Y-%m-%d'}}" if hit.at else ""
