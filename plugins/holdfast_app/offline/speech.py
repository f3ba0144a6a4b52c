"""A speaker's own words: a message without code, quotations and text inserted by a client or holdfast; the user's
replies in tool results, where clients record answers to the agent's questions and reasons for refusing a call; which of
the agent's words only repeat a page, a file or a log; and quotable lines, whole sentences and list items, each with its
message. Importance is not judged.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from math import log
from typing import Final, NamedTuple

from holdfast.models import Message
from holdfast.text.lazy import Lazy
from holdfast.text.plain import same_key
from holdfast_app.authorship.ownwords import own_lines, own_words
from holdfast_app.authorship.sources import plain, short_id
from holdfast_app.markdown import marks
from holdfast_app.markdown.lines import HEADING, ITEM, RULE, read_line
from holdfast_app.message_formats.summaries import own_summary
from holdfast_app.offline import asked
from holdfast_app.records import ownlines
from holdfast_app.sentences.splitting import split

#: A longer list item is read by sentence.
MAX_ITEM_CHARS: Final = 320
#: Tools that put questions with options to the user.
_ASKING: Final = frozenset(
    {"askuserquestion", "ask_user_question", "request_user_input", "question", "ask_followup_question"}
)
_ANSWERED: Final = Lazy(r'"((?:[^"]|"(?!=")){3,400})"="((?:[^"]|"(?![,.] | user notes| selected)){1,600})"')
#: How clients tell the agent that the user refused a call; Claude Code may add the user's reason.
_UNWANTED: Final = r"The user doesn['’]t want to (?:proceed with|take) this (?:tool use|action)"
_REFUSAL: Final = Lazy(rf"{_UNWANTED}|The user rejected permission to use|(?:exec command|patch) rejected by user")
_REFUSED: Final = Lazy(rf"{_UNWANTED}.*?the user said:\s*", re.DOTALL)
#: The client puts advice for the agent after the user's reason.
_ADVICE: Final = "Note: The user's next message may contain"
_CLIENTS_OWN: Final = ("The user wants to clarify these questions.", "[Request interrupted")
#: Number of newest messages to search for echoes, and length of the compared statement prefix, in characters.
_MESSAGES: Final = 5_000
_KEY_CHARS: Final = 60
_LEAST_KEY: Final = 12


def listed(line: str) -> str | None:
    """A list item's text. None for other lines."""
    parsed = read_line(line)
    return parsed.text if parsed.kind == ITEM else None


def sentences(line: str) -> Iterator[str]:
    """Sentences from a line, without its bullet."""
    return (sentence.strip() for _, sentence in split(listed(line) or line))


def units(message: str, *, headings: bool = False) -> Iterator[str]:
    """List items, table rows and sentences, in order, without code, rules, first rows and, by default, headings."""
    in_table = False
    for line in own_lines(message):
        parsed = read_line(line)
        text = parsed.text
        if text.startswith("|"):
            if in_table:
                yield " · ".join(cell.strip() for cell in text.strip("|").split("|") if cell.strip())
            in_table = True
            continue
        in_table = False
        if parsed.kind == RULE or marks.underline(text):
            continue
        if parsed.kind == HEADING or (text[:2] == text[-2:] == "**" and text.count("**") == 2):
            if headings:
                yield text
        elif parsed.kind == ITEM and len(line) <= MAX_ITEM_CHARS:
            yield text
        else:
            yield from sentences(line)


def clip(text: str, max_chars: int) -> str:
    """``text`` with single spaces, cut at a word to at most ``max_chars``, without an ellipsis."""
    text = " ".join(text.split())
    if len(text) <= max_chars:
        return text
    head = text[: max_chars + 1].rpartition(" ")[0]
    return head if head.strip() else text[:max_chars]


class Reply(NamedTuple):
    """``text`` on one line: a question with its answer, or the user's words that ``refuse`` a call."""

    text: str
    refuses: bool = False


