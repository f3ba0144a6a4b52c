"""Draws flow.svg, the picture of the README: ``python docs/images/flow.py``.

A picture in a README cannot use the page's colours, so it brings a light and a dark set and lets the viewer choose.
"""

from __future__ import annotations

from pathlib import Path

STEPS = (
    ("messages", "user, agent, tools"),
    ("journal", "on disk at once"),
    ("gate", "secrets masked"),
    ("notes", "written, read back"),
    ("brief", "for the next agent"),
)
WIDTH, HEIGHT, BOX, GAP, TOP = 960, 250, 152, 40, 40
STYLE = """
    text { font-family: system-ui, sans-serif; fill: #1f2328; text-anchor: middle; }
    .name { font-size: 18px; font-weight: 600; }
    .note { font-size: 13px; fill: #59636e; }
    .box { fill: #f6f8fa; stroke: #59636e; stroke-width: 1.5; }
    .way { stroke: #59636e; stroke-width: 1.5; fill: none; }
    .head { fill: #59636e; }
    .no { fill: #ffebe9; stroke: #cf222e; stroke-width: 1.5; }
    .stop { stroke: #cf222e; stroke-width: 1.5; fill: none; stroke-dasharray: 5 4; }
    .red { fill: #cf222e; }
    .yes { fill: #dafbe1; stroke: #1a7f37; stroke-width: 1.5; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; }
      .note { fill: #9198a1; }
      .box { fill: #212830; stroke: #9198a1; }
      .way { stroke: #9198a1; }
      .head { fill: #9198a1; }
      .no { fill: #3c1418; stroke: #f85149; }
      .stop { stroke: #f85149; }
      .red { fill: #f85149; }
      .yes { fill: #12261e; stroke: #3fb950; }
    }
"""


def box(left: int, top: int, name: str, note: str, *, width: int = BOX, kind: str = "box") -> str:
    """A rectangle with a name and a line below it."""
    middle = left + width // 2
    return (
        f'  <rect class="{kind}" x="{left}" y="{top}" width="{width}" height="66" rx="8"/>\n'
        f'  <text class="name" x="{middle}" y="{top + 28}">{name}</text>\n'
        f'  <text class="note" x="{middle}" y="{top + 50}">{note}</text>\n'
    )


def arrow(start: tuple[int, int], end: tuple[int, int], kind: str = "way", head: str = "head") -> str:
    """A straight line with a head, to the right or down."""
    (x1, y1), (x2, y2) = start, end
    down = x1 == x2
    points = (
        f"{x2 - 5},{y2 - 9} {x2 + 5},{y2 - 9} {x2},{y2}" if down else f"{x2 - 9},{y2 - 5} {x2 - 9},{y2 + 5} {x2},{y2}"
    )
    return f'  <path class="{kind}" d="M{x1} {y1} L{x2} {y2}"/>\n  <polygon class="{head}" points="{points}"/>\n'


def draw() -> str:
    """The whole picture."""
    lefts = [20 + at * (BOX + GAP) for at in range(len(STEPS))]
    parts = [box(left, TOP, name, note) for left, (name, note) in zip(lefts, STEPS, strict=True)]
    parts += [arrow((left + BOX + 2, TOP + 33), (left + BOX + GAP - 2, TOP + 33)) for left in lefts[:-1]]
    gate, notes = lefts[2] + BOX // 2, lefts[3] + BOX // 2
    below = TOP + 66
    parts += [
        arrow((gate, below + 2), (gate, below + 58), "stop", "red"),
        box(gate - 230, below + 60, "refused: the session is UNSAFE", "context is kept", width=310, kind="no"),
        arrow((notes, below + 2), (notes, below + 58)),
        box(notes - 76, below + 60, "receipt", "context may be dropped", width=190, kind="yes"),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title">\n'
        '  <title id="title">Messages go through the journal and the gate into notes, and from there into the brief. '
        "When the gate or a write refuses, the session is UNSAFE and its context is kept.</title>\n"
        f"  <style>{STYLE}  </style>\n" + "".join(parts) + "</svg>\n"
    )


if __name__ == "__main__":
    Path(__file__).with_name("flow.svg").write_text(draw(), encoding="utf-8")
