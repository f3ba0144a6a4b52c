"""Read-only queries on the opened project, and each day's events. Text that leaves the store is masked here."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Any, Final, NamedTuple, TypeVar

from attrs import define, evolve, frozen

from holdfast.api import Fact, Holdfast, HoldfastError, NotFound
from holdfast.config.layout import Surface
from holdfast.journal import safety
from holdfast_app.dream import dreamlog
from holdfast_app.facts.rejected import Departure
from holdfast_app.journal.journal import Journal
from holdfast_app.printable import in_one_line
from holdfast_app.records import journals
from holdfast_app.records.blocks import Block, blocks
from holdfast_app.sessions import lookup
from holdfast_app.sessions.status import Status, status

T = TypeVar("T")

#: A run's lists of lines that left the memory.
_GONE: Final = ("merged", "replaced", "archived", "dropped", "refused", "judged", "quoted")


@frozen(kw_only=True)
class Shown:
    """A document as it may be shown. ``withheld`` counts passages that this machine did not write."""

    name: str
    text: str
    withheld: int = 0
    withheld_lines: frozenset[int] = frozenset()


class Project:
    """One opened project. Not safe for threads."""

    def __init__(self, memory: Holdfast) -> None:
        self.memory = memory
        self.services = memory.services
        self.root = memory.services.root
        self.name = os.path.basename(self.root) or self.root
        self.zone = memory.config.tz
        #: Whether each document costs a request to a server.
        self.is_remote = memory.services.is_remote

    def day(self, at: datetime) -> date:
        return at.astimezone(self.zone).date()

    def status(self) -> Status:
        """Every session with its state; errors are masked. Raises: Unavailable."""
        now = status(self.services, packed=True)
        return evolve(now, sessions=tuple(self.cleaned(now.sessions, "error", "next_step")))

    def alarms(self) -> int:
        """The number of UNSAFE sessions, for the head of every page; 0 when unknown, which the overview reports."""
        with suppress(HoldfastError):
            return len(safety.all_unsafe(self.services.state))
        return 0

    def version(self) -> str:
        """A string that changes each minute, and at once with a journal, document or state file of this machine."""
        state = self.services.state
        folders = {state, os.path.join(state, "sessions"), os.path.join(state, "unsafe")}
        files: list[tuple[str, int, int]] = []
        with suppress(HoldfastError):  # the pages show the error
            where = [] if self.is_remote else map(self.services.store.backend.where, self.services.store.names())
            folders |= {os.path.dirname(os.path.join(self.root, place)) for place in where}
        for folder in sorted(folders):
            with suppress(OSError), os.scandir(folder) as entries:
                files += sorted((entry.path, entry.stat().st_mtime_ns, entry.stat().st_size) for entry in entries)
        return f"{hash((tuple(files), int(self.services.now().timestamp() // 60))):x}"

    def titles(self, sessions: Iterable[str]) -> dict[str, str]:
        """The first words of each session's user, masked, in one line. Sessions without any are left out."""
        try:
            titles = lookup.titles(self.memory, sessions)
        except HoldfastError:
            return {}
        return {session: in_one_line(text) for session, text in titles.items() if text}

    def masked(self, *strings: str, surface: str = Surface.JOURNAL) -> list[str]:
        """Strings as they may leave the store. When no validator works, they are left out."""
        with suppress(HoldfastError):
            return self.services.gate.outgoing_all(strings, surface=surface)
        return ["(not shown, because a validator is broken)"] * len(strings)

    def masked_trail(self, entries: Iterable[Departure]) -> list[Departure]:
        cleaned = self.cleaned(list(entries), "content", "why", "source")
        return [evolve(entry, content=entry.content or None) for entry in cleaned]

    def cleaned(self, items: Sequence[T], *names: str) -> list[T]:
        """Objects of an attrs class with the strings in these fields as they may leave the store."""
        masked = iter(self.masked(*(getattr(record, name) or "" for record in items for name in names)))
        return [evolve(record, **{name: next(masked) for name in names}) for record in items]  # type: ignore[misc]

    def masked_run(self, run: dreamlog.DreamResult) -> dreamlog.DreamResult:
        cleaned: dict[str, Any] = {name: tuple(self.cleaned(getattr(run, name), "text", "reason")) for name in _GONE}
        cleaned |= {name: self.masked(*getattr(run, name)) for name in ("added", "warnings")}
        diff, reason = self.masked(run.diff, run.reason)
        return evolve(run, diff=diff, reason=reason, lines=self.cleaned(run.lines, "text"), **cleaned)

    def document(self, name: str) -> Shown:
        """A stored document, masked. Raises: NotFound; Refused for a bad name; Corrupt; Unavailable; PluginError."""
        store = self.services.store
        document = store.read(name) if self.services.layout.surface_of(name) or name in store.names() else None
        if document is None:
            raise NotFound(f"There is no document {name!r}.", next_step="List the documents with `holdfast show`.")
        sifted = store.sifted(document)
        hidden = frozenset(line for passage in sifted.withheld for line in passage.lines)
        text = self.services.shown(document._replace(text=sifted.text)).text
        return Shown(name=name, text=text, withheld=len(sifted.withheld), withheld_lines=hidden)

    def standing(self, surface: Surface) -> Shown:
        """A single-document surface's document; empty when missing. Raises: as :meth:`document`."""
        name = self.services.layout.name(surface)
        with suppress(NotFound):
            return self.document(name)
        return Shown(name=name, text="")

    def text(self, name: str) -> str:
        """A document's text, masked; empty when it is missing, withheld or unreadable."""
        with suppress(HoldfastError):
            return self.document(name).text
        return ""

    def note_names(self) -> list[tuple[date, str]]:
        """The daily notes' days and names, newest first. Raises: Corrupt; Unavailable."""
        layout = self.services.layout
        names = self.services.store.backend.names(layout.prefix(Surface.DAILY))
        days = ((layout.day_of(Surface.DAILY, name), name) for name in names)
        return sorted(((day, name) for day, name in days if day), reverse=True)

    def flushes(self, name: str) -> list[Block]:
        """A daily note's flush blocks, oldest first. An unreadable note has none; its page shows the error."""
        document = None
        with suppress(HoldfastError):
            document = self.services.store.read(name)
        text = self.services.store.sifted(document).text if document else ""
        dated = (block for block in blocks(text) if block.at)
        return [block for block in dated if block.id.startswith("flush_") and block.reason != "summary"]

    @property
    def facts_withheld(self) -> int:
        """The number of stored facts that are withheld from agents. Raises: Corrupt; Unavailable."""
        return len(self.services.store.withheld_facts())

    def facts(self) -> list[Fact]:
        """All facts that are not withheld, newest first; mask those shown. Raises: Corrupt; Unavailable."""
        return self.services.store.known_facts(self.memory.facts.list()[::-1])

    def dreams(self) -> list[dreamlog.DreamResult]:
        """Every run, newest first, without dry runs, with its text as stored. Raises: Unavailable."""
        return [run for run in reversed(self.memory.dreams()) if not run.dry_run]


