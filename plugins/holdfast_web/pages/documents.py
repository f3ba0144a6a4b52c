"""Notes, MEMORY.md and every other stored document, facts, the dream log and one night's changes."""

import re
from collections import Counter
from typing import Final

from attrs import evolve
from markupsafe import Markup

from holdfast.api import Category, NotFound
from holdfast.config.layout import Surface
from holdfast_app.records.blocks import blocks
from holdfast_app.trust import provenance
from holdfast_app.view import origins
from holdfast_app.view.project import Project
from holdfast_web.pages import Request, page
from holdfast_web.rendering import Renderer

#: holdfast's own comment lines, which :func:`_stamps` shows. Line numbers stay.
_MARK: Final = re.compile(r"^<!-- (?:holdfast:block id=|at=).* -->$", re.MULTILINE)
_NOTES: Final = 31
_LINES: Final = 100
_RENDERED: Final = (".md", ".markdown")


def notes(project: Project, renderer: Renderer, request: Request) -> str:
    shown = page(project.note_names(), request.text("page"), size=_NOTES)
    withheld = project.services.store.withheld_in
    listed = set(project.services.store.names()) - {name for _, name in project.note_names()}
    return renderer.page(
        "notes",
        page=shown,
        days=[(day, name, project.flushes(name), withheld(name)) for day, name in shown.items],
        others=page(sorted(listed), request.text("documents"), size=_NOTES),
    )


def memory(project: Project, renderer: Renderer, request: Request) -> str:
    known = origins.Origins(project)
    documents = {document.name: document for document in map(project.standing, (Surface.MEMORY, Surface.USER))}
    document = documents[request.choice("document", tuple(documents))]
    lines = list(origins.lines_of(document.text))
    shown = page(lines, request.text("page"), size=_LINES)
    archive = project.services.archive
    return renderer.page(
        "memory",
        documents=list(documents),
        document=document,
        page=evolve(shown, items=[known.dated(line) for line in shown.items]),
        items=sum(line.kind == "item" for line in lines),
        archive=archive if archive in project.services.store.names() else "",
    )


def show(project: Project, renderer: Renderer, request: Request) -> str:
    document = project.document(request.argument)
    surface = project.services.layout.surface_of(document.name)
    as_stored = request.text("as") == "stored"
    return renderer.page(
        "document",
        here="memory" if surface in (Surface.MEMORY, Surface.USER) else "notes",
        title=document.name,
        document=document,
        text=document.text if as_stored else _MARK.sub("", document.text),
        as_stored=as_stored,
        stamps=_stamps(renderer, document.text),
        rendered=not as_stored and document.name.endswith(_RENDERED) and not document.text.startswith("+++"),
        lines=document.text.count("\n") + 1,
    )


def _stamps(renderer: Renderer, text: str) -> dict[int, Markup]:
    """Each block's time, session and flush, by its heading's line number."""
    stamps: dict[int, Markup] = {}
    at = 0
    for block in blocks(text):
        at = text.find(block.text, at)
        if at < 0:
            break
        stamps[1 + text.count("\n", 0, at)] = renderer.part("stamp.html", block=block)
    return stamps


def why(project: Project, renderer: Renderer, request: Request) -> str:
    """The note lines, sessions and turns that ``document:line`` comes from. Raises: NotFound."""
    trace = origins.find(project, request.argument)[0]
    return renderer.page(
        "why",
        here="memory",
        title="Where a line comes from",
        trace=trace,
        titles=project.titles({source.session for source in trace.sources if source.session}),
    )


_ORDERS: Final = ("newest", "confidence", "oldest")
_LEAST: Final = ("", "0.9", "0.7", "0.5")
_EVENTS: Final = ("", "replaced", "evicted", "deleted", "updated", "kept")


