"""The overview (state, due tasks, timeline, open work), and the timeline on its own page, with its SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from holdfast.errors import HoldfastError
from holdfast.journal.safety import State
from holdfast_app.dream.dreamlog import Status as DreamStatus
from holdfast_app.trust import provenance
from holdfast_app.view.project import days, events, interruptions, since_first, totals
from holdfast_web.pages.request import page

if TYPE_CHECKING:
    from holdfast.flush.handoff import Work
    from holdfast_app.dream.dreamlog import DreamResult
    from holdfast_app.sessions.status import Status
    from holdfast_app.view.project import Day, Project
    from holdfast_web.pages.request import Request
    from holdfast_web.rendering import Renderer


#: The picture's rows, top to bottom: attribute, label.
LANES: Final = (
    ("flushes", "Saved"),
    ("blocked", "Blocked"),
    ("compactions", "Compactions"),
    ("sessions", "Sessions"),
    ("dreams", "Dreams"),
)
_WIDTH: Final = 960
_LANE_H: Final = 34
_BAR_H: Final = 26
_FOOT: Final = 22
#: The smallest bar that can be seen, as a share of the lane.
_LEAST: Final = 0.3
#: Width of the labels left of the picture, and of a label below it.
_GUTTER: Final = 88
_LABEL: Final = 70


class Bar(NamedTuple):
    """One day's number in one lane."""

    x: float
    y: float
    width: float
    height: float
    lane: str
    label: str


class Picture(NamedTuple):
    """Geometry for the template, in units of the view box. ``ticks`` are labels below with their place, ``lanes``
    labels with their base line's height."""

    width: int
    height: int
    bars: Sequence[Bar]
    ticks: Sequence[tuple[float, str]]
    lanes: Sequence[tuple[str, int]]


def picture(shown: Sequence[Day]) -> Picture:
    """Bars for each lane. Heights grow with the square root, so that a busy day does not flatten the others."""
    step = (_WIDTH - _GUTTER) / max(1, len(shown))
    bars: list[Bar] = []
    for row, (name, label) in enumerate(LANES, 1):
        most = max((getattr(day, name) for day in shown), default=0)
        for number, day in enumerate(shown):
            if value := getattr(day, name):
                height = round(_BAR_H * max(_LEAST, sqrt(value / most)), 2)
                text = f"{day.day:%Y-%m-%d}: {label.lower()} {value}"
                bars.append(
                    Bar(round(_GUTTER + number * step, 2), row * _LANE_H - height, step * 0.7, height, name, text)
                )
    every = max(1, round(_LABEL / step))
    return Picture(
        width=_WIDTH,
        height=_LANE_H * len(LANES) + _FOOT,
        bars=bars,
        ticks=[
            (round(_GUTTER + (number + 0.5) * step, 2), f"{shown[number].day:%d %b}")
            for number in range(len(shown) - 1, -1, -every)
        ],
        lanes=[(label, row * _LANE_H) for row, (_, label) in enumerate(LANES, 1)],
    )


T = TypeVar("T")

_DAYS: Final = 60
#: Fewest days of a picture that begins with the first event.
_FEWEST: Final = 21
_SPANS: Final = ("90", "30", "180", "365", "730")
_LATEST: Final = 6
_UNSAFE: Final = 5
_INTERRUPTIONS: Final = 30


class Due(NamedTuple):
    """Something that waits for a person. ``path`` is the page about it, empty when there is none."""

    text: str
    step: str
    path: str = ""


def show(project: Project, renderer: Renderer, request: Request) -> str:
    memory = project.memory
    now = project.status()
    problems: list[HoldfastError] = []

    def read(query: Callable[[], T], otherwise: T) -> T:
        """The result, or ``otherwise`` when a part of the store cannot be read. The banner then shows why."""
        try:
            return query()
        except HoldfastError as error:
            problems.append(error)
            return otherwise

    runs: list[DreamResult] = read(project.dreams, [])
    found = read(lambda: events(project, now, _DAYS), days(now.at.date(), _DAYS))
    shown = since_first(list(found.values()), least=_FEWEST)
    nothing: tuple[Work, ...] = ()
    work = read(memory.work.list, nothing)
    none: dict[str, int] = {}
    withheld = read(project.services.store.withheld, none)
    facts_withheld = read(lambda: project.facts_withheld, 0)
    facts = read(memory.facts.count, 0) - facts_withheld
    names: list[tuple[date, str]] = read(project.note_names, [])
    last_flush = max((one.last_flush_at for one in now.sessions if one.last_flush_at), default=None)
    latest = sorted(
        (one for one in now.sessions if one.last_turn_at), key=lambda one: one.last_turn_at or now.at, reverse=True
    )
    unique, lost = {one.message: one for one in problems}, {loss.message for loss in now.lost}
    return renderer.page(
        "overview.html",
        here="",
        title="Overview",
        status=now,
        dirty=[one for one in now.sessions if one.state is State.DIRTY],
        problems=[one for message, one in unique.items() if message not in lost],
        due=list(_due(project, now, work)),
        work=work,
        last_flush=last_flush,
        last_dream=next((run for run in runs if run.status is DreamStatus.DONE), None),
        facts=facts,
        notes=len(names),
        latest=latest[:_LATEST],
        titles=project.titles(one.id for one in (*latest[:_LATEST], *now.unsafe[:_UNSAFE])),
        days=shown,
        totals=totals(shown),
        picture=picture(shown),
        withheld=provenance.sentence(withheld, facts=facts_withheld),
        spooled=read(lambda: memory.spool.sentence, ""),
        copy=memory.spool.last_brief() if project.is_remote and problems else None,
    )


def timeline(project: Project, renderer: Renderer, request: Request) -> str:
    span = request.choice("days", _SPANS)
    now = project.status()
    shown = list(events(project, now, int(span)).values())
    stopped = page(interruptions(project, now, shown[0].day), request.text("page"), size=_INTERRUPTIONS)
    return renderer.page(
        "timeline.html",
        here="timeline",
        title="Timeline",
        days=shown,
        totals=totals(shown),
        span=span,
        spans=sorted(_SPANS, key=int),
        interruptions=stopped,
        titles=project.titles({one.session for one in stopped.items}),
        lost=now.lost,
        picture=picture(shown),
    )


def _due(project: Project, now: Status, work: Iterable[Work]) -> Iterable[Due]:
    memory = project.memory
    if now.waiting:
        yield Due(f"{len(now.waiting):,} waiting to be published.", now.waiting[0].error, "outbox")
    for one in work:
        for text in one.needs_operator:
            if text.strip().casefold() != "none":
                yield Due(text, f"Asked for by session {one.session}.", "work")
    try:
        if memory.dream_due():
            yield Due("A dream is due, because the notes have new blocks.", "`holdfast dream` runs it now.", "dreams")
    except HoldfastError as error:
        yield Due(error.message, error.next_step, "dreams")
