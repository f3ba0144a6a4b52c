"""Derives a flush from a session by quoting it: requests, answers, task list, changes. No word is invented.

Explicit statements go into the payload's fields. Other text that may matter is quoted in the summary under its
speaker's name, so nothing is called a decision by guesswork.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from attrs import evolve

from holdfast.facts.relation import same_key
from holdfast.models import Category, Extraction, Message, Payload, Turn
from holdfast.text import ownlines
from holdfast.text.humanize import count
from holdfast.text.lazy import Lazy
from holdfast_app.authorship.sources import short_id
from holdfast_app.message_formats import summaries
from holdfast_app.message_formats.summaries import SUMMARY
from holdfast_app.offline import echoes, quotes, replies
from holdfast_app.offline.changes import Changes, changes
from holdfast_app.offline.checks import failing
from holdfast_app.offline.conversation import asides, asked, tasks
from holdfast_app.offline.quotes import Quote
from holdfast_app.offline.speech import clip
from holdfast_app.offline.statements import MAX_ITEM_CHARS, MAX_ITEMS, Statements

__all__ = ["MAX_FILES", "MAX_ITEMS", "MAX_ITEM_CHARS", "extract"]

MAX_FILES: Final = 60
#: Length of the summary, in characters, and what its parts may take of it. A part that needs less leaves the rest to
#: the next ones.
MAX_SUMMARY_CHARS: Final = 5_000
_LEAST_SUMMARY_CHARS: Final = 3_000
_LAST_ANSWER_CHARS: Final = 1_700
_SAID_CHARS: Final = 1_500
_ANSWERS_CHARS: Final = 1_800
_COMPACTION_CHARS: Final = 2_000
_HEADLINE_CHARS: Final = 300
_EARLIER_CHARS: Final = 200
#: Two requests with this many equal leading characters are the same.
_ALIKE_CHARS: Final = 60
_MAX_LISTED: Final = 8
#: Number of newest messages of a kind to search for quotations.
_NEWEST: Final = 300
_SECTION: Final = Lazy(r"^(?=\d{1,2}\. |#{1,3} |\*\*[^*]+\*\*:?\s*$)", re.MULTILINE)
#: Longer messages of the user were pasted, so only their headline is quoted.
_MAX_QUOTED_CHARS: Final = 1_500


def extract(turns: Sequence[Turn]) -> Extraction:
    """The statements in ``turns``, and a summary in quotations. Fields without statements stay None."""
    messages = [m for turn in turns for m in turn.messages]
    if not messages:
        return Extraction()
    said = asked.spoken(messages)
    answers = quotes.final_answers(said)
    found = Statements()
    ends = {id(message) for message in answers}
    for message in said:
        # Between tool calls the agent weighs options that it later drops, so only its answers count.
        if message.role in ("user", "tool") or id(message) in ends:
            found.read(message)
    done = changes(said)
    listed = tasks.of(said)
    decided = found.decisions.strings()
    echoed = echoes.read_by_tools(decided, said)
    draft = Payload(
        facts=[f.content for f in found.facts.values() if f.category is not Category.CONTEXT] or None,
        decisions=[text for text in decided if text not in echoed] or None,
        blockers=found.blockers.strings() or None,
        next_step=found.next_step or None,
        artifacts=[*done.files[-MAX_FILES:], *found.pointers.strings()] or None,
        follow_ups=_follow_ups(found, listed) or None,
    )
    summary = _summary(messages, said, answers, draft, done, listed)
    return Extraction(summary=summary, facts=tuple(found.facts.values()), draft=draft)


def _follow_ups(found: Statements, listed: tasks.Tasks) -> list[str]:
    """Promises, and task list entries except the next one."""
    waiting = [*listed.doing, *listed.pending][1:]
    return [*found.follow_ups.strings(), *(clip(text, MAX_ITEM_CHARS) for text in waiting)][:MAX_ITEMS]


def _summary(
    messages: Sequence[Message],
    said: Sequence[Message],
    answers: Sequence[Message],
    draft: Payload,
    done: Changes,
    listed: tasks.Tasks,
) -> str:
    """The quotations, most important first, at most :data:`MAX_SUMMARY_CHARS` characters."""
    requests = list(asked.requests(said))
    known = {same_key(text) for items in (draft.facts, draft.decisions, draft.blockers) for text in items or ()}
    parts: list[str] = []
    files = sum(len(text) + len("- Artifact: ") for text in draft.artifacts or ())
    room = max(MAX_SUMMARY_CHARS - files, _LEAST_SUMMARY_CHARS)

    def add(title: str, found: Sequence[Quote], *, source: str = "") -> None:
        nonlocal room
        if not found:
            return
        lines = [f"{title} ({source}):" if source else f"{title}:"]
        before = source
        for quote in found:
            mark = f"({quote.source}) " if quote.source and quote.source != before and not source else ""
            lines.append(f"- {mark}{quote.text}")
            before = quote.source
        parts.append("\n".join(lines))
        room -= len(parts[-1]) + 2

    compacted = _compaction(messages)
    if compacted is not None:
        kept = quotes.fit(_summary_lines(compacted), _COMPACTION_CHARS, known)
        add(ownlines.COMPACTED, kept, source=short_id(compacted.id))
    working = asides.without(said)  # the beginning of `said`
    places = {id(message) for message in working}
    asked_then = [(message, own) for message, own in requests if id(message) in places]
    add(ownlines.ASKED, _asked(asked_then, asked.objective(working, _EARLIER_CHARS), known))
    newest = answers[-_NEWEST:]
    last, lines = _last_answer(newest, places)
    if last is not None:
        kept = quotes.fit(lines, min(_LAST_ANSWER_CHARS, room), known)
        add(ownlines.SAID_LAST, kept, source=short_id(last.id))
    spoke = sorted([*requests, *replies.said(said)], key=_place(said))
    add(ownlines.USER_SAID, _user_said(spoke, min(_SAID_CHARS, room), known))
    add(ownlines.TASKS, _task_lines(listed))
    others = [message for message in newest if message is not last]
    add(ownlines.OTHER_TURNS, _round_robin(others, min(_ANSWERS_CHARS, room), known))
    add(ownlines.ALONG, _remarks(quotes.remarks(said, answers)[-_NEWEST:], room - 60, known))
    if done.commits:
        add(ownlines.COMMITS, [Quote(text, "git") for text in done.commits[-_MAX_LISTED:]], source="git")
    if failed := failing(_since_last_request(said, requests))[-2:]:
        add(ownlines.FAILED, [Quote(clip(text, 200), "") for text in failed], source="tool results")
    if not parts:
        return ""
    turns = sum(1 for m in said if m.role == "user")
    counts = (*count(turns, "message").split(" ", 1), *count(done.calls, "tool call").split(" ", 1))
    head = ownlines.line(ownlines.QUOTED, *counts)
    return "\n\n".join([head, *parts])


def _last_answer(answers: Sequence[Message], places: Collection[int]) -> tuple[Message | None, list[Quote]]:
    """The newest quotable answer and its lines, preferably among the messages with these ids."""
    for among in ([m for m in answers if id(m) in places], answers):
        for message in reversed(among):
            if lines := quotes.lines(message, named=False):
                return message, lines
    return None, []


def _since_last_request(said: Sequence[Message], requests: Sequence[tuple[Message, str]]) -> Sequence[Message]:
    """The messages since the last request. An earlier failed check was fixed by then, or is quoted in its own words."""
    last = requests[-1][0] if requests else None
    at = next((number for number in range(len(said) - 1, -1, -1) if said[number] is last), 0)
    return said[at:]


def _compaction(messages: Sequence[Message]) -> Message | None:
    """The newest summary made by the client itself."""
    return next((m for m in reversed(messages) if m.role == "system" and m.tool == SUMMARY), None)


def _summary_lines(message: Message) -> Iterator[Quote]:
    """A client summary's lines, taken from its sections in turn so that each is represented."""
    text = summaries.own(message.text)
    sections = [evolve(message, text=part) for part in _SECTION.split(text) if part.strip()]
    waiting = [quotes.lines(section, named=False) for section in sections]
    for position in range(max(map(len, waiting), default=0)):
        yield from (found[position] for found in waiting if position < len(found))


