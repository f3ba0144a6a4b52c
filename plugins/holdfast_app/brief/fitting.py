"""Fit a brief into limited space. Each part has a share of the space and leaves any surplus to the parts after it. A
part that does not fit is cut at a line, and the cut lines are counted.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from holdfast.text.humanize import count
from holdfast_app.authorship import hostile
from holdfast_app.brief.known import Known
from holdfast_app.records import recalled
from holdfast_models import recall

#: Minimum useful excerpt of a document, in characters.
_LEAST: Final = 80
#: Characters reserved for the sentence about parts left out.
_LEFT_OUT: Final = 88

_PLACES: Final = {
    "": "`holdfast work`, `holdfast status`", recalled.FACTS: "`holdfast facts`", recalled.RULES: "`holdfast work`",
}  # fmt: skip


class Part(NamedTuple):
    """One part of a brief. Parts are printed in the given order; space goes to the lower ``rank`` first. A part takes
    at most ``share`` of the space left to it, or more if the parts after it do not need theirs. ``newest`` keeps the
    end when it is cut; ``shortened`` returns the text in so many characters, and ``dated`` adds each line's date, for
    which a cut part has no space. An ``optional`` part takes no space from
    those before it, and its cut lines are not counted."""

    name: str
    text: str
    rank: int
    share: float = 1.0
    newest: bool = False
    optional: bool = False
    shortened: Callable[[int], str] | None = None
    dated: Callable[[str], str] | None = None


def fitted(parts: Sequence[Part], facts: Known, max_chars: int | None, is_own: Callable[[str], bool]) -> str:
    """A brief's text, fenced as data, of at most ``max_chars`` characters; empty when the fence alone is longer. Lines
    that instruct an agent are marked with their document's name, except for the user's own words (``is_own``).

    ``facts``, the part named :data:`recalled.FACTS`, are listed unless another part with ``shortened`` shows them.
    """
    whole = {part.name: part.text.strip() for part in parts}
    bodies = {part.name: _body(part, whole[part.name], max_chars, is_own) for part in parts}
    dated = {part.name: part.dated(bodies[part.name]) for part in parts if part.dated and part.text}
    rooms: dict[str, int] = {}
    if max_chars is not None:
        rooms = _rooms(parts, {name: _size(name, dated.get(name, body)) for name, body in bodies.items()}, max_chars)
    curated = [part for part in parts if part.shortened]
    for part in curated:
        short = rooms.get(part.name, sys.maxsize) - _size(part.name, "-")
        if len(bodies[part.name]) > short + 1 and part.shortened:
            whole[part.name] = part.shortened(max(0, short)).strip()
            bodies[part.name] = _body(part, whole[part.name], max_chars, is_own)
            dated.pop(part.name, None)
    elsewhere = "\n".join(bodies[part.name] for part in curated)
    if facts.lines:
        bodies[recalled.FACTS] = whole[recalled.FACTS] = _marked(recalled.FACTS, facts.text(elsewhere), is_own)
    shown, out = [], []
    for part in parts:
        body = bodies[part.name]
        room = rooms.get(part.name, sys.maxsize) - _size(part.name, "-") + 1
        if len(dated.get(part.name, "")) in range(1, room + 1):
            body = dated[part.name]
        if len(body) > room:
            lines = whole[part.name].count("\n") + 1
            cut = _cut(body, part, room, lines)
            if body and not cut and not part.optional:
                out.append((part.name, lines))
            body = cut
        if body:
            shown.append(recalled.heading(part.name) + body if part.name else body)
    texts = [_framed([*shown, *([_left_out(out)] if out else [])]), _framed(shown)]
    listed = recalled.heading(recalled.FACTS) + bodies[recalled.FACTS]
    if max_chars is not None and listed in shown:  # not cut
        more = _marked(recalled.FACTS, facts.text(elsewhere, max_chars - len(texts[0]), texts[0]), is_own)
        texts.insert(0, texts[0].replace(listed, recalled.heading(recalled.FACTS) + more, 1))
    return next((text for text in texts if max_chars is None or len(text) <= max_chars), "")


def _rooms(parts: Sequence[Part], sizes: dict[str, int], max_chars: int) -> dict[str, int]:
    """Each part's space, with its heading."""
    left = max_chars - len(_framed([]))
    later = sum(sizes[part.name] for part in parts if not part.optional)
    if later > left:
        left -= _LEFT_OUT
    rooms = {}
    for part in sorted(parts, key=lambda part: part.rank):
        later -= 0 if part.optional else sizes[part.name]
        rooms[part.name] = max(0, min(sizes[part.name], max(int(left * part.share), left - later)))
        left -= rooms[part.name]
    return rooms


