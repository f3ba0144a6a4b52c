"""The operator's report: events, changes, blockers, needs, and where the proof is.

Derived from files only, with a pointer for every claim. The same input gives the same text, and a lost report can be
regenerated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import date, timedelta
from typing import TYPE_CHECKING

from attrs import frozen

from holdfast.config.layout import Surface
from holdfast.flush import handoff, notes
from holdfast.journal import safety
from holdfast_app.outbox.forge import waiting
from holdfast_app.report import automation
from holdfast_app.sessions import pastgate

if TYPE_CHECKING:
    from holdfast.models import Written
    from holdfast_app.base import Services

#: The questions, in the doctrine's order. Source: R110-R114.
SECTIONS = ("What happened", "What changed", "What is blocked", "What is needed from you", "Where the proof lives")


@frozen(kw_only=True)
class Line:
    """One claim, and the document (and block) that proves it."""

    text: str
    pointer: str


@frozen(kw_only=True)
class Report:
    """``sections`` maps each of :data:`SECTIONS` to its lines; ``str()`` is the Markdown."""

    first_day: date
    last_day: date
    sections: dict[str, tuple[Line, ...]]

    def __str__(self) -> str:
        span = self.last_day.isoformat()
        if self.first_day != self.last_day:
            span = f"{self.first_day.isoformat()} to {span}"
        parts = [f"# Report: {span}"]
        for name in SECTIONS:
            lines = self.sections[name] or (Line(text="nothing", pointer=""),)
            shown = (f"- {line.text}" + (f"  ({line.pointer})" if line.pointer else "") for line in lines)
            parts.append(f"## {name}\n\n" + "\n".join(shown))
        return "\n\n".join(parts) + "\n"


def report(services: Services, *, days: int = 1, last_day: date | None = None) -> Report:
    """The report on the last ``days`` calendar days up to ``last_day`` (default: today).

    Open items are those open now. Raises: ValueError; Corrupt; Unavailable.
    """
    if days < 1:
        raise ValueError("days must be 1 or more")
    today = last_day or services.now().date()
    window = [today - timedelta(days=n) for n in reversed(range(days))]
    found: dict[str, list[Line]] = {name: [] for name in SECTIONS}
    needed: dict[str, list[Line]] = {}  # by session, newest entry wins
    for day in window:
        trail = _from_trail(services, services.layout.name(Surface.TRAIL, day))
        found["What changed"] += trail
        told = {line.text for line in trail}
        _from_note(services, services.layout.name(Surface.DAILY, day), found, needed, told)
    found["What happened"] += [
        Line(text=one.sentence, pointer="holdfast status")
        for one in pastgate.all_of(services.state)
        if one.at.astimezone(services.now().tzinfo).date() in window
    ]
    _from_automation(services, window, found)
    _from_handoff(services, found, needed)
    found["What is needed from you"] += [line for lines in needed.values() for line in lines]
    for marker in safety.all_unsafe(services.state):
        found["What is needed from you"].append(
            Line(
                text=f"Session {marker.session} is UNSAFE: {marker.error} {marker.next_step}", pointer="holdfast status"
            )
        )
    _from_outbox(services, found)
    return Report(
        first_day=window[0],
        last_day=today,
        sections={name: tuple(dict.fromkeys(_outgoing(services, lines))) for name, lines in found.items()},
    )


def write(services: Services, made: Report) -> Written:
    """Store a report as its last day's report, replacing an earlier report for that day. Reports are derived, so
    nothing reads them as a source. Raises: Refused, PluginError; Conflict; Corrupt; Unavailable."""
    name = services.layout.name(Surface.REPORT, made.last_day)
    text = services.gate.admit(str(made), surface=Surface.REPORT, name=name)
    return services.store.change(Surface.REPORT, name, lambda _: text)


def write_yesterdays(services: Services) -> Written | None:
    """Store yesterday's report, once; None when it exists already or there is nothing to report.

    Raises: as :func:`report` and :func:`write`.
    """
    day = services.now().date() - timedelta(days=1)
    if services.store.read(services.layout.name(Surface.REPORT, day)) is not None:
        return None
    made = report(services, last_day=day)
    return write(services, made) if any(made.sections.values()) else None


def _outgoing(services: Services, lines: list[Line]) -> list[Line]:
    masked = services.gate.outgoing_all([line.text for line in lines], surface=Surface.REPORT)
    return [Line(text=text, pointer=line.pointer) for text, line in zip(masked, lines, strict=True)]


def _from_note(
    services: Services,
    name: str,
    found: dict[str, list[Line]],
    needed: dict[str, list[Line]],
    told: Collection[str],
) -> None:
    """Add a daily note. ``told`` are the state changes that its day's summary has, as that writes them."""
    document = services.recalled(name)
    if document is None:
        return
    where = services.store.backend.where(name)
    for block in notes.blocks(document.text):
        pointer = f"{where}, {block.title}"
        if not block.objective:
            continue  # a summary added later; its flush has its own block
        found["What happened"].append(Line(text=block.objective, pointer=pointer))
        needed[block.session] = [Line(text=item, pointer=pointer) for item in block.items("Needed")]
        for target, labels in (
            ("What happened", ("Fact",)),
            ("What changed", ("Decision",)),
            ("Where the proof lives", ("Artifact",)),
        ):
            found[target] += [Line(text=item, pointer=pointer) for item in block.items(*labels)]
        changes = (f"**{kind}** {rest}" for kind, _, rest in (item.partition(" of ") for item in block.items("State")))
        found["What changed"] += [Line(text=text, pointer=pointer) for text in changes if text not in told]
    found["Where the proof lives"].append(Line(text=f"Daily note of {name}", pointer=where))


