"""The handoff, a machine-readable restart point for unfinished work. One small document, replaced at each flush.

TOML between two ``+++`` lines, read without any model, and below it the same content for people. Several sessions may
work open in one project. Each has its own ``[[work]]`` entry, newest first. When work closes, its entry becomes a
closed marker, which goes when the next session writes. Open work beyond the newest :data:`MAX_ENTRIES` is shortened,
and the daily note that it names holds the rest. Beyond the newest :data:`MAX_OPEN` it is only in its session's journal
and note, so the document stays small and a flush quick. An entry with a rule of the user never goes, until a
newer rule about the same thing replaces that rule, or a person withdraws or removes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeAlias

from attrs import asdict, evolve, field, frozen

from holdfast import models
from holdfast.errors import Corrupt
from holdfast.text import ownlines, untrusted
from holdfast.text.plain import clip, is_none, is_open, one_line

#: The rules, of those before, that hold after new ones: see :meth:`holdfast.services.services.Services.standing`.
Standing: TypeAlias = Callable[[Sequence[str], Sequence[str]], tuple[str, ...]]
#: Limits of one entry. The daily note keeps everything, so this document can stay small (R181).
MAX_ENTRIES = 8
MAX_OPEN = 40
MAX_ITEMS = 20
MAX_CHARS = 2000
#: Maximum number of rules of all entries together. The oldest ones beyond it are only in their notes.
MAX_RULES = 100
#: Maximum characters of each string in a shortened entry.
SHORT_CHARS = 160

#: How closed work ended.
FINISHED = "finished"
ANSWERED = "answered"
CLOSED = "closed"

#: The entry fields that may quote messages.
_QUOTING = ("objective", "next_step", "facts", "blockers", "follow_ups", "rejected", "rules")

FENCE = "+++"
HEADER = ownlines.HANDOFF


def _clip(text: str) -> str:
    return clip(text.strip(), MAX_CHARS)


def _clips(strings: Iterable[str]) -> tuple[str, ...]:
    items = tuple(_clip(t) for t in strings)
    if len(items) <= MAX_ITEMS:
        return items
    return (*items[: MAX_ITEMS - 1], f"… and {len(items) - MAX_ITEMS + 1} more in the daily note")


@frozen(kw_only=True)
class Work:
    """One entry. ``state`` is open or closed; ``note`` names the daily note with the whole story; ``at`` is the time of
    the flush, ISO-8601. ``derived`` is true when the next action was derived, not stated; ``short`` when older than
    :data:`MAX_ENTRIES` others, see :func:`shortened`. ``ended`` says how closed work ended: finished, answered (a
    question was answered, and this flush saved no change) or closed (``because`` of that). ``sources`` are the messages
    that derived fields quote, as ``FIELD ID`` (:mod:`holdfast_app.authorship.sources`).
    """

    session: str
    flush: str
    state: str = "open"
    note: str = ""
    agent: str = ""
    objective: str = field(default="", converter=_clip)
    active_task: str = field(default="", converter=_clip)
    branch: str = field(default="", converter=_clip)
    blocker: str = field(default="", converter=_clip)
    next_action: str = field(default="", converter=_clip)
    facts: tuple[str, ...] = field(default=(), converter=_clips)
    blockers: tuple[str, ...] = field(default=(), converter=_clips)
    artifacts: tuple[str, ...] = field(default=(), converter=_clips)
    follow_ups: tuple[str, ...] = field(default=(), converter=_clips)
    needs_operator: tuple[str, ...] = field(default=(), converter=_clips)
    rejected: tuple[str, ...] = field(default=(), converter=_clips)
    rules: tuple[str, ...] = ()
    derived: bool = False
    short: bool = False
    at: str = ""
    ended: str = ""
    because: str = field(default="", converter=_clip)
    sources: tuple[str, ...] = field(default=(), converter=_clips)

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @property
    def status(self) -> str:
        return "open" if self.is_open else self.ended or FINISHED

    @property
    def when(self) -> datetime | None:
        """When the entry's flush was made; None for an entry from an earlier version."""
        from holdfast.config.serde import moment

        try:
            return moment(self.at)
        except ValueError:
            return None

    @property
    def title(self) -> str:
        return one_line(self.active_task or self.objective or self.session)


