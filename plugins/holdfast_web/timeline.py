"""Days and their events as an SVG: flushes, refused flushes, compactions, sessions, dreams."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from math import sqrt
from typing import Final

from attrs import define, frozen

#: The picture's rows, top to bottom: attribute, label.
LANES: Final = (
    ("saved", "Saved"),
    ("blocked", "Blocked"),
    ("compactions", "Compactions"),
    ("sessions", "Sessions"),
    ("dreams", "Dreams"),
)
_LANE_H: Final = 34
_BAR_H: Final = 26
_TOP: Final = 6
_FOOT: Final = 22
#: The smallest bar that can be seen, as a share of the lane.
_LEAST: Final = 0.3
#: Width of the labels left of the picture.
_GUTTER: Final = 88
#: Minimum number of days to show.
_FEWEST: Final = 21


@define(kw_only=True)
class Day:
    """One day's events. ``saved`` counts all flushes, and ``compactions`` the flushes made for a compaction.
    ``overridden`` counts operators' overrides, ``failed`` failed dreams."""

    day: date
    saved: int = 0
    blocked: int = 0
    overridden: int = 0
    compactions: int = 0
    sessions: int = 0
    dreams: int = 0
    failed: int = 0
    note: str = ""

    @property
    def is_quiet(self) -> bool:
        return not (self.saved or self.blocked or self.overridden or self.sessions or self.dreams or self.failed)


@frozen(kw_only=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    lane: str
    label: str


@frozen(kw_only=True)
class Tick:
    x: float
    label: str


@frozen(kw_only=True)
class Picture:
    """Geometry for the template, in units of the view box. ``lanes`` are labels with their base line's height."""

    width: int
    height: int
    bars: Sequence[Bar]
    ticks: Sequence[Tick]
    lanes: Sequence[tuple[str, float]]


def days(last: date, number: int) -> dict[date, Day]:
    """``number`` empty days up to ``last``, oldest first."""
    span = [last - timedelta(days=back) for back in range(number - 1, -1, -1)]
    return {day: Day(day=day) for day in span}


def picture(shown: Sequence[Day], *, width: int, label_every: int) -> Picture:
    """Bars for each lane. Heights grow with the square root, so that a busy day does not flatten the others."""
    step = (width - _GUTTER) / max(1, len(shown))
    bars: list[Bar] = []
    for row, (name, label) in enumerate(LANES):
        most = max((getattr(day, name) for day in shown), default=0)
        floor = _floor(row)
        for number, day in enumerate(shown):
            value = getattr(day, name)
            if value:
                height = _BAR_H * max(_LEAST, sqrt(value / most))
                bars.append(
                    Bar(
                        x=round(_GUTTER + number * step + step * 0.14, 2),
                        y=round(floor - height, 2),
                        width=round(step * 0.72, 2),
                        height=round(height, 2),
                        lane=name,
                        label=f"{day.day:%Y-%m-%d}: {label.lower()} {value}",
                    )
                )
    return Picture(
        width=width,
        height=_TOP + _LANE_H * len(LANES) + _FOOT,
        bars=bars,
        ticks=list(_ticks(shown, step, label_every)),
        lanes=[(label, _floor(row)) for row, (_, label) in enumerate(LANES)],
    )


def _floor(row: int) -> float:
    return _TOP + (row + 1) * _LANE_H - (_LANE_H - _BAR_H) / 2


def without_quiet_start(shown: Sequence[Day]) -> list[Day]:
    """The days since the first event, at least three weeks."""
    first = next((number for number, day in enumerate(shown) if not day.is_quiet), len(shown))
    return list(shown[max(0, min(first - 1, len(shown) - _FEWEST)) :])


def _ticks(shown: Sequence[Day], step: float, every: int) -> Iterable[Tick]:
    """A label every ``every`` days, counted back from the last day."""
    for number in range(len(shown) - 1, -1, -every):
        yield Tick(x=round(_GUTTER + (number + 0.5) * step, 2), label=f"{shown[number].day:%d %b}")
