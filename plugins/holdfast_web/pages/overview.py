"""The overview (state, due tasks, timeline, open work), and the timeline on its own page, with its SVG."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import Any, Final, TypeVar

from holdfast.errors import HoldfastError
from holdfast.flush.handoff import Work
from holdfast.journal.safety import State
from holdfast.text.plain import is_none
from holdfast_app.dream import dreamlog
from holdfast_app.records import lastbrief
from holdfast_app.sessions.status import Status
from holdfast_app.trust import provenance
from holdfast_app.view.project import Day, Project, days, events, interruptions, since_first, totals
from holdfast_web.pages import Request, page
from holdfast_web.rendering import Renderer

#: The picture's rows, top to bottom: attribute, label.
LANES: Final = (
    ("flushes", "Saved"),
    ("blocked", "Blocked"),
    ("compactions", "Compactions"),
    ("sessions", "Sessions"),
    ("dreams", "Dreams"),
)
_LANE_H: Final = 40
_BAR_H: Final = 24
_FOOT: Final = 22
#: The smallest bar that can be seen.
_LEAST: Final = 3
#: Most days shown one by one, and week by week.
_BY_DAY: Final = 60
_BY_WEEK: Final = 400
#: Width of the labels left of the picture, and of a label below it.
_GUTTER: Final = 88
_LABEL: Final = 70


def pictures(shown: Sequence[Day]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The picture for a wide window and for a narrow one."""
    span = 1 if len(shown) <= _BY_DAY else 7 if len(shown) <= _BY_WEEK else 28
    return _picture(shown, span, 960), _picture(shown, -(-len(shown) // 10), 340)


def _picture(daily: Sequence[Day], span: int, width: int) -> dict[str, Any]:
    """Geometry for the template, in units of the view box: a bar for each lane and ``span`` days up to a date, all on
    one linear scale, the labels below with their place, and the lanes' with the height of their base line."""
    shown = [totals(daily[max(0, end - span) : end]) for end in range(len(daily), 0, -span)][::-1]
    step = (width - _GUTTER) / len(shown)
    most = max((getattr(day, name) for day in shown for name, _ in LANES), default=0)
    numbers = range(len(shown) - 1, -1, -max(1, round(_LABEL / step)))
    return {
        "width": width,
        "height": _LANE_H * len(LANES) + _FOOT,
        "span": span,
        "bars": [
            {"x": round(_GUTTER + (number + 0.15) * step, 2), "y": row * _LANE_H - height, "width": step * 0.7,
             "height": height, "lane": name, "value": value, "until": day.day}
            for row, (name, _) in enumerate(LANES, 1)
            for number, day in enumerate(shown)
            if (value := getattr(day, name)) and (height := max(_LEAST, round(_BAR_H * value / most, 2)))
        ],
        "ticks": [
            (min(round(_GUTTER + (at + 0.5) * step, 2), width - 22), f"{shown[at].day:%d %b}") for at in numbers
        ],
        "lanes": [(label, row * _LANE_H) for row, (_, label) in enumerate(LANES, 1)],
    }  # fmt: skip


T = TypeVar("T")

_DAYS: Final = 60
#: Fewest days of a picture that begins with the first event.
_FEWEST: Final = 21
_SPANS: Final = ("90", "30", "180", "365", "730")
_LATEST: Final = 6
_UNSAFE: Final = 5


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

    runs: list[dreamlog.DreamResult] = read(project.dreams, [])
    by_day = read(lambda: events(project, now, _DAYS), days(now.at.date(), _DAYS))
    shown = since_first(list(by_day.values()), least=_FEWEST)
    work: tuple[Work, ...] = read(memory.work.list, ())
    withheld: dict[str, int] = read(project.services.store.withheld, {})
    facts_withheld = read(lambda: project.facts_withheld, 0)
    facts = read(memory.facts.count, 0) - facts_withheld
    names: list[tuple[date, str]] = read(project.note_names, [])
    last_flush = max((session.last_flush_at for session in now.sessions if session.last_flush_at), default=None)
    latest = [session for session in now.sessions if session.last_turn_at]
    latest.sort(key=lambda session: session.last_turn_at or now.at, reverse=True)
    titles = project.titles(session.id for session in (*latest[:_LATEST], *now.unsafe[:_UNSAFE]))
    unique, lost = {problem.message: problem for problem in problems}, {loss.message for loss in now.lost}
    return renderer.page(
        "overview",
        here="",
        status=now,
        dirty=[session for session in now.sessions if session.state is State.DIRTY],
        problems=[problem for message, problem in unique.items() if message not in lost],
        due=list(_due(project, now, work, titles)),
        work=work,
        last_flush=last_flush,
        last_dream=next((run for run in runs if run.status is dreamlog.Status.DONE), None),
        facts=facts,
        notes=len(names),
        latest=latest[:_LATEST],
        titles=titles,
        days=shown,
        totals=totals(shown),
        pictures=pictures(shown),
        withheld=provenance.sentence(withheld, facts=facts_withheld),
        spooled=read(lambda: memory.spool.sentence, ""),
        copy=lastbrief.read(memory.services) if project.is_remote and problems else None,
    )


def timeline(project: Project, renderer: Renderer, request: Request) -> str:
    span = request.choice("days", _SPANS)
    now = project.status()
    shown = list(events(project, now, int(span)).values())
    stopped = page(interruptions(project, now, shown[0].day), request.text("page"), size=30)
    return renderer.page(
        "timeline",
        days=shown,
        totals=totals(shown),
        span=span,
        spans=sorted(_SPANS, key=int),
        interruptions=stopped,
        titles=project.titles({interruption.session for interruption in stopped.items}),
        lost=now.lost,
        pictures=pictures(shown),
    )


def _due(
    project: Project, now: Status, work: Iterable[Work], titles: dict[str, str]
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """What waits for a person: the text, the next step and the page about it."""
    for session in now.unsafe[:_UNSAFE]:
        step = session.next_step or f"`holdfast flush --session {session.id}`"
        yield (f"UNSAFE: {titles.get(session.id) or session.id}", step, ("sessions", session.id))
    yield from ((f"UNSAFE: {loss.message}", loss.next_step, ("timeline",)) for loss in now.lost[:_UNSAFE])
    if now.waiting:
        yield (f"{len(now.waiting):,} waiting to be published.", now.waiting[0].error, ("outbox",))
    for entry in work:
        for text in entry.needs_operator:
            if not is_none(text):
                yield (text, f"Asked for by session {entry.session}.", ("work",))
    try:
        if project.memory.dream_due():
            step = "`holdfast dream` runs it now."
            yield ("A dream is due, because the notes have new blocks.", step, ("dreams",))
    except HoldfastError as error:
        yield (error.message, error.next_step, ("dreams",))