def _asked(requests: Sequence[tuple[Message, str]], objective: str, known: set[str]) -> list[Quote]:
    """The first request and all others except the last. Text that the objective quotes is not repeated, here or
    below."""
    if not requests:
        return []
    earlier = requests[:-1]
    picked = [*earlier[:1], *earlier[1:][-2:]]
    shown = [(message, asked.headline(own, _EARLIER_CHARS)) for message, own in picked]
    found = [
        Quote(text, short_id(message.id))
        for message, text in shown
        if text not in objective and not objective.startswith(text[:_ALIKE_CHARS])
    ]
    kept = quotes.fit(found, 3 * _EARLIER_CHARS, known)
    for message, text in [*shown, (requests[-1][0], objective)]:
        known.update(same_key(q.text) for q in quotes.lines(message, user=True) if q.text in text)
    return kept


def _place(said: Sequence[Message]) -> Callable[[tuple[Message, str]], int]:
    places = {id(message): number for number, message in enumerate(said)}
    return lambda one: places[id(one[0])]


def _user_said(spoke: Sequence[tuple[Message, str]], room: int, known: set[str]) -> list[Quote]:
    """The user's statements. When space is short, limits and corrections are kept first, then the newest. Printed in
    order."""
    found: list[Quote] = []
    for message, own in spoke[-_NEWEST:]:
        if message.role == "tool":
            found.append(Quote(clip(own, quotes.MAX_LINE_CHARS), short_id(message.id), rank=1))
        elif len(own) <= _MAX_QUOTED_CHARS:
            found += quotes.lines(message, user=True)
        else:
            found.append(Quote(asked.headline(own, _HEADLINE_CHARS), short_id(message.id)))
    return _best(found, room, known)