#: The kinds of events counted on each day.
COUNTS: Final = ("sessions", "flushes", "compactions", "blocked", "overridden", "dreams", "failed", "added", "left")
#: Events of a fact's trail after which it is no longer stored.
_LEFT: Final = frozenset({"evicted", "deleted", "replaced"})


@define(kw_only=True)
class Day:
    """The number of events on one day. ``compactions`` counts the flushes made for a compaction, ``blocked`` refused
    flushes, after which nothing was dropped, and ``overridden`` operators' overrides. ``failed`` counts dreams;
    ``added`` and ``left`` count facts, see :func:`history`. ``note`` is the day's note, empty when there is none."""

    day: date
    sessions: int = 0
    flushes: int = 0
    compactions: int = 0
    blocked: int = 0
    overridden: int = 0
    dreams: int = 0
    failed: int = 0
    added: int = 0
    left: int = 0
    note: str = ""

    @property
    def is_quiet(self) -> bool:
        return not any(getattr(self, name) for name in COUNTS)


class Interruption(NamedTuple):
    """A session's refused flushes or overrides on one day. ``why`` is the last one's, masked."""

    day: date
    session: str
    overridden: bool
    times: int
    reason: str
    why: str


def days(last: date, number: int) -> dict[date, Day]:
    """``number`` empty days up to ``last``, oldest first."""
    span = (last - timedelta(days=back) for back in reversed(range(number)))
    return {day: Day(day=day) for day in span}


