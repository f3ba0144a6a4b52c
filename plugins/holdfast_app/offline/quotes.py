"""Quotable lines in messages: whole sentences and list items, each with its message.

This module does not decide importance. It keeps lines that name something (a path, a number, an identifier), and ranks
answers that end a turn before remarks between tool calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from holdfast.facts.relation import same_key
from holdfast.models import Message
from holdfast.text.lazy import Lazy
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.authorship.sources import short_id
from holdfast_app.markdown import marks
from holdfast_app.markdown.lines import HEADING, ITEM, RULE, read_line
from holdfast_app.offline.conversation import asked
from holdfast_app.offline.speech import clip, own_lines, sentences

MAX_LINE_CHARS: Final = 320
#: Shorter lines say too little without their context.
_LEAST_CHARS: Final = 24
_LEAST_WORDS: Final = 4
#: Minimum length for the most important messages, unless the line names something.
_LEAST_NAMED: Final = 12
_MAX_LINES: Final = 5_000

#: A path, a number, code, an identifier, or a name inside the sentence. Each form is found by a character that is rare
#: in prose, with a lookbehind from there. Skipping the rest makes the search ten times as fast.
_NAMES: Final = Lazy(
    r"(?=[^a-z ,;!?'])(?:`[^`]+`|\d|[\"“«][^\"“«]{2,}[\"”»]|\*\*.+\*\*|--\w|[^\x00-\x7f]{3,}"
    r"|(?<=\w)(?:_\w|\.\w{1,6}\b|/\w|::\w|\(\))"
    r"|[A-Z](?:(?<=[a-z].)|(?<=[\w,;:)] .)\w|(?<!\w.)[A-Z]+\b))"
)
_EMPTY_TALK: Final = Lazy(
    r"^(?:(?:great|perfect|excellent|good|nice|awesome|now|ok|okay|alright|sure|yes|done|understood|got it|hmm"
    r"|thanks?|thank you|you['’]re (?:absolutely )?right|certainly|absolutely|of course|wonderful|interesting)"
    r"\s*[,!.:—–-]+\s*)+",
    re.IGNORECASE,
)
_OFFERS: Final = Lazy(
    r"^(?:if you(?:['’]d)? (?:want|like|prefer|need|wish)|(?:would|do) you (?:like|want)|want me to|shall i|let me know"
    r"|feel free|happy to|hope this|i hope|here(?:['’]s| is| are)\b[^.]{0,80}:?$|below is|the following\b[^.]{0,60}:$)",
    re.IGNORECASE,
)
_ABOUT_TO: Final = Lazy(
    r"^(?:(?:now|next|first|then|so|and|ok|okay|also)[, ]+)*(?:let me|let['’]s|i['’]ll|i will"
    r"|i['’]m (?:now |also |just )?\w+ing\b|i['’]m about|i am (?:now|going)|i need to|i should|now i|time to"
    r"|checking|looking|reading|running|searching)\b"
    r"|^(?:now|next|then|first|finally)[, ]+(?:update|add|register|review|revert|fix|check|run|move|create|write"
    r"|re-?apply|drop"
    r"|build|rebuild|test|verify|commit|push|wire|implement|remove|delete|regenerate|look|switch|edit|replace|rename|extend"
    r"|the (?:test|tests|engine|rest|next|last|other|same)\b|line \d|to the\b|for the\b|`[^`]+`:$)",
    re.IGNORECASE,
)
#: Words of a remark that gives a reason or a result.
_REASONS: Final = Lazy(
    r"\b(?:because|cause[ds]?|root|turns out|instead|rather than|fails?|failed|failing|does(?:n['’]t| not)"
    r"|did(?:n['’]t| not)|can(?:['’]t|not)|no longer|only|must|never|always|bug|mismatch|missing|conflicts?|decid\w+"
    r"|chose|choice|reject\w*|avoids?|not|without|found|confirmed|verified|passes|passed|expects?|requires?|uses?|need(?:s|ed)?|limit\w*"
    r"|trade-?off|drop(?:ped|s)?|keep(?:s|ing)?|revert\w*|already|issue|error|wrong|works?|since|so that|due to)\b",
    re.IGNORECASE,
)
#: Words in a user's line that often mark a limit or a correction.
_LIMITS: Final = Lazy(
    r"\b(?:not|n['’]t|never|always|only|instead|rather|too|must|prefer|wrong|should|without|unless|until|already|keep|no"
    r"|dont|cant|didnt|isnt|over\w+ing)\b",
    re.IGNORECASE,
)
_TABLE_RULE: Final = Lazy(r"(?=.[^|]*\|)[\s:|-]+\Z")
_LINK: Final = Lazy(r"\[([^\[\]]{1,200})\]\((?:/|file:)[^()\s]{1,400}\)")
#: Not the tags by which a line is known as an instruction to an agent.
_TAG: Final = Lazy(r"</?(?!system\b|instructions?\b)[a-z_-]{2,40}(?: [^<>]{0,100})?>")


class Quote(NamedTuple):
    """A message line, on one line. ``source`` names its message, ``rank`` orders the lines of a user and remarks when
    space is short."""

    text: str
    source: str
    rank: int = 0


def lines(message: Message, *, remark: bool = False, user: bool = False, named: bool = True) -> list[Quote]:
    """Self-contained lines from a message, in order. ``remark``: written between tool calls, where actions are
    announced. ``user``: written by the user. ``named``: omit agent lines that name nothing."""
    text = own_words(message.text) if user else message.text
    found: list[Quote] = []
    for line in _units(text):
        line = _LINK.sub(r"\1", _TAG.sub("", line)).strip()
        plain = line.replace("**", "").replace("__", "").strip(" *_")
        if not user:
            talk = _EMPTY_TALK.match(plain)
            plain = (plain[talk.end() :] if talk else plain).strip()
        short = len(plain) < _LEAST_CHARS or len(plain.split()) < (3 if user else _LEAST_WORDS)
        if short and (named or len(plain) < _LEAST_NAMED or not _NAMES.search(plain)):
            continue
        if plain.endswith(":") and len(plain) < 120:
            continue
        if not user and (_OFFERS.match(plain) or _ABOUT_TO.match(plain) or (named and not _NAMES.search(line))):
            continue
        if (remark and plain.endswith("?")) or (user and asked.is_pasted(line)):
            continue
        rank = 1 if user and _LIMITS.search(plain) else 2 if remark and _REASONS.search(plain) else 0
        found.append(Quote(clip(plain, MAX_LINE_CHARS), short_id(message.id), rank))
        if len(found) >= _MAX_LINES:
            break
    return found


def _units(text: str) -> Iterator[str]:
    """Whole list items, and paragraphs by sentence, without headings, rules, code and table headers."""
    row = ""
    for line in own_lines(text):
        if row and not _TABLE_RULE.match(line):
            yield row
        row = ""
        found = read_line(line)
        if found.kind in (HEADING, RULE) or marks.underline(found.text) or _TABLE_RULE.match(line):
            continue
        if found.text.startswith("|"):
            row = " · ".join(cell.strip() for cell in found.text.strip("|").split("|") if cell.strip())
        elif found.kind == ITEM and len(line) <= MAX_LINE_CHARS:
            yield found.text
        else:
            yield from sentences(line)
    if row:
        yield row


def final_answers(messages: Sequence[Message]) -> list[Message]:
    """The agent's last text in each turn, oldest first; for the last turn only if nothing follows it."""
    found: list[Message] = []
    waiting: Message | None = None
    for message in messages:
        if message.role == "user" and own_words(message.text):
            if waiting:
                found.append(waiting)
            waiting = None
        elif message.role == "assistant" and not message.tool:
            waiting = message
    if waiting:
        found.append(waiting)
    return found


def remarks(messages: Sequence[Message], answers: Iterable[Message]) -> list[Message]:
    """The agent's text between tool calls, oldest first."""
    ends = {id(message) for message in answers}
    return [m for m in messages if m.role == "assistant" and not m.tool and id(m) not in ends]


def fit(quotes: Iterable[Quote], room: int, known: set[str]) -> list[Quote]:
    """The quotes that fit into ``room`` characters, in the given order. Quotes in ``known`` are left out, and the
    others are added to it."""
    kept: list[Quote] = []
    for quote in quotes:
        key = same_key(quote.text)
        cost = len(quote.text) + 3
        if key in known or cost > room:
            continue
        known.add(key)
        kept.append(quote)
        room -= cost
    return kept
