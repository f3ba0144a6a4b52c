"""Derives a flush from a session by quoting it: requests, answers, task list, changes. No word is invented.

Explicit statements go into the payload's fields. The summary quotes the session's end first, in whole sentences
under their speaker's name.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile, takewhile
from typing import Any, Final

from holdfast.models import Category, Extraction, Message, Payload, Turn
from holdfast.text.humanize import count
from holdfast.text.plain import is_none, same_key
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.authorship.sources import short_id
from holdfast_app.message_formats.summaries import SUMMARY
from holdfast_app.offline import asked, calls, cues, ending, speech
from holdfast_app.offline.asked import Kind
from holdfast_app.offline.calls import Changes, changes
from holdfast_app.offline.speech import Quote, clip, units
from holdfast_app.offline.statements import MAX_ITEM_CHARS, MAX_ITEMS, Statements
from holdfast_app.printable import cut, first_line
from holdfast_app.records import ownlines

MAX_FILES: Final = 60
#: Length of the summary's quotations, in characters, and what its parts may take of it. A part that needs less leaves
#: the rest to the next ones. The client's own summary has its own limit.
MAX_SUMMARY_CHARS: Final = 5_000
_LEAST_SUMMARY_CHARS: Final = 3_000
_SAID_LAST_CHARS: Final = 2_000
_USER_CHARS: Final = 1_500
_CLIENT_CHARS: Final = 8_000
_HEADLINE_CHARS: Final = 300
_MAX_LISTED: Final = 8
#: How much of the newer message's worth the one before it has: in the last words, and in all earlier ones.
_FADES: Final = 0.5
_FADES_SLOWLY: Final = 0.98
#: Number of newest messages of a kind to search for quotations.
_NEWEST: Final = 300
#: Longer messages of the user were pasted, so only their headline is quoted.
_MAX_QUOTED_CHARS: Final = 1_500
_SINCE: Final = ". Since then: "


def extract(turns: Sequence[Turn], before: Payload) -> Extraction:
    """The statements in ``turns``, a summary in quotations, and the fields that follow from the course since the state
    ``before``. Other fields without statements stay None."""
    messages = [m for turn in turns for m in turn.messages]
    if not messages:
        return Extraction()
    said = asked.spoken(messages)
    is_new = not before.objective or (before.derived and not before.work_open)  # an objective of another session
    task = asked.told_task(said) if is_new else None
    statements = Statements(standing=before.rules or (), stored=before.facts or (), task=task)
    ends = {id(message) for message in final_answers(said)}
    for message in said:
        # Between tool calls the agent weighs options that it later drops, so only its answers count.
        if message.role in ("user", "tool") or id(message) in ends:
            statements.read(message)
    last = asked.last_request(said)
    if last and asked.asks_next(last[1]) and any(m.tool for m in takewhile(lambda m: m is not last[0], reversed(said))):
        statements.next_step = ""  # the agent took it up
    done = changes(said)
    listed = calls.of(said)
    decided, failed = statements.of(cues.Kind.DECISION), statements.of(cues.Kind.REJECTED)
    echoed = speech.read_by_tools([*decided, *failed], said)
    waiting = [clip(text, MAX_ITEM_CHARS) for text, _ in _open(listed)][1:]  # all but the next one
    draft = Payload(
        facts=[f.content for f in statements.facts.values() if f.category is not Category.CONTEXT] or None,
        decisions=[text for text in decided if text not in echoed] or None,
        rejected=[*(text for text in failed if text not in echoed), *done.removed][-MAX_ITEMS:] or None,
        rules=[*statements.withdrawn.values(), *statements.of(cues.Kind.RULE)] or None,
        blockers=statements.of(cues.Kind.BLOCKER) or None,
        next_step=statements.next_step or None,
        artifacts=[*done.files[-MAX_FILES:], *statements.pointers.values()] or None,
        follow_ups=[*statements.of(cues.Kind.FOLLOW_UP), *waiting][:MAX_ITEMS] or None,
    )
    draft = _derived(draft, ending.on_task(said, has_task=before.work_open is True), before)
    summary = _summary(messages, said, draft, done, listed, set(statements.told))
    return Extraction(summary=summary, facts=tuple(statements.facts.values()), draft=draft)


def final_answers(messages: Sequence[Message]) -> Iterator[Message]:
    """The agent's last text in each turn, oldest first; for the last turn only if nothing follows it."""
    waiting: Message | None = None
    for message in messages:
        if message.role == "user" and own_words(message.text):
            if waiting:
                yield waiting
            waiting = None
        elif message.role == "assistant" and not message.tool:
            waiting = message
    if waiting:
        yield waiting