def render(work: Iterable[Work]) -> str:
    """The document's text. The same entries give the same bytes."""
    import tomli_w

    entries = list(work)
    tables = [asdict(work, recurse=False, filter=lambda _, value: value not in ("", (), False)) for work in entries]
    table = {"version": 1, "work": tables}
    lines = [FENCE, tomli_w.dumps(table, multiline_strings=False).rstrip("\n"), FENCE, "", HEADER]
    for entry in entries:
        lines += ["", *_for_people(entry)]
    return "\n".join(lines) + "\n"


def _for_people(work: Work) -> list[str]:
    if not work.is_open:
        why = f"{ownlines.WAS_CLOSED[:-1]}: {one_line(work.because)}." if work.because else ownlines.WAS_CLOSED
        text = ownlines.line(ownlines.LEFT, work.flush, work.note or "no note")
        return [f"## Closed: {work.title}", "", text + (why if work.ended == CLOSED else ""), *_rules(work)]
    lines = [f"## Open: {work.title}", "", f"{_field('Next action')} {one_line(work.next_action)}"]
    for label, value in (("Branch or review", work.branch), ("Blocker", work.blocker), ("Objective", work.objective)):
        if value:
            lines.append(f"{_field(label)} {one_line(value)}")
    for label, values in (
        ("Facts that changed", work.facts),
        ("Given up", work.rejected),
        ("Artifacts", work.artifacts),
        ("Promised", work.follow_ups),
        ("Needed from the operator", work.needs_operator),
    ):
        if values:
            lines += [_field(label), *(f"  - {one_line(v)}" for v in values)]
    lines += _rules(work)
    if work.sources:
        lines.append(ownlines.line(ownlines.QUOTES, one_line("; ".join(work.sources))))
    lines.append(ownlines.line(ownlines.STORY, work.note or "the daily notes", work.flush))
    return lines


def _rules(work: Work) -> list[str]:
    return [_field(ownlines.RULES), *(f"  - {one_line(v)}" for v in work.rules)] if work.rules else []


def _field(label: str) -> str:
    return ownlines.line(ownlines.FIELD, label)


OLDER = "`holdfast work --all` also lists older work, from the journals."  # than a full handoff has
#: Several times what :data:`MAX_ENTRIES` and :data:`MAX_OPEN` make. A clone's can be larger, and TOML takes long.
_MOST_CHARS = 2_000_000


@lru_cache(maxsize=4)  # a flush, and a start, read it several times
def parse(text: str, name: str = "The handoff") -> tuple[Work, ...]:
    """The entries, newest first. Raises: Corrupt when ``text`` is not a handoff. A damaged handoff is never "empty"."""
    from holdfast.config.serde import structure

    problem = f"{name} cannot be read as a handoff"
    step = "Run `holdfast doctor --fix`, which rebuilds it and keeps a copy, or correct the TOML between `+++` lines."
    if len(text) > _MOST_CHARS:
        raise Corrupt(f"{problem}: it has more than {_MOST_CHARS:,} characters.", next_step=step)
    parts = text.removeprefix("\ufeff").replace("\r\n", "\n").split(f"{FENCE}\n", 2)
    if len(parts) != 3 or parts[0].strip():
        raise Corrupt(f"{problem}: it does not begin with TOML between `+++` lines.", next_step=step)
    try:
        table = untrusted.from_toml(parts[1])
    except ValueError as error:
        raise Corrupt(f"{problem}: {error}.", next_step=step) from error
    entries = table.get("work", [])
    if not isinstance(entries, list):
        raise Corrupt(f"{problem}: `work` is not a list of tables.", next_step=step)
    return tuple(structure(entry, Work, what=name, error=Corrupt) for entry in entries)


def put(
    entries: Iterable[Work],
    new: Work,
    standing: Standing = lambda rules, _: tuple(rules),
    stated: Sequence[str] = (),
) -> tuple[Work, ...]:
    """``new`` first, then the others with open work or rules. Open work beyond the newest :data:`MAX_ENTRIES` is
    shortened, like closed markers, and beyond :data:`MAX_OPEN` left out. Of the others' rules those that are
    ``standing`` after the ones of ``new``, and those ``stated`` in its flush, stay."""
    listed = [new]
    number, left = int(new.is_open), MAX_RULES - len(new.rules)
    for work in (w for w in entries if w.session != new.session):
        rules = standing(work.rules, (*stated, *new.rules))[-left:] if left > 0 else ()
        left -= len(rules)
        if work.is_open or rules:
            number += work.is_open
            if number > MAX_OPEN and work.is_open and not rules:
                continue
            work = work if rules == work.rules else evolve(work, rules=rules)
            listed.append(work if work.is_open and number <= MAX_ENTRIES else shortened(work))
    return tuple(listed)