def _size(name: str, body: str) -> int:
    """A part's characters with its heading and the blank line after it."""
    return len(body) + 2 + (len(recalled.heading(name)) if name else 0) if body else 0


def _body(part: Part, text: str, max_chars: int | None, is_own: Callable[[str], bool]) -> str:
    """What can be shown of a part at most, marked. So a megabyte in a file costs no more than a page."""
    if max_chars is not None and len(text) > max_chars:
        text = _newest(text, max_chars) if part.newest else text[:max_chars]
    return _marked(part.name, text, is_own)


def _marked(name: str, text: str, is_own: Callable[[str], bool]) -> str:
    return recall.defuse(hostile.marked(text, lambda line: "" if is_own(line) else name or "the handoff"))


def _framed(parts: Sequence[str]) -> str:
    return "\n".join([recall.OPEN, "\n\n".join(parts), recall.CLOSE])


def _left_out(out: Sequence[tuple[str, int]]) -> str:
    name, number = out[0]
    named = "facts (`holdfast facts`)" if name == recalled.FACTS else f"{name or 'open work'} ({count(number, 'line')})"
    more = f" and {len(out) - 1} more" if len(out) > 1 else ""
    return f"… no room for {named}{more}: `holdfast show NAME`"


def _cut(body: str, part: Part, room: int, total: int) -> str:
    """``body``, of ``total`` lines, in ``room`` characters, with the number of cut ones; empty when too short to be
    useful."""
    where = _PLACES.get(part.name, f"`holdfast show {part.name}`")
    if not part.optional:
        room -= len(f"… {count(total, 'line')} not shown: {where}") + 1
    if room <= (_LEAST if part.name else 0):
        return ""
    head, cut, _ = body[: room + 1].rpartition("\n")
    if part.name == recalled.FACTS:  # a long one is left out, not those after it
        shown = "\n".join(line for line in body.split("\n") if (room := room - len(line) - 1) >= -1)
    elif part.newest:
        shown = _newest(body, room)
    else:  # cut at a line; within a line when the first one is longer
        shown = head.rstrip() if cut and len(head) * 2 >= room else body[: room - 1].rstrip() + "…"
    if part.optional:
        return shown
    note = f"… {count(max(1, total - shown.count(chr(10)) - 1), 'line')} not shown: {where}"
    return f"{note}\n{shown}" if part.newest else f"{shown}\n{note}"


def _newest(note: str, room: int) -> str:
    """A note's end, starting at a block. A single longer block keeps its beginning, where its session's quotations
    start, without a heading at its end. At most ``room`` characters."""
    tail = note[-room:]
    at = tail.find("\n## ")
    if 0 <= at < len(tail) - _LEAST:
        return tail[at + 1 :]
    block = note.rfind("\n## ") + 1
    head = note[block : block + room].rpartition("\n")[0].rstrip("\n")
    while head.endswith(":") and not head.rpartition("\n")[2].startswith("- "):
        head = head.rpartition("\n")[0].rstrip("\n")
    return head if len(head) >= _LEAST else tail[tail.find("\n") + 1 :]
