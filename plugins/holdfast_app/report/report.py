"""The operator's report: events, changes, blockers, needs, and where the proof is.

Derived from files only, with a pointer for every claim. The same input gives the same text, and a lost report can be
regenerated.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, timedelta
from itertools import filterfalse
from typing import Any, Final, NamedTuple

from attrs import frozen

from holdfast.config.layout import Surface
from holdfast.errors import Corrupt, must_be_whole
from holdfast.flush import handoff, notes
from holdfast.journal import safety
from holdfast.models import Written
from holdfast.text import untrusted
from holdfast.text.plain import is_none, one_line, same_key
from holdfast_app.base import Services
from holdfast_app.markdown.lines import HEADING, ITEM, TEXT, read_line
from holdfast_app.markdown.marks import without_boxes
from holdfast_app.outbox.outbox import Outbox
from holdfast_app.printable import cut
from holdfast_app.records.blocks import blocks
from holdfast_app.sessions import pastgate

#: The questions, in the doctrine's order. Source: R110-R114.
SECTIONS = HAPPENED, CHANGED, BLOCKED, NEEDED, PROOF = (
    "What happened", "What changed", "What is blocked", "What is needed from you", "Where the proof lives",
)  # fmt: skip


@frozen(kw_only=True)
class Line:
    """One claim, and the document (and block) that proves it. ``short`` replaces it on a small screen."""

    text: str
    pointer: str
    short: str = ""


#: Maximum days that one report covers, a century.
MAX_DAYS = 36_525


@frozen(kw_only=True)
class Report:
    """``sections`` maps each of :data:`SECTIONS` to its lines, and ``searched`` to what an empty one was looked for in.
    ``str()`` is the Markdown, with each pointer once."""

    first_day: date
    last_day: date
    sections: dict[str, tuple[Line, ...]]
    searched: dict[str, str]

    def __str__(self) -> str:
        return self.markdown()

    @property
    def head(self) -> tuple[str, ...]:
        first, last = self.first_day.isoformat(), self.last_day.isoformat()
        return (f"# Report: {last if first == last else f'{first} to {last}'}",)

    def markdown(self, *, paths: bool = False) -> str:
        """The text; with ``paths`` each line has its pointer, otherwise the last of several lines from one place."""
        parts = [*self.head]
        for name, lines in self.sections.items():
            shown = []
            for line, following in zip(lines, (*lines[1:], None), strict=False):  # also without lines
                is_last = following is None or following.pointer != line.pointer
                shown.append(f"- {line.text}" + (f"  ({line.pointer})" if line.pointer and (paths or is_last) else ""))
            parts.append(f"## {name}\n\n" + "\n".join(shown or [f"- nothing  ({self.searched[name]})"]))
        return "\n\n".join(parts) + "\n"


def report(services: Services, *, days: int) -> Report:
    """The report on the last ``days`` calendar days. Open items are those open now.

    Raises: BadValue unless ``days`` is from 1 to 36,525; Corrupt; Unavailable.
    """
    must_be_whole(days, "days", 1, MAX_DAYS)
    today = services.now().date()
    window = [today - timedelta(days=n) for n in reversed(range(days))]
    made = _Making(services)
    for day in window:
        changes = made.add_trail(services.layout.name(Surface.TRAIL, day))
        made.add_note(services.layout.name(Surface.DAILY, day), changes)
    zone, compactions = services.now().tzinfo, pastgate.all_of(services.state)
    past = (compaction.sentence for compaction in compactions if compaction.at.astimezone(zone).date() in window)
    made.add(HAPPENED, past, "holdfast status")
    made.add_automation({f"{day:{form}}" for day in window for form in ("%Y-%m-%d", "%Y%m%d")})
    made.add_handoff()
    for lines in made.needed.values():
        made.found[NEEDED] += lines
    for marker in safety.all_unsafe(services.state):
        made.add(NEEDED, [f"Session {marker.session} is UNSAFE: {marker.error} {marker.next_step}"], "holdfast status")
    made.add_outbox()
    sections = {name: _outgoing(services, lines) for name, lines in made.found.items()}
    notes = ", ".join(made.notes) or "no note of these days"
    searched = dict.fromkeys(SECTIONS, notes) | dict.fromkeys((BLOCKED, NEEDED), made.handoff)
    return Report(first_day=window[0], last_day=today, sections=sections, searched=searched)


def write(services: Services, day: date, text: str) -> Written:
    """Store a report as the day's, replacing an earlier report for that day. Reports are derived, so nothing reads them
    as a source. Raises: Refused, PluginError; Conflict; Corrupt; Unavailable."""
    name = services.layout.name(Surface.REPORT, day)
    text = services.gate.admit(text, surface=Surface.REPORT, name=name)
    return services.store.change(Surface.REPORT, name, lambda _: text)


def _outgoing(services: Services, lines: list[Line]) -> tuple[Line, ...]:
    """The lines, masked, and of equal ones the first."""
    masked = services.gate.outgoing_all([line.text for line in lines], surface=Surface.REPORT)
    unique: dict[str, Line] = {}
    for text, line in zip(masked, lines, strict=True):
        unique.setdefault(same_key(text), Line(text=text, pointer=line.pointer))
    return tuple(unique.values())


class _Making:
    """Lines for each section, as they are collected, and the notes and the handoff that were found. ``needed`` are
    each session's needs, by its newest entry."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._where = services.store.backend.where
        self.found: dict[str, list[Line]] = {name: [] for name in SECTIONS}
        self.needed: dict[str, list[Line]] = {}
        self.notes: list[str] = []
        self.handoff = "no handoff yet"

    def add(self, section: str, lines: Iterable[str], pointer: str) -> None:
        self.found[section] += [Line(text=text, pointer=pointer) for text in lines]

    def add_note(self, name: str, changes: Collection[str]) -> None:
        """Add a daily note. ``changes`` are the state changes that its day's summary has, as that writes them."""
        document = self._services.recalled(name)
        if document is None:
            return
        where = self._where(name)
        self.notes.append(where)
        for block in blocks(document.text):
            if not block.objective:
                continue  # a summary added later; its flush has its own block
            pointer = f"{where}, {block.title}"
            self.needed[block.session] = [Line(text=item, pointer=pointer) for item in block.items("Needed")]
            self.add(HAPPENED, [block.objective, *block.items("Fact")], pointer)
            states = (f"**{kind}** {rest}" for kind, _, rest in (row.partition(" of ") for row in block.items("State")))
            self.add(CHANGED, [*block.items("Decision"), *(text for text in states if text not in changes)], pointer)
            self.add(PROOF, block.items("Artifact"), pointer)
        self.add(PROOF, [f"Daily note of {self._services.layout.day_of(Surface.DAILY, name)}"], where)

    def add_trail(self, name: str) -> list[str]:
        document = self._services.recalled(name)
        lines = document.text.splitlines() if document is not None else []
        changes = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
        self.add(CHANGED, changes, self._where(name))
        return changes

    def add_automation(self, days: Collection[str]) -> None:
        """Add these days' heartbeat and briefings, if automation wrote any. They are read, never rewritten."""
        for surface in (Surface.HEARTBEAT, Surface.BRIEFING):
            names = self._services.store.backend.names(self._services.layout.prefix(surface))
            for name in (name for name in names if any(day in name for day in days)):
                try:
                    document, why = self._services.recalled(name), "others may have written it. See `holdfast trust`."
                except Corrupt as error:  # an interrupted write of the automation's own
                    document, why = None, error.message
                if document is None:
                    self.add(NEEDED, [f"Check the {surface}: {why}"], self._where(name))
                    continue
                log = entries(name, document.text)
                self.add(HAPPENED, (f"{surface}: {text}" for text in summary(log)), self._where(name))
                if log and log[-1].is_bad:
                    self.add(NEEDED, [f"Check the {surface}: {log[-1].text}"], self._where(name))

    def add_outbox(self) -> None:
        if items := Outbox(self._services.state).items():
            why = " ".join(dict.fromkeys(f"{item.error} {item.next_step}".strip() for item in items)).strip()
            where = ", ".join(dict.fromkeys(item.target for item in items if item.target))
            message = f"Waiting: {len(items)} to be published on {where or 'a forge'}"
            self.add(NEEDED, [message + (f": {why}" if why else ".")], "holdfast outbox")

    def add_handoff(self) -> None:
        name = self._services.layout.name(Surface.HANDOFF)
        document = self._services.recalled(name)
        if document is None:
            return
        self.handoff = where = self._where(name)
        for work in handoff.parse(document.text, name):
            if not work.is_open:
                continue
            self.add(BLOCKED, dict.fromkeys(filterfalse(is_none, (work.blocker, *work.blockers))), where)
            self.add(NEEDED, (f"Promised: {text}" for text in filterfalse(is_none, work.follow_ups)), where)
            needs = [*filterfalse(is_none, work.needs_operator)]
            if work.derived and _ASKS.search(work.next_action):
                needs.append(f"Asked: {work.next_action}")
            elif work.derived and _STOPPED.search(work.next_action):
                self.add(BLOCKED, [work.next_action], where)
            asked = [Line(text=text, pointer=where) for text in needs]
            if not work.short or asked:
                self.needed[notes.comment(work.session)] = asked