def ruled(before: Sequence[str], new: Sequence[str], standing: Standing) -> tuple[str, ...]:
    """The rules that hold after ``new`` was added to those of ``before``, newest last."""
    rules: tuple[str, ...] = tuple(before)
    for rule in new:
        rules = (*standing(rules, (rule,)), rule)
    return standing(rules, ())[-MAX_RULES:]


def shortened(work: Work) -> Work:
    """The entry with its strings cut and its lists omitted, so that many open sessions fit. Shortening it again changes
    nothing."""
    if work.short:
        return work
    names = ("objective", "active_task", "branch", "blocker", "next_action")
    cut: dict[str, Any] = {name: clip(one_line(getattr(work, name)), SHORT_CHARS) for name in names}
    return evolve(
        work,
        **cut,
        facts=(),
        blockers=(),
        artifacts=(),
        follow_ups=(),
        rejected=(),
        needs_operator=tuple(clip(one_line(text), SHORT_CHARS) for text in work.needs_operator[:3]),
        sources=(),
        short=True,
    )


def is_full(entries: Iterable[Work]) -> bool:
    """Whether older open work may be in the journals alone."""
    return sum(work.is_open for work in entries) >= MAX_OPEN


def crowded(entries: Sequence[Work]) -> str:
    """A sentence that lists the open entries shortened for want of room; empty when there is room."""
    short = [w.session for w in entries if w.short and w.is_open]
    if not short or sum(work.is_open for work in entries) <= MAX_ENTRIES:
        return ""
    shown = ", ".join(short[:5]) + (f" and {len(short) - 5} more" if len(short) > 5 else "")
    return (
        f"The handoff has open work of more than {MAX_ENTRIES} sessions, so the oldest entries are shortened: "
        f"{shown}. Their daily notes hold the rest. {OLDER if is_full(entries) else ''}".rstrip()
    )


def of(payload: models.Payload, *, session: str, flush: str, note: str, agent: str = "", at: str = "") -> Work:
    """The entry that a flush leaves for ``payload``: open work, or the marker that it is closed."""
    stated = payload.handoff
    work = Work(
        session=session,
        flush=flush,
        note=note,
        agent=agent,
        objective=payload.objective or "",
        active_task=stated.active_task if stated else payload.objective or "",
        branch=stated.branch if stated else "none",
        blocker=stated.blocker if stated else "none",
        next_action=stated.next_action if stated else "",
        facts=payload.facts or (),
        blockers=payload.blockers or (),
        artifacts=payload.artifacts or (),
        follow_ups=payload.follow_ups or (),
        needs_operator=payload.needs_operator or (),
        rejected=payload.rejected or (),
        rules=tuple(_clip(rule) for rule in payload.rules or () if not is_none(rule))[-MAX_RULES:],
        derived="next_step" in payload.derived,
        at=at,
        sources=[source for source in payload.sources if source.partition(" ")[0] in _QUOTING],
    )
    if is_open(payload):
        return work
    changed = payload.artifacts or payload.decisions or payload.state_mutations
    return closed(work, ANSWERED if "work_open" in payload.derived and not changed else FINISHED)


def closed(work: Work, ended: str = FINISHED, because: str = "") -> Work:
    """The marker that stays in place of work that ended."""
    return evolve(
        work,
        state="closed",
        ended=ended,
        because=because,
        blocker="",
        next_action="",
        blockers=(),
        follow_ups=(),
        needs_operator=(),
        sources=(),
    )


def same(one: Work, other: Work) -> bool:
    """Whether two entries have the same content for the same flush, regardless of the agent that continues it. Fields
    that holdfast adds (times, sources) do not count, because an earlier release may have written the entry, and rules
    neither, because earlier flushes, newer rules and people change them."""
    blank: dict[str, Any] = {"agent": "", "at": "", "ended": "", "because": "", "sources": (), "rules": ()}
    return evolve(one, **blank) == evolve(other, **blank)
