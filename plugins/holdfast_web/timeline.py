"""Days and their events as an SVG: flushes, refused flushes, compactions, sessions, dreams."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Final

from attrs import frozen

if TYPE_CHECKING:
    from holdfast_app.view.events import Day

#: The picture's rows, top to bottom: attribute, label.
LANES: Final = (
    ("flushes", "Saved"),
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
