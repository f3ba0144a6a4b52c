"""``holdfast explain``: the text that a client's hook gives an agent at its next start, line by line, with the reasons:
source, date, and cost in tokens."""

import re
from collections import deque
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from typing import Final

from attrs import frozen

from holdfast.config.layout import Surface
from holdfast.text.humanize import count
from holdfast.text.plain import one_line
from holdfast_agents.events import START, Event
from holdfast_agents.restore import MAX_CHARS, opening
from holdfast_app.base import THREE_FILES
from holdfast_app.brief.resume import Brief
from holdfast_app.records import recalled
from holdfast_app.view.origins import Origins, lines_of
from holdfast_app.view.project import Project
from holdfast_cli.command import Answer, Call, Command, picked
from holdfast_cli.terminal import Cell, Term
from holdfast_models import recall

#: Widths of the parts' titles and bars, in cells.
_TITLE: Final = 28
_BAR: Final = 10
#: The day on which an item was last said, as the brief adds it.
_SAID: Final = re.compile(r" \(\d{4}-\d\d-\d\d\)$")
#: How many places of a repeated line are compared, the last ones.
_REPEATED: Final = 20
#: A placeholder for the next session's id, as long as Claude Code's ids, because the brief
#: is cut to a fixed size that includes it.
NEXT_SESSION: Final = "claude-code-00000000-0000-0000-0000-000000000000"
_HEAD: Final = "holdfast names the session and anything UNSAFE"
_RESUME: Final = "open work and warnings always come first"


@frozen(kw_only=True)
class Loaded:
    """One line of the brief. ``source`` is ``document:line``, a fact's id, the document alone for a line that the brief
    composed, or empty for the fence. ``at`` is when an item was last confirmed or a fact stored, or a note's day."""

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
    tokens: int
    cut: int
    lines: tuple[Loaded, ...]


@frozen(kw_only=True)
class Start:
    """The whole brief. Joining all lines of all parts with newlines gives ``text``, the brief itself. ``tokens`` counts
    the whole text, which can be fewer than its lines' sum."""

    text: str
    tokens: int
    parts: tuple[Part, ...]
    withheld: str = ""
    #: ``document:line`` of each withheld passage in the loaded documents.
    left_out: tuple[str, ...] = ()


def start(project: Project) -> Start:
    """The brief for the next session. Raises: Corrupt; Unavailable; PluginError."""
    brief = project.memory.load(max_chars=MAX_CHARS)
    names = _reasons(project, brief)
    text = opening(project.memory, Event(client="claude-code", kind=START, session=NEXT_SESSION)).context
    groups: list[tuple[str, str, list[str]]] = [("", _HEAD, [])]
    for line in text.split("\n"):
        name = next((name for name in names if recalled.heading(name) == f"{line}\n"), None)
        if name is not None:
            groups.append((name, names[name], []))
        elif line == recall.OPEN:
            groups.append(("", _RESUME, []))
        groups[-1][2].append(line)
    origins = Origins(project)
    tokens, layout = project.services.count_tokens, project.services.layout
    parts = [_part(project, origins, name, why, lines) for name, why, lines in groups]
    store = project.services.store
    loaded = dict.fromkeys((layout.name(Surface.HANDOFF), *names)) if brief.withheld else ()
    documents = filter(None, map(store.read, loaded))
    left_out = tuple(f"{document.name}:{cut.line}" for document in documents for cut in store.sifted(document).withheld)
    return Start(text=text, tokens=tokens(text), parts=tuple(parts), withheld=brief.withheld, left_out=left_out)


def _reasons(project: Project, brief: Brief) -> dict[str, str]:
    """Each document that the brief may hold, with the reason."""
    layout = project.services.layout
    today = project.services.now().date()
    days = {layout.name(Surface.DAILY, today): "today's note"}
    days[layout.name(Surface.DAILY, today - timedelta(days=1))] = "yesterday's note"
    return {
        layout.name(Surface.HANDOFF): "the handoff has both sides of a git merge",
        recalled.FACTS: "stored facts, corrections first, then the most confident",
        layout.name(Surface.USER): "curated memory about you is always loaded",
        layout.name(Surface.MEMORY): "curated memory is always loaded, the newest and most confirmed lines first",
        **{layout.name(surface): "the three workflow files are always loaded" for surface in THREE_FILES},
        **{name: days.get(name, "the latest note, as there is none of today or yesterday") for name, _ in brief.notes},
    }