def _derived(draft: Payload, said: Sequence[Message], before: Payload) -> Payload:
    """``draft`` with the fields that follow from the conversation's course, named in its ``derived``: objective, next
    step, and whether work is open. ``before`` is the state before them. Stated fields of open work stay until
    the user requests something else. A finished request leaves them as they were."""
    end = ending.of(said)
    if end.open is None and not before.work_open and (_spoke(said) or (said[-1:] and said[-1].role == "assistant")):
        end = ending.Ending(open=False, next_step=ending.NONE)
    values: dict[str, Any] = {"objective": _objective(said, before, end), "work_open": end.open}
    if draft.next_step is None:
        values["next_step"] = _next_step(said, end, before)
    return draft.evolve(**values, derived=[name for name, value in values.items() if value is not None])


def _objective(messages: Sequence[Message], before: Payload, end: ending.Ending) -> str | None:
    """The last request, in the user's own words, or the known objective if the user has requested nothing since, or if
    it was stated and the request is finished. Without either, the next step."""
    known, next_step = before.objective or "", end.next_step
    kinds = (asked.kind(m.text) for m in messages if m.role == "user")
    if before.derived and not (before.work_open or asked.goes_on(kinds)):
        known = ""  # another session's
    if before.work_open and known and (end.open is None or not (before.derived or end.open)):
        return known
    if asked_last := asked.objective(messages, asked.OBJECTIVE, known if before.work_open else ""):
        return asked_last
    if known or not is_none(next_step):
        known = asked.still(known, messages) if "objective" in before.derived else known
        return known or cut(next_step, asked.OBJECTIVE)
    spoken = [own for m in messages if m.role == "user" and (own := own_words(m.text))]
    spoken += [m.text for m in messages if m.role == "assistant" and m.text.strip()]
    return first_line(spoken[0], _HEADLINE_CHARS) if spoken else None


def _next_step(messages: Sequence[Message], end: ending.Ending, before: Payload) -> str:
    """The next step according to the last messages, or the step stated earlier. Without news about the work the earlier
    step is kept, and a stated one also until the user has said something and the work goes on; news is added to it."""
    known = (before.next_step or "") if before.work_open else ""
    if before.work_open and end.open is None:
        return known or "not stated"
    if not is_none(known) and not before.derived and not (end.open and _spoke(messages)):
        news = end.next_step if end.open and not is_none(end.next_step) else ""
        return f"{known.rstrip('. ')}{_SINCE}{news}" if news and news not in known else known or "not stated"
    return end.next_step or known or "not stated"


def _spoke(said: Sequence[Message]) -> bool:
    """Whether the user asked for something, or told the agent to go on."""
    return any(m.role == "user" and asked.kind(m.text) in (Kind.REQUEST, Kind.ASSENT) for m in said)