def replies(message: Message) -> Iterator[Reply]:
    """The user's replies in a tool's result, in order."""
    if message.role != "tool":
        return
    text = message.text[:20_000]
    if refused := _REFUSED.match(text):
        own = text[refused.end() :].partition(_ADVICE)[0].strip()
        if own and not own.startswith(_CLIENTS_OWN):
            yield Reply(" ".join(own.split()), refuses=True)
    elif message.tool.lower().rpartition("__")[2] in _ASKING or text.startswith("User has answered your question"):
        for question, answer in _ANSWERED.findall(text):
            yield Reply(" ".join(f"{question} {answer}".split()))


def refuses(message: Message) -> bool:
    """Whether a tool's result says that the user refused the call."""
    return message.role == "tool" and _REFUSAL.match(message.text) is not None


def read_by_tools(strings: Iterable[str], said: Sequence[Message]) -> frozenset[str]:
    """The agent's ``strings`` in a tool result in ``said``, oldest first, before the agent or the user says them. They
    were not made in the session. Text that the agent wrote before a tool returned it is its own, and the user's words
    are always the user's."""
    keys = {key: text for text in strings if len(key := plain(text)[:_KEY_CHARS]) >= _LEAST_KEY}
    waiting, echoed = set(keys), set[str]()
    for message in said[-_MESSAGES:] if keys else ():
        body = plain(message.text)
        held = {key for key in waiting if key in body}
        if not held:
            continue
        if message.role == "user" or any(replies(message)):
            waiting -= held
            echoed -= held
        elif message.role == "tool":
            echoed |= held
        else:
            waiting -= held - echoed
    return frozenset(keys[key] for key in echoed)