def _from_trail(services: Services, name: str) -> list[Line]:
    document = services.recalled(name)
    if document is None:
        return []
    where = services.store.backend.where(name)
    lines = (line.removeprefix("- ") for line in document.text.splitlines() if line.startswith("- "))
    return [Line(text=line, pointer=where) for line in lines]


def _from_automation(services: Services, window: Iterable[date], found: dict[str, list[Line]]) -> None:
    """Add the window's heartbeat and briefings, if automation wrote any. They are read, never rewritten."""
    days = {day.isoformat() for day in window}
    for surface in (Surface.HEARTBEAT, Surface.BRIEFING):
        prefix = services.layout.prefix(surface)
        for name in services.store.backend.names(prefix):
            if any(day in name for day in days):
                document = services.recalled(name)
                told = automation.entries(name, document.text if document else "")
                where = services.store.backend.where(name)
                found["What happened"] += [
                    Line(text=f"{surface}: {text}", pointer=where) for text in automation.summary(told)
                ]
                if told and told[-1].level is automation.Level.BAD:
                    found["What is needed from you"].append(
                        Line(text=f"Check the {surface}: {told[-1].text}", pointer=where)
                    )


def _from_outbox(services: Services, found: dict[str, list[Line]]) -> None:
    """Add items waiting to be published, and their errors."""
    items = waiting(services.state)
    if items:
        why = " ".join(dict.fromkeys(f"{item.error} {item.next_step}".strip() for item in items)).strip()
        where = ", ".join(dict.fromkeys(item.target for item in items if item.target))
        told = f"{len(items)} to be published on {where or 'a forge'}"
        found["What is needed from you"].append(
            Line(text=f"Waiting: {told}" + (f": {why}" if why else "."), pointer="holdfast outbox")
        )


def _from_handoff(services: Services, found: dict[str, list[Line]], needed: dict[str, list[Line]]) -> None:
    name = services.layout.name(Surface.HANDOFF)
    document = services.recalled(name)
    if document is None:
        return
    where = services.store.backend.where(name)
    for work in handoff.parse(document.text, name):
        if not work.is_open:
            continue
        blocked = [b for b in dict.fromkeys((work.blocker, *work.blockers)) if b and b.casefold() != "none"]
        found["What is blocked"] += [Line(text=b, pointer=where) for b in blocked]
        found["What is needed from you"] += [
            Line(text=f"Promised: {f}", pointer=where) for f in work.follow_ups if f.casefold() != "none"
        ]
        asked = [n for n in work.needs_operator if n.casefold() != "none"]
        if not work.short or asked:
            needed[notes.comment(work.session)] = [Line(text=n, pointer=where) for n in asked]
