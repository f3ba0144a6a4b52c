"""Starting again from files alone: no provider, no transcript, no pasted context.

Read are the curated files, the three files of the workflow protocol where a project has them, the handoff and the
newest daily notes (today and yesterday, else the latest). Summaries and automation output are not: they are derived,
and must not become the source of what they were derived from.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, timedelta
from typing import TYPE_CHECKING

from attrs import frozen

from holdfast import handoff, recall, safety
from holdfast.layout import Surface
from holdfast.safety import Marker
from holdfast.three import FILES

if TYPE_CHECKING:
    from holdfast.services import Services

_CUT = "\n… (cut; the whole text: `holdfast show {name}`)"
_BEGINS_LATER = "… (older blocks are left out; the whole text: `holdfast show {name}`)\n"
#: Fewer characters than these of a document say nothing.
_LEAST = 80


@frozen(kw_only=True)
class Brief:
    """The resume point. ``work`` holds open entries, newest first; ``notes`` are (name, text), oldest first, and
    ``files`` (name, text) of those of the three files that exist, in the order of a LOAD.

    ``str()`` is the text for an agent, no longer than the budget that was asked for.
    """

    work: tuple[handoff.Work, ...]
    memory: str
    user: str
    notes: tuple[tuple[str, str], ...]
    unsafe: tuple[Marker, ...]
    pointers: tuple[str, ...]
    text: str
    files: tuple[tuple[str, str], ...] = ()

    @property
    def objective(self) -> str:
        return self.work[0].objective if self.work else ""

    @property
    def next_step(self) -> str:
        return self.work[0].next_action if self.work else ""

    @property
    def blockers(self) -> tuple[str, ...]:
        return tuple(b for b in self.work[0].blockers if b.casefold() != "none") if self.work else ()

    def __str__(self) -> str:
        return self.text


def load(services: Services, *, max_chars: int | None = None) -> Brief:
    """See :meth:`holdfast.Holdfast.load`."""
    if max_chars is not None and max_chars < 1:
        raise ValueError("max_chars must be 1 or more")
    layout = services.layout
    handoff_name = layout.name(Surface.HANDOFF)
    handoff_text = _read(services, handoff_name)
    work = tuple(w for w in (handoff.parse(handoff_text, handoff_name) if handoff_text else ()) if w.is_open)
    names = {s: layout.name(s) for s in (Surface.MEMORY, Surface.USER)}
    memory, user = (_read(services, names[s]) for s in (Surface.MEMORY, Surface.USER))
    files = tuple((name, text) for name in map(layout.name, FILES) if (text := _read(services, name)))
    notes = tuple((name, _read(services, name)) for name in _newest_notes(services))
    unsafe = tuple(safety.all_unsafe(services.state))
    sections = [
        ("", _resume(work, unsafe, services.notices)),
        (names[Surface.USER], user),
        (names[Surface.MEMORY], memory),
        *files,
        *((name, text) for name, text in reversed(notes)),
    ]
    curated = ((names[Surface.MEMORY], memory), (names[Surface.USER], user))
    read = [n for n, text in ((handoff_name, handoff_text), *curated, *files, *notes) if text]
    return Brief(
        work=work,
        memory=memory,
        user=user,
        notes=notes,
        unsafe=unsafe,
        pointers=tuple(services.store.backend.where(n) for n in read),
        text=_fit(sections, max_chars, newest_last={name for name, _ in notes}),
        files=files,
    )


def _read(services: Services, name: str) -> str:
    document = services.store.read(name)
    return document.text if document else ""


def _newest_notes(services: Services) -> list[str]:
    """Names of the notes of today and yesterday; of the latest day before, when there is neither. Oldest first."""
    layout = services.layout
    today = services.now().date()
    near = [layout.name(Surface.DAILY, day) for day in (today - timedelta(days=1), today)]
    near = [
        name for name in near if services.store.read(name) is not None
    ]  # by name: what is no file is not passed over
    if near:
        return near
    days: dict[date, str] = {}
    for name in services.store.backend.names(layout.prefix(Surface.DAILY)):
        day = layout.day_of(Surface.DAILY, name)
        if day is not None:
            days[day] = name
    return [days[max(days)]] if days else []


def _resume(work: tuple[handoff.Work, ...], unsafe: tuple[Marker, ...], notices: tuple[str, ...]) -> str:
    lines = ["# Where to go on"]
    for notice in notices:
        lines += ["", notice]
    for marker in unsafe:
        lines += ["", f"**UNSAFE:** session {marker.session}: {marker.error} {marker.next_step}"]
    if not work:
        lines += ["", "No work is open."]
    for entry in work:
        lines += ["", f"## {_line(entry.active_task or entry.objective)}", ""]
        for label, value in (
            ("Next action", entry.next_action),
            ("Objective", entry.objective),
            ("Branch or review", entry.branch),
            ("Blocker", entry.blocker),
            ("Handed to", entry.agent),
        ):
            if value and value.casefold() != "none":
                lines.append(f"- {label}: {_line(value)}")
        for label, values in (
            ("Facts that changed", entry.facts),
            ("Blockers", entry.blockers if len(entry.blockers) > 1 else ()),
            ("Promised", entry.follow_ups),
            ("Needed from the operator", entry.needs_operator),
            ("Artifacts", entry.artifacts),
        ):
            if values:
                lines.append(f"- {label}: " + "; ".join(_line(v) for v in values))
        lines.append(f"- Whole story: {entry.note}, block {entry.flush}")
    return "\n".join(lines)


def _line(text: str) -> str:
    return " ".join(text.split())


def _fit(sections: list[tuple[str, str]], max_chars: int | None, *, newest_last: Collection[str] = ()) -> str:
    """The sections in order of importance, fenced as data. Each is cut to what is left, so the resume point comes whole
    as long as anything does. Cut off is the end, of those in ``newest_last`` the beginning; the place says how to read
    the whole."""
    frame = len(recall.OPEN) + len(recall.CLOSE) + 2
    parts: list[str] = []
    left = None if max_chars is None else max_chars - frame
    for name, text in sections:
        body = recall.defuse(text.strip())
        if not body:
            continue
        head = f"<!-- {name} -->\n" if name else ""
        if left is not None:
            room = left - (2 if parts else 0) - len(head)
            if len(body) > room:
                note = (_BEGINS_LATER if name in newest_last else _CUT if name else "\n…").format(name=name)
                if room <= len(note) + _LEAST:
                    break
                room -= len(note)
                body = note + _newest(body, room) if name in newest_last else body[:room].rstrip() + note
            left -= (2 if parts else 0) + len(head) + len(body)
        parts.append(head + body)
    whole = f"{recall.OPEN}\n" + "\n\n".join(parts) + f"\n{recall.CLOSE}"
    return whole if max_chars is None or len(whole) <= max_chars else whole[:max_chars]


def _newest(note: str, room: int) -> str:
    """The end of a note, from where a block begins, else a line; in at most ``room`` characters."""
    tail = note[-room:]
    for start in ("\n## ", "\n"):
        at = tail.find(start)
        if 0 <= at < len(tail) - _LEAST:
            return tail[at + 1 :]
    return tail