def facts(project: Project, renderer: Renderer, request: Request) -> str:
    order = request.choice("order", _ORDERS)
    category = request.choice("category", ("", *Category))
    least = request.choice("least", _LEAST)
    facts = project.facts()
    chosen = [fact for fact in facts if category in ("", fact.category) and fact.confidence >= float(least or 0)]
    if order == "confidence":
        chosen.sort(key=lambda fact: -fact.confidence)
    shown = page(chosen[::-1] if order == "oldest" else chosen, request.text("page"))
    return renderer.page(
        "facts",
        page=evolve(shown, items=project.memory.facts.shown(shown.items)),
        counts=Counter(fact.category for fact in facts),
        total=len(facts),
        categories=list(Category),
        category=category,
        order=order,
        orders=_ORDERS,
        least=least,
        leasts=_LEAST,
        withheld=project.facts_withheld,
    )


def fact(project: Project, renderer: Renderer, request: Request) -> str:
    wanted = request.argument
    history = [entry for entry in project.memory.facts.trail.entries() if wanted in (entry.id, entry.by)]
    fact = next((fact for fact in project.facts() if fact.id == wanted), None)
    if fact is None and not history:
        project.memory.facts.get(wanted)  # raises, with the store's own next step
        raise NotFound(f"The fact {wanted} is withheld.", next_step=provenance.NEXT_STEP)
    trace = origins.find(project, wanted)[0] if fact else None
    return renderer.page(
        "fact",
        here="facts",
        title=f"Fact {wanted}",
        fact_id=wanted,
        fact=project.memory.facts.shown([fact])[0] if fact else None,
        trace=trace,
        titles=project.titles({source.session for source in trace.sources if source.session} if trace else ()),
        rows=project.masked_trail(history)[::-1],
    )


def departures(project: Project, renderer: Renderer, request: Request) -> str:
    event = request.choice("event", _EVENTS)
    entries = [entry for entry in project.memory.facts.trail.entries() if event in ("", entry.event)][::-1]
    shown = page(entries, request.text("page"))
    return renderer.page(
        "departures",
        here="facts",
        title="Removed facts",
        page=shown,
        rows=project.masked_trail(shown.items),
        event=event,
        events=_EVENTS,
    )


_FILTERS: Final = ("changes", "all")
_RUNS: Final = 30
#: Maximum lines of a difference to show.
_DIFF: Final = 600
#: A run's lists with their labels. Each entry has its content and a reason.
_GONE: Final = (
    ("dropped", "Dropped"),
    ("merged", "Merged into others"),
    ("replaced", "Replaced by newer statements"),
    ("archived", "Moved to the archive"),
    ("refused", "Refused: not in the sources"),
    ("judged", "Accepted by the judge"),
    ("quoted", "Quoted from the sources instead"),
)


def dreams(project: Project, renderer: Renderer, request: Request) -> str:
    chosen = request.choice("show", _FILTERS)
    runs = [run for run in project.dreams() if chosen == "all" or run.status != "skipped"]
    shown = page(runs, request.text("page"), size=_RUNS)
    return renderer.page(
        "dreams", page=evolve(shown, items=project.cleaned(shown.items, "reason")), chosen=chosen, filters=_FILTERS
    )


def dream(project: Project, renderer: Renderer, request: Request) -> str:
    runs = project.dreams()
    at = next((number for number, run in enumerate(runs) if run.id == request.argument), -1)
    if at < 0:
        raise NotFound(f"There is no dream {request.argument!r}.", next_step="The page `Dreams` lists them.")
    run = project.masked_run(runs[at])
    diff = [row for row in run.diff.splitlines() if not row.startswith(("--- ", "+++ "))]
    return renderer.page(
        "dream",
        here="dreams",
        title=f"Dream of {run.at.astimezone(project.zone):%Y-%m-%d}",
        run=run,
        newer=runs[at - 1] if at else None,
        older=runs[at + 1] if at + 1 < len(runs) else None,
        diff=[(_kind(line), line[1:] if _kind(line) != "place" else line) for line in diff[:_DIFF]],
        cut=max(0, len(diff) - _DIFF),
        gone={label: rows for name, label in _GONE if (rows := getattr(run, name))},
        lines=[
            (line.text, line.kept, line.sources, [(place, renderer.document(place)) for place in line.sources[1:]])
            for line in run.lines
        ],
    )


def _kind(line: str) -> str:
    return {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "same")
