"""Where a line of memory or a fact comes from: its age, the note, the session, and the turn that said it."""

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Final

from attrs import evolve, frozen

from holdfast.api import Fact, HoldfastError, NotFound
from holdfast.config.layout import Surface
from holdfast.text.lazy import Lazy
from holdfast_app.authorship import sources
from holdfast_app.dream import confirmed
from holdfast_app.dream.dreamlog import Status
from holdfast_app.facts.rejected import Departure, key_of
from holdfast_app.facts.store.origins import of, unsigned
from holdfast_app.markdown.lines import BLANK, HEADING, ITEM, Lines, read_line
from holdfast_app.printable import cut
from holdfast_app.records.blocks import blocks
from holdfast_app.trust import provenance
from holdfast_app.view import journals
from holdfast_app.view.project import Project

#: Maximum number of notes searched for an item without a recorded source.
NOTES_SEARCHED: Final = 31
_LABEL: Final = Lazy(r"(?:Fact|Decision|Next|Next step|Promised|Needed|Artifact|Blocker|memory|user): ", re.IGNORECASE)
#: Sources shown for one line.
_SOURCES: Final = 3


@frozen(kw_only=True)
class Line:
    """One line. ``kind`` is heading, item or text. ``first`` and ``last`` are when an item was said first and last, on
    ``days`` days, None if unknown. ``sources`` are ``document:line``, the strongest first. ``dream`` is the
    run that wrote the line."""

    number: int
    kind: str
    text: str
    first: datetime | None = None
    last: datetime | None = None
    days: int = 0
    sources: tuple[str, ...] = ()
    dream: str = ""


class Origins:
    """The origins of items in curated memory, from the record of confirmations, the dream's runs and the notes.

    Raises: Corrupt; Unavailable.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        memory = project.services.layout.name(Surface.MEMORY)
        self._confirmed = confirmed.load(project.services.state)
        self._sources: dict[str, list[str]] = {}
        self._added: dict[str, tuple[str, datetime]] = {}
        for run in project.dreams():
            if run.status is not Status.DONE:
                continue
            for line in run.lines:
                # A line of the memory itself is where the dream found the text, not where it comes from.
                places = [source for source in line.sources if source.rpartition(":")[0] != memory]
                self._sources.setdefault(key_of(_bare(line.text)), []).extend(places)
            self._added |= {key_of(_bare(text)): (run.id, run.at) for text in run.added}

    @cached_property
    def _noted(self) -> dict[str, list[str]]:
        """Each item's places in the newest notes, the newest first. Its label does not count."""
        places: dict[str, list[str]] = {}
        for _, name in self._project.note_names()[:NOTES_SEARCHED]:
            for number, line in enumerate(self._project.text(name).split("\n"), 1):
                if line.startswith("- "):
                    places.setdefault(plain(unlabelled(line)), []).append(f"{name}:{number}")
        return places

    def dated(self, line: Line) -> Line:
        """An item with its origin; other lines unchanged."""
        if line.kind != "item":
            return line
        key = key_of(line.text)
        known = self._confirmed.get(key)
        stated = known if known is not None and known.is_said else None
        dream, at = self._added.get(key, ("", None))
        places = tuple(dict.fromkeys(self._sources.get(key) or self._noted.get(plain(line.text), [])))
        return evolve(
            line,
            first=stated.first if stated else at,
            last=stated.last if stated else at,
            days=stated.count if stated else int(at is not None),
            sources=places if len(places) <= _SOURCES else (*places[: _SOURCES - 1], places[-1]),  # the oldest stays
            dream=dream,
        )


def lines_of(text: str) -> Iterator[Line]:
    """A document's lines with content, in order, without their origins."""
    for line in Lines(text):
        if line.kind in (ITEM, HEADING):
            yield Line(number=line.number, kind=line.kind, text=line.text)
        elif line.kind != BLANK:
            yield Line(number=line.number, kind="text", text=line.mark + line.text)


def unlabelled(line: str) -> str:
    """A note line's text, without its list mark and label."""
    return _LABEL.sub("", line.strip().removeprefix("- "), count=1)


def plain(text: str) -> str:
    """``text`` as it is compared with a note's line."""
    return sources.plain(text).rstrip(".")


def _bare(text: str) -> str:
    line = read_line(text)
    return line.text if line.kind == ITEM else text


_PLACE: Final = re.compile(r"(?P<name>[^\s:][^:\n]{0,300}):(?P<line>[1-9]\d{0,8})")
_FACT: Final = re.compile(r"fact_[0-9a-f]{1,8}")
#: The hex digits of a fact's id alone. Fewer digits are more often a word or a number.
_DIGITS: Final = re.compile(r"[0-9a-f]{4,8}")
_IDS: Final = re.compile(r"\((\w{8})(?:[,…][^)]*)?\)")
_CANDIDATES: Final = 20
#: Traces of the same words, for example as a line of memory and as a fact.
_SAME: Final = 3


