"""Starting again from files alone: no provider, no transcript, no pasted context.

Read are the curated files, the three files of the workflow protocol where a project has them, the handoff and the
newest daily notes (today and yesterday, else the latest). Summaries and automation output are not: they are derived,
and must not become the source of what they were derived from.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from datetime import date, timedelta
from typing import TYPE_CHECKING

from attrs import frozen

from holdfast import conflicts, handoff, journal, losses, provenance, recall, safety
from holdfast.layout import Surface
from holdfast.losses import Loss
from holdfast.markdown import BOM
from holdfast.safety import Marker
from holdfast.three import FILES

if TYPE_CHECKING:
    from holdfast.services import Services

_CUT = "\n… (cut; the whole text: `holdfast show {name}`)"
_BEGINS_LATER = "… (older blocks are left out; the whole text: `holdfast show {name}`)\n"
#: Fewer characters than these of a document say nothing.
_LEAST = 80
#: The newest so many journals are searched for turns that no flush has written.
_JOURNALS = 20
#: Limit of losses that the brief names.
_LOSSES = 5
_MERGE = "Keep what is right and remove the markers; `holdfast doctor --fix` merges notes and the handoff."


@frozen(kw_only=True)
class Brief:
    """The resume point. ``work`` holds open entries, newest first; ``notes`` are (name, text), oldest first, and
    ``files`` (name, text) of those of the three files that exist, in the order of a LOAD. ``lost`` is stored data that
    a quick look found missing.

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
    #: One sentence about documents that came with a clone and are not in the brief; empty when there are none.
    withheld: str = ""
    lost: tuple[Loss, ...] = ()

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
    reading = _Reading(services)
    handoff_name = layout.name(Surface.HANDOFF)
    handoff_text = reading.text(handoff_name)
    work, torn = _work(handoff_text, handoff_name)
    names = {s: layout.name(s) for s in (Surface.MEMORY, Surface.USER)}
    memory, user = (reading.text(names[s]) for s in (Surface.MEMORY, Surface.USER))
    files = tuple((name, text) for name in map(layout.name, FILES) if (text := reading.text(name)))
    notes = _newest_notes(services, reading)
    unsafe = tuple(safety.all_unsafe(services.state))
    facts = services.store.is_withheld(provenance.FACTS) and services.store.backend.count_facts() > 0
    withheld = provenance.sentence(reading.withheld, facts=facts)
    shown = ((names[Surface.USER], user), (names[Surface.MEMORY], memory), *files, *notes)
    told = (conflicts.described(name, text) for name, text in ((handoff_name, torn), *shown))
    lost = (
        *(Loss(kind="conflict", name="", message=one, next_step=_MERGE) for one in told if one),
        *losses.newest(services, reading.stored),
    )
    sections = [
        ("", _resume(services, work, unsafe, withheld, lost)),
        (handoff_name, torn),
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
        withheld=withheld,
        lost=lost,
    )


def _work(text: str, name: str) -> tuple[tuple[handoff.Work, ...], str]:
    """The open entries; and the text itself when a git merge left both sides in it. Raises: Corrupt."""
    versions = conflicts.sides(text)
    entries: dict[str, handoff.Work] = {}
    for version in dict.fromkeys(versions):
        for work in handoff.parse(version, name) if version else ():
            entries.setdefault(work.session, work)
    return tuple(w for w in entries.values() if w.is_open), text if versions[0] != versions[1] else ""


class _Reading:
    """Reads each document once, as it may leave the store; ``withheld`` names those that may not. ``stored`` holds
    what was read, as stored."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self.withheld: list[str] = []
        self.stored: dict[str, str | None] = {}

    def text(self, name: str) -> str:
        """Empty when the document is missing or withheld. An editor's byte-order mark is no part of the text."""
        document = self._services.store.read(name)
        self.stored[name] = document.text if document else None
        if document is None:
            return ""
        if self._services.store.is_withheld(name):
            self.withheld.append(name)
            return ""
        return self._services.shown(document).text.removeprefix(BOM)


def _newest_notes(services: Services, reading: _Reading) -> tuple[tuple[str, str], ...]:
    """Names and texts of the notes of today and yesterday; of the latest day before, when there is neither. Oldest
    first; withheld notes are left out."""
    layout = services.layout
    today = services.now().date()
    near = []
    for day in (today - timedelta(days=1), today):  # by name: what is no file is not passed over
        name = layout.name(Surface.DAILY, day)
        near.append((name, reading.text(name)))
    if any(text or name in reading.withheld for name, text in near):
        return tuple((name, text) for name, text in near if text)
    days: dict[date, str] = {}
    for name in services.store.backend.names(layout.prefix(Surface.DAILY)):
        day_of = layout.day_of(Surface.DAILY, name)
        if day_of is not None:
            days[day_of] = name
    if not days:
        return ()
    latest = days[max(days)]
    return ((latest, text),) if (text := reading.text(latest)) else ()


def _resume(
    services: Services,
    work: tuple[handoff.Work, ...],
    unsafe: tuple[Marker, ...],
    withheld: str,
    lost: tuple[Loss, ...],
) -> str:
    lines = ["# Where to go on"]
    for notice in services.notices:
        lines += ["", notice]
    if withheld:
        lines += ["", f"{withheld} {provenance.NEXT_STEP}"]
    for marker in unsafe:
        lines += ["", f"**UNSAFE:** session {marker.session}: {marker.error} {marker.next_step}"]
    for loss in lost[:_LOSSES]:
        word = loss.kind.upper() if loss.kind in ("conflict", "damaged") else "MISSING"
        lines += ["", f"**{word}:** {loss.message} {loss.next_step}"]
    if len(lost) > _LOSSES:
        lines += ["", f"**MISSING:** {len(lost) - _LOSSES} more; `holdfast doctor` lists them."]
    if not work:
        lines += ["", _nothing_open(services)]
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


def _nothing_open(services: Services) -> str:
    """Says whether journals hold more than the handoff does; only the newest ones are looked at."""
    paths = sorted(journal.session_files(services.state), key=_time, reverse=True)[:_JOURNALS]
    ids = [journal.session_id_of(path) for path in paths]
    waiting = sum(journal.Journal(services.state, i).is_unflushed() for i in ids if i)
    if not waiting:
        return "No work is open."
    many = "1 session has" if waiting == 1 else f"{waiting} sessions have"
    return (
        f"The handoff names no open work, but {many} turns that are journalled and not flushed yet. "
        "`holdfast status` lists them; `holdfast flush --session ID` writes their notes and handoff."
    )


def _time(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


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
        head = recall.heading(name) if name else ""
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