#: Shorter lines say too little without their context, unless they name something.
_LEAST_CHARS: Final = 24
_LEAST_WORDS: Final = 4
_LEAST_NAMED: Final = 12
_LEAST_LETTERS: Final = 4
#: Less room than this holds no further line. A line takes so many characters for its bullet and its source, and its
#: worth is divided by so many more than its own.
_FULL_CHARS: Final = 60
_SOURCE_CHARS: Final = 14
_LINE_CHARS: Final = 40
#: Code, or a word with a digit, a sign or a capital inside: what a reader cannot guess.
_NAMED: Final = Lazy(
    r"`([^`]{2,60})`|(?<![\w`])((?=[\w./:@~+-]*[\d_./:@~+-])[\w./:@~+-]{3,}"
    r"|[a-z]+[A-Z]\w+|[A-Z]{2,}\w*|[A-Z]\w+[A-Z]\w*)"
)
#: The worth of a repeated name's logarithm, and of a character of prose, in names.
_OFTEN: Final = 0.3
_PROSE: Final = 0.003
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
#: Differences, and what clients put around a message; listings and prompts, from a line's start.
_NOISE: Final = Lazy(
    r"\b(?:current (?:local |utc )?(?:date|time)|\d+ files? changed|caller\.type)\b|\$ARGUMENTS", re.IGNORECASE
)
_LISTS: Final = Lazy(
    r"\S+ +\| +\d+ [-+]|[●⎿➜⏺❯]|\([\w.-]+\) (?:➜|\w+@)|[\w.]+: (?:true|false|null|\d+)\Z"
    r"|at (?:async )?\S+ \(|Traceback \(|npm (?:ERR|WARN)|\$ ",
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
#: Sections of a client's summary that come first.
_CURRENT: Final = Lazy(r"\b(?:current|pending|next|remaining|in progress|to-?dos?|unfinished|blocked)\b", re.IGNORECASE)
_SECTION: Final = Lazy(r"^(?=\d{1,2}\. |#{1,3} |\*\*[^*]+\*\*:?\s*$)", re.MULTILINE)


class Quote(NamedTuple):
    """A message line, on one line. ``source`` names its message."""

    text: str
    source: str


def lines(message: Message, *, user: bool = False, echoed: Collection[str] = ()) -> list[Quote]:
    """Self-contained lines from a message, in order; the agent's without those with the keys ``echoed``, a user's."""
    quotes: list[Quote] = []
    for line in units(own_words(message.text) if user else message.text):
        quoted = _LINK.sub(r"\1", line).replace("**", "").strip(" *").removeprefix("- ")
        if _says_little(quoted) or _LISTS.match(quoted) or _NOISE.search(quoted) or (user and asked.is_pasted(quoted)):
            continue
        echo = _ECHO.match(quoted)
        if not user and (_TALK.match(quoted) or same_key(quoted[echo.end() :] if echo else quoted) in echoed):
            continue
        quotes.append(Quote(clip(quoted, MAX_ITEM_CHARS), short_id(message.id)))
    return quotes


def _says_little(text: str) -> bool:
    """Whether a line is a moment, a label, an exclamation, one name, or a few words that name nothing."""
    few = len(text) < _LEAST_CHARS or len(text.split(None, _LEAST_WORDS)) < _LEAST_WORDS
    if few and (len(text) < _LEAST_NAMED or not _NAMES.search(text)):
        return True
    label = (text.endswith(":") and len(text) < 120) or (text.endswith(("!", "！")) and len(text) < 40)
    return label or (text.isascii() and " " not in text) or len(_MOMENT.sub("", text[:100])) < _LEAST_LETTERS


def client_summary(message: Message, room: int) -> list[str]:
    """The client's own summary in its order, with its headings and without code, as a list. Sections about current work
    come first. Lines beyond ``room`` characters are counted. Empty for a notice without a summary."""
    sections = [list(own_lines(part)) for part in _SECTION.split(own_summary(message.text)) if part.strip()]
    outline: list[str] = []
    left = 0
    for section in sorted(filter(None, sections), key=lambda section: not _CURRENT.search(section[0])):
        for number, line in enumerate(section):
            text = read_line(line).text if number else line.strip("#*: ")
            shown = f"  - {' '.join(text.split())}" if number else f"- **{text}**"
            if text and len(shown) < room and not left:
                outline.append(shown)
                room -= len(shown) + 1
            else:
                left += bool(text)
    outline += [ownlines.line(ownlines.MORE, str(left))] if left else []
    return outline if len(outline) >= _LEAST_LINES else []


def choose(
    groups: Iterable[Sequence[Quote]], room: int, known: set[str], named: set[str], fade: float, *, sort: bool = True
) -> list[Quote]:
    """The quotes of ``groups``, one a message and newest first, that name the most in ``room`` characters: names and
    numbers not in ``named`` yet, and those said often before others, by the length of the quote. Each older message
    counts ``fade`` times as much. In their order, or without ``sort`` the best first; without those in ``known``.
    Both sets receive what is chosen."""
    lines = [(fade**age, quote, _names(quote.text)) for age, group in enumerate(groups) for quote in group]
    often = Counter(name for _, _, names in lines for name in names)

    def worth(at: int) -> float:
        weight, quote, names = lines[at]
        new = sum(1 + _OFTEN * log(often[name]) for name in names - named)
        return weight * (new + _PROSE * len(quote.text)) / (len(quote.text) + _LINE_CHARS)

    best = [(-worth(at), at) for at in range(len(lines))]
    heapify(best)
    chosen: list[int] = []
    while best and room >= _FULL_CHARS:
        _, at = heappop(best)
        if best and (now := -worth(at)) > best[0][0]:  # its names have been chosen meanwhile
            heappush(best, (now, at))
            continue
        _, quote, names = lines[at]
        cost = len(quote.text) + _SOURCE_CHARS
        if cost <= room and (key := same_key(quote.text)) not in known:
            known.add(key)
            named |= names
            chosen.append(at)
            room -= cost
    return [lines[at][1] for at in (sorted(chosen) if sort else chosen)]


def _names(text: str) -> frozenset[str]:
    """The words of its code, its paths, numbers and other words that are not plain ones, in lower case."""
    words = (word.strip(".,:;()[]'\"/-") for groups in _NAMED.findall(text) for word in "".join(groups).split())
    return frozenset(word.casefold() for word in words if len(word) > 1)