@frozen(kw_only=True)
class Turn:
    """A message that says it. ``text`` is masked and shortened to one line."""

    session: str
    id: str
    role: str
    at: datetime
    text: str


@frozen(kw_only=True)
class Source:
    """A note line, the flush that wrote it, and the turns it quotes. ``at`` is None for a note without a stamp. ``by``
    is ``person@machine agent``, if recorded."""

    place: str
    text: str
    flush: str = ""
    session: str = ""
    at: datetime | None = None
    turns: tuple[Turn, ...] = ()
    by: str = ""


@frozen(kw_only=True)
class Trace:
    """One line or fact. ``place`` is ``document:line`` or the fact's id. ``first`` and ``last`` are when it was said
    first and last, on ``days`` days. ``dream`` is the run that wrote a line. ``history`` is a fact's, oldest first;
    ``gone`` marks a fact that is no longer stored."""

    place: str
    text: str
    first: datetime | None = None
    last: datetime | None = None
    days: int = 0
    dream: str = ""
    sources: tuple[Source, ...] = ()
    history: tuple[Departure, ...] = ()
    category: str = ""
    confidence: float | None = None
    gone: bool = False


def find(project: Project, wanted: str) -> list[Trace]:
    """Traces of ``wanted``: ``document:line``, a fact's id or its beginning, or words in a line of curated memory, a
    fact or a recent note. Different lines with these words are listed without their sources.

    Raises: NotFound; Corrupt; Unavailable.
    """
    wanted = wanted.strip()
    if place := _PLACE.fullmatch(wanted):
        return [_line(project, place["name"], int(place["line"]))]
    if _FACT.fullmatch(wanted):
        if traces := _known(project, wanted):
            return traces
        if any(fact.id.startswith(wanted) for fact in project.services.store.withheld_facts()):
            why = f"The fact {wanted} is withheld, because this machine did not write it."
            raise NotFound(why, next_step=provenance.NEXT_STEP)
        raise NotFound(f"There is no fact {wanted!a}.", next_step="List the facts with `holdfast facts`.")
    if _DIGITS.fullmatch(wanted) and (known := _known(project, f"fact_{wanted}")):
        return known
    matches = list(_matches(project, wanted))
    matches = [match for match in matches if plain(match[1]) == plain(wanted)] or matches
    if not matches:
        store = project.services.store
        if sentence := provenance.sentence(store.withheld(), facts=len(store.withheld_facts()), names=True):
            why = f"Nothing readable contains {wanted[:80]!a}, and some memory is withheld. {sentence}"
            raise NotFound(why, next_step=provenance.NEXT_STEP)
        step = f"Try `holdfast search {' '.join(wanted.split()[:6])}`."
        raise NotFound(f"No line of memory, fact or recent note contains {wanted[:80]!a}.", next_step=step)
    if len({plain(text) for _, text in matches}) == 1:
        return [trace for place, _ in matches[:_SAME] for trace in find(project, place)[:1]]
    return [Trace(place=place, text=text) for place, text in matches[:_CANDIDATES]]


def _line(project: Project, name: str, number: int) -> Trace:
    """Raises: NotFound."""
    path = f"/{name}".replace("\\", "/")  # people may write a document's path below the project
    names = project.services.store.names()
    shown = project.document(next((known for known in names if path.endswith(f"/{known}")), name))
    lines = shown.text.split("\n")
    text = lines[number - 1] if number <= len(lines) else ""
    if not text and number in shown.withheld_lines:
        why = f"Line {number} of {shown.name} is withheld, because this machine did not write it."
        raise NotFound(why, next_step=provenance.NEXT_STEP)
    if not text.strip():
        raise NotFound(f"{shown.name} has nothing in line {number}.", next_step=f"See `holdfast show {shown.name}`.")
    place = f"{shown.name}:{number}"
    if project.services.layout.day_of(Surface.DAILY, shown.name):
        return Trace(place=place, text=unlabelled(text), sources=(_source(project, place),))
    origins = Origins(project)
    line = next((origins.dated(line) for line in lines_of(text)), Line(number=number, kind="text", text=text.strip()))
    fields = {name: getattr(line, name) for name in ("text", "first", "last", "days", "dream")}
    return Trace(place=place, sources=tuple(_source(project, source) for source in line.sources), **fields)


