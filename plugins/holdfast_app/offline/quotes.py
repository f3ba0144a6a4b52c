"""Quotable lines in messages: whole sentences and list items, each with its message. Importance is not judged."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from holdfast.models import Message
from holdfast.text.lazy import Lazy
from holdfast.text.plain import same_key
from holdfast_app.authorship.ownwords import own_lines, own_words
from holdfast_app.authorship.sources import short_id
from holdfast_app.markdown.lines import read_line
from holdfast_app.message_formats import reading
from holdfast_app.offline import asked
from holdfast_app.offline.speech import MAX_ITEM_CHARS, clip, units
from holdfast_app.records import ownlines

#: Shorter lines say too little without their context, unless they name something.
_LEAST_CHARS: Final = 24
_LEAST_WORDS: Final = 4
_LEAST_NAMED: Final = 12
_LEAST_LETTERS: Final = 4
#: Less space than this is not worth a look at more messages.
_FULL_CHARS: Final = 120
_MAX_LINES: Final = 5_000
#: Minimum number of lines of a client's summary.
_LEAST_LINES: Final = 3
#: A path, a number, code, or words of a script that counts fewer characters.
_NAMES: Final = Lazy(r"[`\d/_]|[^\x00-\x7f]{3}")
#: The agent's announcements, which the next step has, and its offers.
_TALK: Final = Lazy(
    r"(?:(?:now|next|first|then|so|and|also|ok|okay|good|great|perfect)[,.! ]+)*(?:let me|let['’]s|i['’]ll|i will"
    r"|i need to|now i|if you (?:want|like|need|have)|would you like|want me to|shall i|feel free|happy to|hope this"
    r"|noted\b|got it\b|understood\b|thank|sorry\b|you['’]re (?:absolutely )?right|i['’]m doing)",
    re.IGNORECASE,
)
#: Differences and listings, and what clients put around a message.
_NOISE: Final = Lazy(
    r"\bcurrent (?:local |utc )?(?:date|time)\b|\b\d+ files? changed\b|caller\.type|\$ARGUMENTS"
    r"|\A(?:\S+ +\| +\d+ [-+]|[●⎿➜⏺❯]|\([\w.-]+\) (?:➜|\w+@)|[\w.]+: (?:true|false|null|\d+)\Z"
    r"|at (?:async )?\S+ \(|Traceback \(|npm (?:ERR|WARN)|\$ )",
    re.IGNORECASE,
)
#: Parts of a moment or a count. A line of nothing else says nothing.
_MOMENT: Final = Lazy(
    r"\b(?:(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?|(?:jan|febr)(?:uary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|(?:sept?|oct|nov|dec)(?:o|em)?(?:ber)?|utc|gmt|am|pm|[tz])\b|[\d\W_]",
    re.IGNORECASE,
)
_ECHO: Final = Lazy(r"(?:noted|got it|understood|ok(?:ay)?|sure|right)\b[\s:,.!–—-]*", re.IGNORECASE)
_LINK: Final = Lazy(r"\[([^\[\]]{1,200})\]\((?:/|file:)[^()\s]{1,400}\)")
#: Not the tags by which a line is known as an instruction to an agent.
_TAG: Final = Lazy(r"</?(?!system\b|instructions?\b)[a-z][a-z0-9_-]{1,40}(?: [^<>]{0,100})?>")
#: Sections of a client's summary that come first.
_CURRENT: Final = Lazy(r"\b(?:current|pending|next|remaining|in progress|to-?dos?|unfinished|blocked)\b", re.IGNORECASE)
_SECTION: Final = Lazy(r"^(?=\d{1,2}\. |#{1,3} |\*\*[^*]+\*\*:?\s*$)", re.MULTILINE)


class Quote(NamedTuple):
    """A message line, on one line. ``source`` names its message."""

    text: str
    source: str


def lines(message: Message, *, user: bool = False, echoed: Collection[str] = ()) -> list[Quote]:
    """Self-contained lines from a message, in order; of the agent without those that only repeat a user's line, whose
    keys are ``echoed``."""
    found: list[Quote] = []
    for line in units(own_words(message.text) if user else message.text):
        plain = _LINK.sub(r"\1", _TAG.sub("", line)).replace("**", "").replace("__", "").strip(" *_").removeprefix("- ")
        if _says_little(plain) or _NOISE.search(plain) or (user and asked.is_pasted(plain)):
            continue
        if not user and (_TALK.match(plain) or same_key(_ECHO.sub("", plain, count=1)) in echoed):
            continue
        found.append(Quote(clip(plain, MAX_ITEM_CHARS), short_id(message.id)))
        if len(found) >= _MAX_LINES:
            break
    return found


def _says_little(plain: str) -> bool:
    """Whether a line is a moment, a label, an exclamation, one name, or a few words that name nothing."""
    few = len(plain) < _LEAST_CHARS or len(plain.split()) < _LEAST_WORDS
    if few and (len(plain) < _LEAST_NAMED or not _NAMES.search(plain)):
        return True
    label = (plain.endswith(":") and len(plain) < 120) or (plain.endswith(("!", "！")) and len(plain) < 40)
    return label or (plain.isascii() and " " not in plain) or len(_MOMENT.sub("", plain[:100])) < _LEAST_LETTERS


def client_summary(message: Message, room: int) -> list[str]:
    """The client's own summary in its order, with its headings and without code, as a list. Sections about current work
    come first. Lines beyond ``room`` characters are counted. Empty for a notice without a summary."""
    sections = [list(own_lines(part)) for part in _SECTION.split(reading.own_summary(message.text)) if part.strip()]
    found: list[str] = []
    left = 0
    for section in sorted((one for one in sections if one), key=lambda one: not _CURRENT.search(one[0])):
        for number, line in enumerate(section):
            text = read_line(line).text if number else line.strip("#*: ")
            shown = f"  - {' '.join(text.split())}" if number else f"- **{text}**"
            if text and len(shown) < room and not left:
                found.append(shown)
                room -= len(shown) + 1
            else:
                left += bool(text)
    found += [ownlines.line(ownlines.MORE, str(left))] if left else []
    return found if len(found) >= _LEAST_LINES else []


def newest(groups: Iterable[Sequence[Quote]], room: int, each: int, known: set[str]) -> list[Quote]:
    """The quotes of ``groups``, one a message and newest first, that fit into ``room`` characters: at most ``each`` of
    a message, its first line and then its last ones, and more of them if room is left. In each message's order, without
    those in ``known``, which receives them."""
    kept: list[tuple[Sequence[Quote], set[int]]] = []

    def choose(group: Sequence[Quote], chosen: set[int], limit: int) -> None:
        nonlocal room
        for number in (0, *range(len(group) - 1, 0, -1)) if group else ():
            key, cost = same_key(group[number].text), len(group[number].text) + 14
            if key not in known and cost <= min(limit, room):
                known.add(key)
                chosen.add(number)
                limit, room = limit - cost, room - cost

    for group in groups:
        kept.append((group, set()))
        choose(*kept[-1], each)
        if room < _FULL_CHARS:
            break
    for group, chosen in kept:
        choose(group, chosen, room)
    return [group[number] for group, chosen in kept for number in sorted(chosen)]