def _best(found: Sequence[Quote], room: int, known: set[str]) -> list[Quote]:
    """The quotes of ``found`` (oldest first) that fit, chosen by rank and then newest first; in order."""
    kept: list[tuple[int, Quote]] = []
    for number, quote in sorted(enumerate(found), key=lambda item: (-item[1].rank, -item[0])):
        new = quotes.fit([quote], room, known)
        room -= sum(len(q.text) + 14 for q in new)
        kept += [(number, q) for q in new]
    return [quote for _, quote in sorted(kept, key=lambda item: item[0])]


def _task_lines(listed: tasks.Tasks) -> list[Quote]:
    found = [Quote(f"in progress: {clip(text, 200)}", "task list") for text in listed.doing[:_MAX_LISTED]]
    found += [Quote(f"pending: {clip(text, 200)}", "task list") for text in listed.pending[:_MAX_LISTED]]
    if found and listed.done:
        found.append(Quote(f"done: {len(listed.done)}", "task list"))
    return found


def _round_robin(messages: Sequence[Message], room: int, known: set[str]) -> list[Quote]:
    """Lines taken from each message in turn, newest message first, so that every message is represented."""
    waiting = [(message, quotes.lines(message)) for message in reversed(messages)]
    kept: dict[str, list[tuple[int, Quote]]] = {}
    order = {message.id: number for number, message in enumerate(messages)}
    position = 0
    while any(position < len(lines) for _, lines in waiting) and room > 0:
        for message, lines in waiting:
            if position < len(lines):
                new = quotes.fit([lines[position]], room, known)
                room -= sum(len(q.text) + 14 for q in new)
                kept.setdefault(message.id, []).extend((position, q) for q in new)
        position += 1
    ids = sorted(kept, key=order.__getitem__)
    return [quote for message_id in ids for _, quote in sorted(kept[message_id], key=lambda item: item[0])]


def _remarks(messages: Sequence[Message], room: int, known: set[str]) -> list[Quote]:
    """Remarks between tool calls: those that give a reason or a result first, newest first; printed in order."""
    return _best([quote for message in messages for quote in quotes.lines(message, remark=True)], room, known)