#: Work that stopped with a question, or to wait for the user's word.
_ASKS: Final = re.compile(
    r"[?？]\W*$|\bplease confirm\b|\bbitte bestätige|\byour (?:go\b|approval|answer|decision|confirmation|review)",
    re.IGNORECASE,
)
#: Work that waits for something else.
_STOPPED: Final = re.compile(
    r"\b(?:blocked|blockiert|bloqué|bloquead[oa]|waiting (?:for|on)|warte auf)\b", re.IGNORECASE
)

# what automation wrote: heartbeats and briefings

_BAD: Final = re.compile(
    r"\b(?:fail(?:s|ed|ing|ures?)?|errors?|critical|fatal|panic|down|dead|unreachable|crash(?:ed)?|refused"
    r"|timed?[ -]?out|broken|unhealthy|alert|emergency)\b"
    r"|\"(?:ok|healthy|success)\": false|\"(?:exit_status|exit_code|returncode)\": -?[1-9]",
    re.IGNORECASE,
)
#: Negations: "no errors", "0 failed", "errors: 0".
_NONE: Final = re.compile(
    r"\b(?:no|0|zero|without|never|not)\s+(?:\w+\s+)?(?:fail\w*|errors?|warnings?|alerts?|down|crash\w*)\b"
    r"|\b(?:fail\w*|errors?|warnings?|alerts?|crashes)\"?\s*[:=]\s*(?:0\b|none\b|no(?=\s*(?:[,;.|]|$))|false\b|\[\]|null\b)",
    re.IGNORECASE,
)
#: Characters of a table's rule and of a heading's underline.
_RULE: Final = " \t|:=-"