def totals(shown: Sequence[Day]) -> Day:
    """The sum of at least one day, with the last day's date."""
    return Day(day=shown[-1].day, **{name: sum(getattr(day, name) for day in shown) for name in COUNTS})


def events(project: Project, now: Status, number: int) -> dict[date, Day]:
    """The last ``number`` days with their events.

    Flushes come from the daily notes, which outlive the journals. A store on a server gives the last flush of each
    session instead, because each note would cost a request.
    """
    by_day = days(now.at.date(), number)
    first = now.at.date() - timedelta(days=number)
    sessions: dict[date, set[str]] = {day: set() for day in by_day}

    def day_of(at: datetime | None) -> Day | None:
        return by_day.get(project.day(at)) if at else None

    for session in now.sessions:
        if day := day_of(session.last_turn_at):
            sessions[day.day].add(session.id)
        if project.is_remote and (day := day_of(session.last_flush_at)):
            day.flushes += 1
    for name in [] if project.is_remote else [name for at, name in project.note_names() if at >= first]:
        for flush in project.flushes(name):
            if day := day_of(flush.at):
                day.flushes += 1
                day.compactions += flush.reason == "compaction"
                day.note = name
                sessions[day.day].add(flush.session)
    for incident in incidents(project, now, first):
        if day := day_of(incident.at):
            day.overridden += incident.overridden
            day.blocked += not incident.overridden
    for run in project.dreams():
        if day := day_of(run.at):
            day.dreams += run.status in (dreamlog.Status.DONE, dreamlog.Status.PROPOSED)
            day.failed += run.status is dreamlog.Status.FAILED
    for at, ids in sessions.items():
        by_day[at].sessions = len(ids)
    return by_day


def history(project: Project, number: int) -> list[Day]:
    """The last ``number`` days up to today with their events and changes of facts, oldest first.

    Raises: Corrupt; Unavailable.
    """
    by_day = events(project, project.status(), number)
    for fact in project.facts():
        if day := by_day.get(project.day(fact.created_at)):
            day.added += 1
    for entry in project.memory.facts.trail.entries():
        if entry.event in _LEFT and (day := by_day.get(project.day(entry.at))):
            day.left += 1
    return list(by_day.values())


def since_first(days: Sequence[Day], *, least: int) -> Sequence[Day]:
    """The days since the first event, at least the last ``least``."""
    first = next((number for number, day in enumerate(days) if not day.is_quiet), len(days))
    return days[max(0, min(first, len(days) - least)) :]


def incidents(project: Project, now: Status, first: date) -> list[journals.Incident]:
    """The refused flushes and overrides since ``first`` that the journals record, newest first, as stored."""
    recorded: list[journals.Incident] = []
    for session in now.sessions:
        if session.last_turn_at and project.day(session.last_turn_at) >= first:
            with suppress(HoldfastError):  # the list of sessions shows the error
                recorded.extend(journals.incidents(Journal(project.services.state, session.id)))
    recorded = [incident for incident in recorded if project.day(incident.at) >= first and not incident.let_through]
    return sorted(recorded, key=lambda incident: incident.at, reverse=True)


def interruptions(project: Project, now: Status, first: date) -> list[Interruption]:
    """Refused flushes and overrides since ``first`` by session and day, newest first, masked. Raises: Unavailable."""
    groups: dict[tuple[date, str, bool], list[journals.Incident]] = {}
    for incident in incidents(project, now, first):
        groups.setdefault((project.day(incident.at), incident.session, incident.overridden), []).append(incident)
    newest = project.cleaned([group[0] for group in groups.values()], "why")
    return [
        Interruption(*key, len(group), incident.reason, incident.why)
        for (key, group), incident in zip(groups.items(), newest, strict=True)
    ]
