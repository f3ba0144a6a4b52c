"""A brief's rules, newest first; its facts, corrections first, then the newest, chosen as corrections, those that the
open work changed, then the most confident; the session's newest messages, its last one if no note quotes it; and
questions for a search."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError
from holdfast.journal import order
from holdfast.models import Category, Fact, Message
from holdfast.text.lazy import Lazy
from holdfast.text.plain import one_line
from holdfast.text.stored import duplicate_key
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.authorship.sessions import message
from holdfast_app.authorship.sources import plain, short_id
from holdfast_app.base import Services
from holdfast_app.facts.rejected import Rejected
from holdfast_app.journal.journal import Journal
from holdfast_app.printable import cut
from holdfast_app.records import recalled

#: The facts' and the rules' shares of the total space. In a small brief each may have up to so many characters.
SHARE: Final = 0.2
RULES_SHARE: Final = 1 / 3
_SMALL_SHARE: Final = 1 / 2
_FEW_FACTS: Final = 700
_FEW_RULES: Final = 900
#: The category and the confidence, by which the facts are in order.
_KIND: Final = Lazy(r"^- \[[^\[\]]*\] ")
_MORE: Final = "… {count:,} more: `holdfast facts`"
_MORE_RULES: Final = "… {count} more: `holdfast work`"


def ruled(rules: Sequence[str], max_chars: int | None) -> str:
    """The newest rules that fit into their share of ``max_chars``, as list items, and how many others exist."""
    lines = [f"- {one_line(rule)}" for rule in rules]
    room = _share(max_chars, RULES_SHARE, _FEW_RULES)
    if sum(map(len, lines)) + len(lines) > room:
        room -= len(_MORE_RULES) + 2
    fit = [line for line in lines if (room := room - len(line) - 1) >= 0]
    return "\n".join([*fit, *([_MORE_RULES.format(count=len(lines) - len(fit))] if len(fit) < len(lines) else [])])


def _share(max_chars: int | None, share: float, few: int) -> int:
    return sys.maxsize if max_chars is None else int(max(max_chars * share, min(max_chars * _SMALL_SHARE, few)))


def current(services: Services, memory: str) -> str:
    """The memory without lines that were removed or replaced as facts, where they could not be taken out."""
    rejected = Rejected(services)
    return "\n".join(line for line in memory.split("\n") if not rejected.has(line.removeprefix("- ")))


class Known(NamedTuple):
    """The facts that fit: ``lines`` by content, as :func:`holdfast.text.stored.duplicate_key` writes it. ``larger``
    holds these and the next ones, for space that nothing else needs. Both are in order. ``more`` counts all but
    ``lines``."""

    lines: dict[str, str]
    larger: dict[str, str]
    more: int

    def text(self, elsewhere: str = "", spare: int = 0, shown: str = "") -> str:
        """The section, without facts that are a line in ``elsewhere``; of the others in :attr:`larger` those that
        ``shown`` lacks, as many as fit into ``spare`` characters. Empty without facts."""
        known = {duplicate_key(line.strip().removeprefix("- ")) for line in elsewhere.splitlines()}
        listed, more = list[str](), self.more
        for key, line in self.larger.items():
            if key in self.lines:
                listed += [line] if key not in known else []
            elif line.removeprefix("- ") not in shown and len(line) < spare:
                spare -= len(line) + 1
                more -= 1
                listed.append(line)
        return "\n".join([*listed, *([_MORE.format(count=more)] if more else [])])


def chosen(services: Services, stored: Sequence[Fact], max_chars: int | None, changed: Iterable[str]) -> Known:
    """The facts that fit into their share of ``max_chars``, and the others that fit into a second one, masked.
    ``stored`` are all facts in order of insertion, ``changed`` the contents of those that the open work changed.
    Raises: PluginError."""
    if not stored:
        return Known(lines={}, larger={}, more=0)
    from holdfast_app.facts import prompt

    first = {*map(duplicate_key, changed)}

    def rank(fact: Fact) -> tuple[bool, bool, float]:
        return fact.category != Category.CORRECTION, duplicate_key(fact.content) not in first, -fact.confidence

    room, spare = _share(max_chars, SHARE, _FEW_FACTS) - len(_MORE), int(SHARE * (max_chars or 0))
    ordered = sorted(stored, key=lambda fact: fact.category == Category.CORRECTION)[::-1]
    fits = dict[str, bool]()  # by id: into the first share, or only into the second one
    for fact in sorted(ordered, key=rank):
        size = len(_KIND.sub("- ", prompt.fact_line(fact))) + 1
        if size <= room:
            room -= size
            fits[fact.id] = True
        elif size <= spare:
            spare -= size
            fits[fact.id] = False
    facts = [fact for fact in ordered if fact.id in fits]
    masked = services.gate.outgoing_all(prompt.stated(facts), surface=Surface.FACT) if facts else []
    shown = {fact: _KIND.sub("- ", line) for fact, line in zip(facts, masked, strict=True) if line}
    larger = {duplicate_key(fact.content): line for fact, line in shown.items()}
    lines = {duplicate_key(fact.content): line for fact, line in shown.items() if fits[fact.id]}
    return Known(lines=lines, larger=larger, more=len(stored) - sum(fits.values()))


#: A decision's beginning, up to its reason.
_WE: Final = Lazy(r"We (?P<what>[a-z]+ .+?)(?:,|;|\.?$| because | so that | since | for now)")
#: Section name for :func:`questions`.
ASK: Final = "`holdfast search` answers, for example"
_MOST: Final = 3
_TOPIC: Final = 90


def questions(memory: str, notes: Sequence[str], *, rejected: bool, blocked: bool, ruled: bool) -> str:
    """Three questions that stored decisions, failures, open questions and rules answer, as a list; or empty."""
    decided = [line.partition("- Decision: ")[2] for text in notes for line in text.split("\n")]
    decided += [line[2:] for line in memory.partition("## Decisions\n")[2].partition("\n## ")[0].split("\n")]
    topics = [match["what"] for text in dict.fromkeys(decided) if (match := _WE.match(text))]
    asked = [f"why do we {what}?" for what in topics if len(what) < _TOPIC][:2]
    asked = asked or ["what did we decide?"] * any(decided)
    asked += ["what did not work?"] if rejected else []
    asked += ["which questions are still open?"] if blocked else []
    asked += ["what should I watch out for?"] if ruled else []
    return "\n".join(f"- {question}" for question in asked[:_MOST]) if len(asked) >= _MOST else ""


# the newest messages

#: The parts' names in a brief.
LAST: Final = "last message of session {session}"
OTHERS: Final = "newest messages of session {session}, newest first"
_WHO: Final = {"user": "user", "assistant": "agent"}
#: Bytes read of a journal's end, and characters shown of one message.
_BYTES: Final = 500_000
_CHARS: Final = 1_500
#: How much of one message is masked, in characters. The last ones are not shown, since a secret may be cut there.
_MASKED: Final = 2 * _CHARS
_MARGIN: Final = 500
#: Share of the last message that ``shown`` lacks, from which on it is shown before the notes.
_UNQUOTED: Final = 0.75
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？:])\s+|\n+")


def newest(services: Services, session: str, room: int, shown: Iterable[str]) -> tuple[str, str]:
    """The user's and the agent's last words in ``session``, masked: the last message if ``shown`` has little of
    it, and other messages that ``shown`` does not have whole, newest first, in about ``room`` characters.

    Both are empty without a journal on this machine.
    """
    known = plain(" ".join(shown))
    unseen: list[tuple[str, str]] = []
    is_last, left = False, room
    try:
        entries = Journal(services.state, session).of_kinds("message", start=-_BYTES) if room else ()
        messages = [message(entry.record) for entry in entries]
        for at, (head, text) in enumerate(_words(reversed(order.as_said(messages)))):
            parts = [plain(part) for part in _SENTENCE.split(text)]
            if unquoted := sum(len(part) for part in parts if part not in known):
                is_last = is_last or (at == 0 and unquoted >= _UNQUOTED * sum(map(len, parts)))
                unseen.append((head, text[:_MASKED]))
                left -= len(head) + min(len(text), _CHARS)
            if left <= 0:
                break
        masked = services.gate.outgoing_all([text for _, text in unseen], surface=Surface.JOURNAL)
    except (HoldfastError, KeyError, ValueError):
        return "", ""  # the brief does not depend on it
    lines = [
        head + cut(text if len(raw) < _MASKED else text[:-_MARGIN], _CHARS)
        for (head, raw), text in zip(unseen, masked, strict=True)
    ]
    return (lines[0], "\n".join(lines[1:])) if is_last else ("", "\n".join(lines))


def _words(messages: Iterable[Message]) -> Iterator[tuple[str, str]]:
    """Each message with words of the user or the agent: its beginning as a line, and its text."""
    for m in messages:
        text = own_words(m.text) if m.role == "user" else recalled.strip(m.text).strip()
        if text and m.role in _WHO and not m.tool:
            yield f"- {_WHO[m.role]} ({short_id(m.id)}): ", text