def _source(project: Project, place: str) -> Source:
    """A note line with the flush block around it, and the turns that say it."""
    name, _, number = place.rpartition(":")
    lines = project.text(name).split("\n")
    at = int(number) - 1 if number.isdigit() else -1
    if not 0 <= at < len(lines):
        return Source(place=place, text="(no longer there)")
    begin = next((n for n in range(at, -1, -1) if lines[n].startswith("## ")), 0)
    end = next((n for n in range(at + 1, len(lines)) if lines[n].startswith("## ")), len(lines))
    source = Source(place=place, text=unlabelled(lines[at]))
    for block in blocks("\n".join(lines[begin:end])):
        turns = tuple(_turns(project, block.session, lines[at], before=block.at))
        return evolve(source, flush=block.id, session=block.session, at=block.at, turns=turns, by=block.by)
    return source


def _turns(project: Project, session: str, line: str, *, before: datetime | None) -> Iterator[Turn]:
    """The messages that a note line quotes by id or by its words, newest first."""
    try:
        story = journals.story(project.services, session)
    except HoldfastError:
        return
    ids = {sources.short_id(message.id) for message in story.messages}.intersection(_IDS.findall(line))
    key = _key(line)
    fitting = (
        message
        for message in reversed(story.messages)
        if before is None or message.at <= before
        if (sources.short_id(message.id) in ids if ids else key and key in plain(message.text))
    )
    messages = list(islice(fitting, 3))
    for message, text in zip(messages, project.masked(*(message.text for message in messages)), strict=True):
        yield Turn(session=session, id=message.id, role=message.role, at=message.at, text=cut(text, 160))


def _known(project: Project, wanted: str) -> list[Trace]:
    """The fact whose id begins with ``wanted`` with its sources, or several facts without them."""
    stored = {fact.id: fact for fact in project.facts() if fact.id.startswith(wanted)}
    entries = project.masked_trail(project.memory.facts.trail.entries())
    gone = (entry for entry in entries if entry.id.startswith(wanted))
    traces = {entry.id: Trace(place=entry.id, text=entry.content or "", gone=True) for entry in gone}
    shown = project.memory.facts.shown(list(stored.values()))
    traces |= {fact.id: Trace(place=fact.id, text=fact.content) for fact in shown}
    if len(traces) != 1:
        return list(traces.values())
    ((ident, trace),) = traces.items()
    trace = evolve(trace, history=tuple(entry for entry in entries if ident in (entry.id, entry.by)))
    if fact := stored.get(ident):
        found_in, at = tuple(_fact_sources(project, fact)), fact.created_at
        trace = evolve(trace, first=at, last=at, sources=found_in, category=fact.category, confidence=fact.confidence)
    return [trace]


def _fact_sources(project: Project, fact: Fact) -> Iterator[Source]:
    """The note line with the fact on the day it was stored, or its source session's turns.

    ``fact.source`` is a flush, a session or a message, by the way in which it was stored.
    """
    said_in = unsigned(fact.source)
    day = project.services.layout.name(Surface.DAILY, project.day(fact.created_at))
    key = _key(fact.content)
    lines = enumerate(project.text(day).split("\n"), 1) if key else ()
    noted = [_source(project, f"{day}:{number}") for number, line in lines if key in plain(line)]
    known = ((note, (note.flush, note.session, *(turn.id for turn in note.turns))) for note in noted)
    named = (note for note, names in known if said_in and said_in in names)
    by = of(fact.source)
    if source := next(named, next(iter(noted), None)):
        yield evolve(source, by=source.by or by)
    elif fact.source:
        turns = tuple(_turns(project, said_in, fact.content, before=None))
        place = project.masked(said_in or fact.source)[0]
        yield Source(place=place, text="", session=said_in if turns else "", turns=turns, by=by)


def _matches(project: Project, wanted: str) -> Iterator[tuple[str, str]]:
    """Lines of curated memory, then facts, then the newest notes that contain the words, as (place, text)."""
    words = plain(wanted).split()

    def fits(text: str) -> bool:
        return bool(words) and all(word in plain(text) for word in words)

    names = map(project.services.layout.name, (Surface.MEMORY, Surface.USER))
    items = ((name, line) for name in names for line in lines_of(project.text(name)) if line.kind == "item")
    matches = [(f"{name}:{line.number}", line.text) for name, line in items if fits(line.text)]
    facts = project.memory.facts.shown([fact for fact in project.facts() if fits(fact.content)])
    matches += [(fact.id, fact.content) for fact in facts]
    yield from matches
    if matches:
        return
    seen: set[str] = set()  # the newest note represents older ones with the same line
    for _, name in project.note_names()[:_CANDIDATES]:
        for number, text in enumerate(project.text(name).split("\n"), 1):
            if text.startswith("- ") and fits(text) and (key := plain(unlabelled(text))) not in seen:
                seen.add(key)
                yield f"{name}:{number}", unlabelled(text)


def _key(line: str) -> str:
    text = unlabelled(line)
    ids = _IDS.match(text)
    return sources.key(plain(text[ids.end() if ids else 0 :].removesuffix("…")))
