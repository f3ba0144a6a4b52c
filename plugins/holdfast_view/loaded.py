"""The text that a client's hook gives an agent at its next start, line by line: source, date, and cost in tokens."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from attrs import frozen

from holdfast.config.layout import THREE_FILES, Surface
from holdfast.text import recall
from holdfast_agents.events import START, Event
from holdfast_agents.restore import opening
from holdfast_view.memory_lines import Origins, lines_of

if TYPE_CHECKING:
    from holdfast_brief.brief import Brief
    from holdfast_view.project import Project

#: A placeholder for the next session's id, as long as Claude Code's ids, because the brief
#: is cut to a fixed size that includes it.
NEXT_SESSION: Final = "claude-code-00000000-0000-0000-0000-000000000000"
_HEAD: Final = "holdfast names the session and anything UNSAFE"
_RESUME: Final = "open work and warnings always come first"


@frozen(kw_only=True)
class Loaded:
    """One line of the brief. ``source`` is ``document:line``, the document alone for a line that the brief composed, or
    empty for the fence. ``at`` is when an item was last confirmed, or a note's day."""

    text: str
    tokens: int
    source: str = ""
    at: datetime | None = None


@frozen(kw_only=True)
class Part:
    """The lines from one document, with the reason why it is loaded. ``name`` is empty for text that holdfast composed.
    ``cut`` counts the document's omitted lines."""

    name: str
    title: str
    why: str
    lines: tuple[Loaded, ...]
    cut: int = 0

    @property
    def tokens(self) -> int:
        return sum(line.tokens for line in self.lines)


@frozen(kw_only=True)
class Start:
    """The whole brief. Joining all lines of all parts with newlines gives ``text``, the brief itself. ``tokens`` counts
    the whole text, which can be fewer than its lines' sum."""

    text: str
    tokens: int
    parts: tuple[Part, ...]
    withheld: str = ""
    #: ``document:line`` of each withheld passage of the documents that are loaded.
    left_out: tuple[str, ...] = ()


def start(project: Project) -> Start:
    """The brief for the next session. Raises: Corrupt; Unavailable; PluginError."""
    brief = project.memory.load()
    names = _reasons(project, brief)
    event = Event(client="claude-code", kind=START, session=NEXT_SESSION)
    text = opening(project.memory, event).context
    groups: list[tuple[str, str, list[str]]] = [("", _HEAD, [])]
    for line in text.split("\n"):
        name = next((name for name in names if recall.heading(name) == f"{line}\n"), None)
        if name is not None:
            groups.append((name, names[name], []))
        elif line == recall.OPEN:
            groups.append(("", _RESUME, []))
        groups[-1][2].append(line)
    origins = project.origins()
    count, layout = project.services.count_tokens, project.services.layout
    parts = [_part(project, origins, name, why, lines) for name, why, lines in groups]
    left_out = _left_out(project, [layout.name(Surface.HANDOFF), *names]) if brief.withheld else ()
    return Start(text=text, tokens=count(text), parts=tuple(parts), withheld=brief.withheld, left_out=left_out)


def _left_out(project: Project, names: Iterable[str]) -> tuple[str, ...]:
    store = project.services.store
    documents = filter(None, map(store.read, dict.fromkeys(names)))
    return tuple(f"{one.name}:{passage.line}" for one in documents for passage in store.sifted(one).withheld)


def _reasons(project: Project, brief: Brief) -> dict[str, str]:
    """Each document that the brief may hold, with the reason."""
    layout = project.services.layout
    today = project.now().date()
    days = {layout.name(Surface.DAILY, today): "today's note"}
    days[layout.name(Surface.DAILY, today - timedelta(days=1))] = "yesterday's note"
    return {
        layout.name(Surface.HANDOFF): "the handoff has both sides of a git merge",
        layout.name(Surface.USER): "curated memory about you is always loaded",
        layout.name(Surface.MEMORY): "curated memory is always loaded, the newest and most confirmed lines first",
        **{layout.name(surface): "the three workflow files are always loaded" for surface in THREE_FILES},
        **{name: days.get(name, "the latest note, as there is none of today or yesterday") for name, _ in brief.notes},
    }


def _part(project: Project, origins: Origins, name: str, why: str, lines: list[str]) -> Part:
    count = project.services.count_tokens
    layout = project.services.layout
    places: dict[str, deque[int]] = defaultdict(deque)
    stored = project.text(name).split("\n") if name else []
    for number, text in enumerate(stored, 1):
        places[recall.defuse(text).strip()].append(number)
    day = layout.day_of(Surface.DAILY, name) if name else None
    noted = datetime(day.year, day.month, day.day, tzinfo=project.zone) if day else None
    shown = []
    for text in lines:
        found = places.get(text.strip()) if text.strip() else None
        source = f"{name}:{found.popleft()}" if found else ""
        if not source and text.strip() and not text.startswith("<"):
            source = name or layout.name(Surface.HANDOFF)
        item = next((line for line in lines_of(text) if line.kind == "item"), None)
        at = noted or (origins.dated(item).last if item and name else None)
        shown.append(Loaded(text=text, tokens=count(text), source=source, at=at if text.strip() else None))
    used = sum(":" in line.source for line in shown)
    said = sum(1 for text in stored if text.strip())
    is_whole = not name or not any("not shown" in line.text for line in shown)
    title = name or ("The first lines" if why == _HEAD else "Where to resume")
    return Part(name=name, title=title, why=why, lines=tuple(shown), cut=0 if is_whole else max(0, said - used))
