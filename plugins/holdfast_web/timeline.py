"""Days and their events as an SVG: flushes, refused flushes, compactions, sessions, dreams."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

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
