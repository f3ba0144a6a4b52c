"""Pages for the facts by category and confidence, a single fact, and removed facts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from attrs import evolve

from holdfast.errors import NotFound
from holdfast.models import Category
from holdfast_app.trust import provenance
from holdfast_app.view import origins
from holdfast_web.paging import page

if TYPE_CHECKING:
    from holdfast_app.view.project import Project
    from holdfast_web.pages.request import Request
    from holdfast_web.rendering import Renderer

_ORDERS: Final = ("newest", "confidence", "oldest")
_LEAST: Final = ("", "0.9", "0.7", "0.5")
_EVENTS: Final = ("", "replaced", "evicted", "deleted", "updated", "kept")


def listed(project: Project, renderer: Renderer, request: Request) -> str:
    order = request.choice("order", _ORDERS)
    category = request.choice("category", ("", *Category))
    least = request.choice("least", _LEAST)
    facts = project.facts()
    counts = Counter(fact.category for fact in facts)
    chosen = [
        fact for fact in facts if (not category or fact.category == category) and fact.confidence >= float(least or 0)
    ]
    if order == "oldest":
        chosen.reverse()
    elif order == "confidence":
        chosen.sort(key=lambda fact: -fact.confidence)
    shown = page(chosen, request.text("page"))
    return renderer.page(
        "facts.html",
        here="facts",
        title="Facts",
        page=evolve(shown, items=project.shown_facts(shown.items)),
        counts=counts,
        total=len(facts),
        categories=list(Category),
        category=category,
        order=order,
        orders=_ORDERS,
        least=least,
        leasts=_LEAST,
        withheld=project.facts_withheld,
    )


def show(project: Project, renderer: Renderer, request: Request) -> str:
    """One fact, stored or gone, with its history. Raises: NotFound."""
    wanted = request.argument
    history = [one for one in project.memory.facts.trail.entries() if wanted in (one.id, one.by)]
    fact = next((fact for fact in project.facts() if fact.id == wanted), None)
    if fact is None and not history:
        project.memory.facts.get(wanted)  # raises, with the store's own next step
        raise NotFound(f"The fact {wanted} is withheld.", next_step=provenance.NEXT_STEP)
    masked = project.masked(*(one.content or "" for one in history))
    trace = origins.find(project, wanted)[0] if fact else None
    return renderer.page(
        "fact.html",
        here="facts",
        title=f"Fact {wanted}",
        fact_id=wanted,
        fact=project.shown_facts([fact])[0] if fact else None,
        trace=trace,
        titles=project.titles({one.session for one in trace.sources if one.session} if trace else ()),
        history=list(zip(history, masked, strict=True))[::-1],
    )


def departures(project: Project, renderer: Renderer, request: Request) -> str:
    """The audit log: facts that left or changed, and why."""
    event = request.choice("event", _EVENTS)
    entries = [one for one in project.memory.facts.trail.entries() if event in ("", one.event)][::-1]
    shown = page(entries, request.text("page"))
    masked = project.masked(*(one.content or "" for one in shown.items))
    return renderer.page(
        "departures.html",
        here="facts",
        title="Removed facts",
        page=shown,
        rows=list(zip(shown.items, masked, strict=True)),
        event=event,
        events=_EVENTS,
    )