def _summary(
    messages: Sequence[Message],
    said: Sequence[Message],
    draft: Payload,
    done: Changes,
    listed: Sequence[calls.Task],
    known: set[str],
) -> str:
    """The quotations, the newest first, without the lines that are ``known``, and the client's own summary."""
    stated = (draft.facts, draft.decisions, draft.blockers, draft.rejected)
    known |= {same_key(text) for items in stated for text in items or ()}
    parts: list[str] = []
    named: set[str] = set()
    files = sum(len(text) + len("- Artifact: ") for text in draft.artifacts or ())
    room = max(MAX_SUMMARY_CHARS - files, _LEAST_SUMMARY_CHARS)
    compacted = next((m for m in reversed(messages) if m.role == "system" and m.tool == SUMMARY), None)
    last = asked.last_request(said)
    users = [m for m in said if m.role == "user"][-_NEWEST:]
    repeated = {same_key(unit) for m in users if len(m.text) <= _MAX_QUOTED_CHARS for unit in units(m.text)}

    def add(title: str, quotes: Sequence[Quote]) -> None:
        nonlocal room
        if quotes:
            parts.append(_part(title, quotes))
            room -= len(parts[-1]) + 2

    def agents(among: Iterable[Message], limit: int, *, last: bool = False) -> list[Quote]:
        spoken = [m for m in among if m.role == "assistant" and not m.tool][-_NEWEST:]
        groups = (
            [q for q in speech.lines(m, echoed=repeated) if last or not asked.QUESTION.search(q.text)]
            for m in reversed(spoken)
        )
        fade = _FADES if last else _FADES_SLOWLY
        return speech.choose(groups, min(limit, room), known, named, fade, sort=last)

    overview = speech.client_summary(compacted, _CLIENT_CHARS) if compacted else []
    start = _place(said, messages, compacted) if overview else 0
    if not any(m.role == "assistant" and not m.tool for m in said[start:]):
        start = 0
    at = max(_place(said, said, last[0] if last else None), start)
    add(ownlines.SAID_LAST, agents(said[at:], _SAID_LAST_CHARS, last=True))
    add(ownlines.TASKS, _task_lines(listed))
    if last:
        rest = [[quote] for quote in _user_lines(last[0]) if quote.text not in (draft.objective or "")]
        add(ownlines.REQUEST, speech.choose(rest, min(_USER_CHARS, room), known, named, 1))
    others = (_user_lines(m, is_last=False) for m in reversed(said) if not last or m is not last[0])
    add(ownlines.USER_SAID, speech.choose(others, min(_USER_CHARS, room), known, named, _FADES))
    if compacted and overview:
        title = ownlines.COMPACTED_BEFORE if start else ownlines.COMPACTED
        parts.append("\n".join([f"{title} ({short_id(compacted.id)}):", *overview]))
    add(ownlines.SAID_EARLIER, agents(said[start:at], room - 60))
    add(ownlines.COMMITS, [Quote(text, "") for text in done.commits[-_MAX_LISTED:]])
    if not parts:
        return ""
    turns = sum(1 for m in said if m.role == "user")
    counts = (*count(turns, "message").split(" ", 1), *count(done.calls, "tool call").split(" ", 1))
    return "\n\n".join([ownlines.line(ownlines.QUOTED, *counts), *parts])


def _place(said: Sequence[Message], messages: Sequence[Message], message: Message | None) -> int:
    """The place in ``said`` of the first message after ``message`` in ``messages``; 0 without it."""
    if message is None:
        return 0
    after = {id(m) for m in dropwhile(lambda m: m is not message, messages)} - {id(message)}
    return next((n for n, m in enumerate(said) if id(m) in after), len(said))


def _part(title: str, quotes: Sequence[Quote]) -> str:
    """The quotes as a list, with its source in the title if they have only one."""
    sources = {quote.source for quote in quotes}
    before = quotes[0].source if len(sources) == 1 else ""
    lines = [f"{title} ({before}):" if before else f"{title}:"]
    for quote in quotes:
        lines.append(f"- {quote.text}" if quote.source in ("", before) else f"- ({quote.source}) {quote.text}")
        before = quote.source
    return "\n".join(lines)


def _user_lines(message: Message, *, is_last: bool = True) -> list[Quote]:
    """The user's lines in a message, short ones too, because a pick or a correction is short. Before the last request,
    pasted lines are outdated, and a question was answered."""
    if message.role == "tool":
        return [Quote(clip(reply.text, 600), short_id(message.id)) for reply in speech.replies(message)]
    if message.role != "user":
        return []
    quotes = speech.lines(message, user=True)
    own = own_words(message.text)
    if is_last:
        return quotes
    if 2 * sum(map(len, asked.paragraphs(own))) < len(own):
        return []
    if not quotes and asked.kind_of_words(own) in (Kind.REQUEST, Kind.STATEMENT):
        quotes = [Quote(clip(" ".join(own.split()), _HEADLINE_CHARS), short_id(message.id))]
    if len(own) > _MAX_QUOTED_CHARS and quotes:
        return [Quote(asked.headline(own, _HEADLINE_CHARS), quotes[0].source)]
    return [quote for quote in quotes if not asked.QUESTION.search(quote.text)]  # those had their answers


def _open(listed: Sequence[calls.Task]) -> list[tuple[str, str]]:
    """The list's open entries, those in progress first, with their labels; none of a stale list."""
    if not calls.current(listed, calls.DOING, calls.PENDING):
        return []
    labels = {calls.DOING: "in progress", calls.PENDING: "pending"}
    return [(task.text, label) for state, label in labels.items() for task in listed if task.state == state]


def _task_lines(listed: Sequence[calls.Task]) -> list[Quote]:
    entries = [f"{label}: {clip(text, 200)}" for text, label in _open(listed)][: 2 * _MAX_LISTED]
    done = sum(task.state == calls.DONE for task in listed)
    return [Quote(text, "") for text in [*entries, *([f"done: {done}"] if entries and done else [])]]