def _part(project: Project, origins: Origins, name: str, why: str, lines: list[str]) -> Part:
    cost = project.services.count_tokens
    layout = project.services.layout
    document = name or layout.name(Surface.HANDOFF)
    stored = project.text(document).split("\n") if name != recalled.FACTS else []
    numbers = _numbers(stored, lines)
    listed = project.memory.facts.shown(project.facts()) if name == recalled.FACTS else ()
    facts = {f"- {recall.defuse(one_line(fact.content))}": fact for fact in listed}
    day = layout.day_of(Surface.DAILY, name) if name else None
    noted = datetime(day.year, day.month, day.day, tzinfo=project.zone) if day else None
    shown = []
    for at, text in enumerate(lines):
        source = f"{document}:{numbers[at]}" if at in numbers else ""
        if not source and text.strip() and not text.startswith("<"):
            source = facts[text].id if text in facts else name or document
        as_stored = stored[numbers[at] - 1] if at in numbers else text
        item = next((line for line in lines_of(as_stored) if line.kind == "item"), None)
        dated = noted or (origins.dated(item).last if item and name else None)
        dated = facts[text].created_at if text in facts else dated
        shown.append(Loaded(text=text, tokens=cost(text), source=source, at=dated if text.strip() else None))
    total = sum(1 for text in stored if text.strip())
    is_whole = not name or not any("not shown" in line.text for line in shown)
    title = name or ("The first lines" if why == _HEAD else "Where to resume")
    cut = 0 if is_whole else max(0, total - len(numbers))
    return Part(name=name, title=title, why=why, tokens=sum(line.tokens for line in shown), cut=cut, lines=tuple(shown))


def _numbers(stored: list[str], lines: list[str]) -> dict[int, int]:
    """The document's line number for each line of the brief, by its position, where both have the same text. Repeated
    lines belong to the passage in which they are shown."""
    mine = [(at, plain) for at, text in enumerate(lines) if (plain := _plain(text))]
    places = {text: deque[int](maxlen=_REPEATED) for _, text in mine}
    for number, text in enumerate(map(_plain, stored), 1):
        if text in places:
            places[text].append(number)
    theirs = sorted((number, text) for text, numbers in places.items() for number in numbers)
    matcher = SequenceMatcher(None, [text for _, text in mine], [text for _, text in theirs], autojunk=False)
    pairs = ((block.a + n, block.b + n) for block in matcher.get_matching_blocks() for n in range(block.size))
    return {mine[at][0]: theirs[n][0] for at, n in pairs}


def _plain(text: str) -> str:
    """A line's text as compared. The handoff sets labels in bold, and the brief adds when an item was last said."""
    return _SAID.sub("", recall.defuse(text).strip().replace("**", ""))


@Command(
    "Inspect",
    "show an agent's next brief, each line with source, date and cost",
    examples=("holdfast explain", "holdfast explain --json"),
    notes="This is the text that the clients' hooks give to a new session, at most 9,000 characters."
    "\n`holdfast why LINE` shows where a line comes from.",
)
def explain(call: Call) -> Answer:
    """The next brief and its parts."""
    brief = start(Project(call.memory))
    _show(call.out, brief)
    return Answer(picked(brief, "tokens", "text", "withheld", "parts", "left_out"))


def _show(out: Term, brief: Start) -> None:
    size = f"{count(brief.tokens, 'token')}, {count(len(brief.text), 'character')}"
    out.say(f"{out.bold('Your agent starts with this')}  {out.dim(size)}\n")
    most = max((part.tokens for part in brief.parts), default=0)
    shares: list[tuple[Cell, ...]] = [
        (out.clip(part.title, _TITLE), (out.bar(part.tokens, most, _BAR), "cyan"), f"{part.tokens:,}", part.why)
        for part in brief.parts
    ]
    out.say(out.table(shares, head=("part", "", "tokens", "why it is loaded"), right=(2,)))
    for part in brief.parts:
        out.say(f"\n{out.bold(out.plain(part.title))}")
        out.say(_lines(out, part))
        if part.cut:
            out.say(f"  {out.mark('warn')} {count(part.cut, 'line')} left out: holdfast show {out.plain(part.name)}")
    if brief.withheld:
        out.fill(brief.withheld, f"\n{out.mark('warn')} ", "  ")
        for place in brief.left_out:
            out.say(f"  {out.dim('withheld')}  {out.plain(place)}")


def _lines(out: Term, part: Part) -> str:
    """The part's lines as a table, without columns that are empty in all of them."""
    shown = [line for line in part.lines if line.text.strip() and line.text not in (recall.OPEN, recall.CLOSE)]
    rows = [
        (
            f"{line.at:%Y-%m-%d}" if line.at else "",
            f"{line.tokens:,}",
            line.source.rpartition(":")[2] if ":" in line.source else "",
            line.text.strip(),
        )
        for line in shown
    ]
    columns = [column for column in range(4) if column in (1, 3) or any(row[column] for row in rows)]
    head = ("last said", "tokens", "line", "text")
    return out.table(
        [[row[column] for column in columns] for row in rows],
        head=[head[column] for column in columns],
        right=[at for at, column in enumerate(columns) if column in (1, 2)],
    )
