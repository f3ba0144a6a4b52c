"""Fit a brief into limited space, with the resume point first, then the facts, today's and yesterday's notes, then
memory.

Each part has a share of the space and leaves any surplus to the others. A part that does not fit is cut at a line, and
the cut lines are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from holdfast.text import recall
from holdfast_app.authorship import hostile

if TYPE_CHECKING:
    from holdfast_app.brief.known import Known

Section = tuple[str, str]  # name and text

#: The resume point's share of the total space, then the notes' and memory's shares of the remainder.
RESUME_SHARE: Final = 0.6
NOTES_SHARE: Final = 0.5
MEMORY_SHARE: Final = 0.7
#: Minimum useful excerpt of a document, in characters.
_LEAST: Final = 80
#: Characters reserved for a part's heading and for the sentence about the cut.
_HEAD: Final = 80


def fitted(
    resume: str,
    torn: Section,
    facts: Known,
    standing: Sequence[Section],
    notes: Sequence[Section],
    max_chars: int | None,
    *,
    rules: str = "",
    memory: str,
    state: str,
    is_own: Callable[[str], bool],
) -> str:
    """A brief's text, fenced as data, of at most ``max_chars`` characters; empty when the fence alone is longer. Lines
    that instruct an agent are marked with their document's name, except for the user's own words (``is_own``).

    ``torn`` is a handoff with both sides of a merge. ``rules`` and ``facts`` already have their share, and facts in
    curated memory are left out. ``standing`` is curated memory, in which the document ``memory`` is
    shortened item by item. ``notes`` are newest first. They are printed in this order.
    """
    raw = {name: text for name, text in standing if name == memory}
    every = ((recall.RULES, rules), ("", resume), torn, (recall.FACTS, facts.text()), *standing, *notes)
    bodies = {name: _body(name, text, is_own) for name, text in every}

    def set_facts() -> None:  # once it is known how much of curated memory is shown
        text = facts.text("\n".join(bodies[name] for name, _ in standing))
        bodies[recall.FACTS] = _body(recall.FACTS, text, is_own)

    if max_chars is None:
        set_facts()
        return _framed([recall.heading(name) + body if name else body for name, body in bodies.items() if body])
    ends = {name for name, _ in notes}
    room = max_chars - len(_framed([]))
    sizes = {name: len(body) + _HEAD if body else 0 for name, body in bodies.items()}
    sizes[""] = len(bodies[""])
    room -= sizes.pop(recall.RULES)
    caps = {"": max(int(room * RESUME_SHARE), room - sum(sizes.values()) + sizes[""])}
    room -= min(sizes[""], caps[""]) + sizes[recall.FACTS]
    others = sizes[torn[0]] + sum(sizes[name] for name, _ in standing if name != memory)
    wanted = sum(sizes[name] for name in ends)
    room -= min(wanted, max(int(room * NOTES_SHARE), room - others - sizes[memory]))
    caps[memory] = max(int(room * MEMORY_SHARE), room - others)
    if sizes[memory] > caps[memory]:
        from holdfast_app.brief import shortened

        short = shortened.shortened(raw[memory], memory, max(0, caps[memory] - _HEAD), state)
        bodies[memory] = _body(memory, short, is_own)
        sizes[memory] = len(bodies[memory]) + _HEAD
    for name in (torn[0], *(name for name, _ in standing if name != memory)):
        caps[name] = max(0, room - min(sizes[memory], caps[memory]))
    set_facts()
    parts, out = _parts(list(bodies.items()), max_chars, caps, ends, 0)
    if out:
        parts, out = _parts(list(bodies.items()), max_chars, caps, ends, len(_left_out(out)) + _HEAD)
    whole = _framed([*parts, *([_left_out(out)] if out else [])])
    return next((text for text in (whole, _framed(parts)) if len(text) <= max_chars), "")


def _body(name: str, text: str, is_own: Callable[[str], bool]) -> str:
    place = name or "the handoff"
    return recall.defuse(hostile.marked(text.strip(), lambda line: "" if is_own(line) else place))


def _framed(parts: Sequence[str]) -> str:
    return "\n".join([recall.OPEN, "\n\n".join(parts), recall.CLOSE])


def _parts(
    sections: Sequence[Section], max_chars: int, caps: dict[str, int], ends: set[str], reserved: int
) -> tuple[list[str], list[tuple[str, int]]]:
    """The parts that fit, and the names and line counts of the documents with no space at all."""
    left = max_chars - len(_framed([])) - reserved
    parts: list[str] = []
    out: list[tuple[str, int]] = []
    for name, body in sections:
        if not body:
            continue
        head = recall.heading(name) if name else ""
        before = (2 if parts else 0) + len(head)
        room = min(left, caps.get(name, left)) - before
        shown = body if len(body) <= room else _cut(body, name, room, end=name in ends)
        if shown:
            parts.append(head + shown)
            left -= before + len(shown)
        else:
            out.append((name, body.count("\n") + 1))
    return parts, out


def _left_out(out: Sequence[tuple[str, int]]) -> str:
    named = ", ".join(
        "facts (`holdfast facts`)" if name == recall.FACTS else f"{name} ({_lines(count)})" for name, count in out[:3]
    )
    more = f" and {len(out) - 3} more" if len(out) > 3 else ""
    return f"… no room for {named}{more}: `holdfast show NAME`"


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"


def _cut(body: str, name: str, room: int, *, end: bool) -> str:
    """``body`` in ``room`` characters, with the number of lines cut; empty when the excerpt would be too short to be
    useful."""
    total = body.count("\n") + 1
    places = {
        "": "`holdfast work`, `holdfast status`",
        recall.FACTS: "`holdfast facts`",
        recall.RULES: "`holdfast work`",
    }
    where = places.get(name, f"`holdfast show {name}`")
    room -= len(f"… {_lines(total)} not shown: {where}") + 1
    if room <= (_LEAST if name else 0):
        return ""
    kept = _newest(body, room) if end else _oldest(body, room)
    note = f"… {_lines(max(1, total - kept.count(chr(10)) - 1))} not shown: {where}"
    return f"{note}\n{kept}" if end else f"{kept}\n{note}"


def _oldest(body: str, room: int) -> str:
    """The beginning, cut at a line; within a line when the first one is longer."""
    head, cut, _ = body[: room + 1].rpartition("\n")
    if cut and len(head) * 2 >= room:
        return head.rstrip()
    return body[: room - 1].rstrip() + "…"


def _newest(note: str, room: int) -> str:
    """A note's end, starting at a block. A single longer block keeps its beginning, where its session's quotations
    start. At most ``room`` characters."""
    tail = note[-room:]
    at = tail.find("\n## ")
    if 0 <= at < len(tail) - _LEAST:
        return tail[at + 1 :]
    block = note.rfind("\n## ") + 1
    head = note[block : block + room].rpartition("\n")[0]
    return head if len(head) >= _LEAST else tail[tail.find("\n") + 1 :]