class Entry(NamedTuple):
    """One entry on one line. ``is_bad``: it reports a failure."""

    text: str
    is_bad: bool


def entries(name: str, text: str) -> list[Entry]:
    """Entries from the document ``name``, in its order."""
    shown = _of_json(text) if name.endswith((".json", ".jsonl", ".ndjson")) else _of_lines(text)
    return [Entry(cut(one_line(line), 300), _is_bad(line)) for line in shown]


def summary(log: Sequence[Entry]) -> list[str]:
    """Lines that report ``log``: the last entry, preceded by the last bad one when that is another."""
    if not log:
        return []
    last = log[-1]
    bad = next((entry for entry in reversed(log) if entry.is_bad), last)
    if bad is last or last.is_bad:
        return [last.text]
    return [f"{bad.text} (the worst of {len(log)})", f"{last.text} (the last of {len(log)})"]


def _of_json(text: str) -> Iterator[str]:
    try:
        yield from _of_value(untrusted.from_json(text))
    except (ValueError, RecursionError):
        for line in filter(str.strip, text.splitlines()):
            try:
                yield from _of_value(untrusted.from_json(line))
            except (ValueError, RecursionError):
                yield f"{line} (not JSON)"


def _of_value(value: Any) -> Iterator[str]:
    """A value as one line. A list, and a table's list of tables, as several."""
    inner = next((v for v in value.values() if isinstance(v, list)), None) if isinstance(value, dict) else value
    if isinstance(inner, list) and (inner is value or isinstance(next(iter(inner), None), dict)):
        for part in inner:
            yield from _of_value(part)
    else:
        yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _of_lines(text: str) -> Iterator[str]:
    """Each line except headings that state nothing bad; all headings when there is nothing else."""
    # Line by line, because an unclosed fence in a log would hide the lines after it.
    read = (read_line(line) for line in text.splitlines())
    lines = [line for line in read if line.kind in (HEADING, ITEM, TEXT) and line.text.strip(_RULE)]
    for line in [line for line in lines if line.kind != HEADING or _is_bad(line.text)] or lines:
        yield without_boxes(line.text).strip("|> ")


def _is_bad(text: str) -> bool:
    return bool(_BAD.search(_NONE.sub("", text)))
