"""Starting again from files alone: no provider, no transcript, no pasted context.

Read are the curated files, the three files of the workflow protocol where a project has them, the handoff and the
newest daily notes (today and yesterday, else the latest). Summaries and automation output are not: they are derived,
and must not become the source of what they were derived from.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from attrs import frozen

from holdfast import conflicts, handoff, hostile, journal, losses, provenance, recall, safety
from holdfast.layout import THREE_FILES, Surface
from holdfast.losses import Loss
from holdfast.markdown import BOM
from holdfast.safety import Marker
from holdfast.witness import Witness

if TYPE_CHECKING:
    from holdfast.services import Services

_CUT = "\n… (cut; the whole text: `holdfast show {name}`)"
_BEGINS_LATER = "… (older blocks are left out; the whole text: `holdfast show {name}`)\n"
#: Fewer characters than these of a document say nothing.
_LEAST = 80
#: Characters of a brief for its frame and headings.
_FRAME = 300
#: Lines of a note that a brief can do without.
_SAYS_NOTHING = re.compile(
    r"- (?:Facts|Decisions|State changes|Blockers|Next step|Promised follow-ups|Artifacts|Needed): none$"
    r"|curated memory changes: none$|<!-- (?:at=|holdfast:block )"
    r"|_(?:Derived from the session|Nothing was stated about)"
)
#: Lines of a block that the resume point repeats.
_IN_RESUME = re.compile(
    r"- (?:Fact|Next step|Promised|Needed|Artifact): |\*\*Objective:\*\* |Work is (?:open|closed)\.$"
)
_ARTIFACT = "- Artifact: "
_BLOCK = re.compile(r"<!-- holdfast:block id=(\S+) -->$")
#: The newest so many journals are searched for turns that no flush has written.
_JOURNALS = 20
#: Limit of artifacts of one piece of work.
_ARTIFACTS = 12
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
    entries, torn = _work(handoff_text, handoff_name)
    work = tuple(w for w in entries if w.is_open)
    closed = next((w for w in entries if not w.is_open), None)
    names = {s: layout.name(s) for s in (Surface.MEMORY, Surface.USER)}
    memory, user = (reading.text(names[s]) for s in (Surface.MEMORY, Surface.USER))
    files = tuple((name, text) for name in map(layout.name, THREE_FILES) if (text := reading.text(name)))
    days = _newest_notes(services, reading)
    unsafe = tuple(safety.all_unsafe(services.state))
    facts = services.store.is_withheld(provenance.FACTS) and services.store.backend.count_facts() > 0
    withheld = provenance.sentence(reading.withheld, facts=facts)
    read_in = ((names[Surface.USER], user), (names[Surface.MEMORY], memory), *files, *days)
    told = (conflicts.described(name, text) for name, text in ((handoff_name, torn), *read_in))
    lost = (
        *(Loss(kind="conflict", name="", message=one, next_step=_MERGE) for one in told if one),
        *losses.newest(services, reading.stored),
    )
    shown = {w.flush for w in (*work, *([closed] if closed and not work else []))}
    resume = _resume(services, work, closed, unsafe, withheld, lost)
    notes = [(name, _brief_note(text, shown)) for name, text in days]
    others = (user, torn, *(text for _, text in (*files, *notes)))
    memory_shown = memory
    if max_chars is not None and len(memory) > max_chars // 4:
        memory_shown = _shortened(services, names[Surface.MEMORY], memory, max_chars, resume, others)
    sections = [
        ("", resume),
        (handoff_name, torn),
        (names[Surface.USER], user),
        (names[Surface.MEMORY], memory_shown),
        *files,
        *reversed(notes),
    ]
    curated = ((names[Surface.MEMORY], memory), (names[Surface.USER], user))
    read = [n for n, text in ((handoff_name, handoff_text), *curated, *files, *days) if text]
    return Brief(
        work=work,
        memory=memory,
        user=user,
        notes=days,
        unsafe=unsafe,
        pointers=tuple(services.store.backend.where(n) for n in read),
        text=_fit(sections, max_chars, newest_last={name for name, _ in days}, is_own=Witness(services).is_own),
        files=files,
        withheld=withheld,
        lost=lost,
    )


def _shortened(services: Services, name: str, memory: str, max_chars: int, resume: str, others: Iterable[str]) -> str:
    """MEMORY.md in the room that the resume point and the newest notes leave it."""
    from holdfast.shortened import room, shortened

    spent = len(resume) + _FRAME
    wanted = sum(len(text) + len(_CUT) for text in others if text)
    return shortened(memory, name, room(max_chars, before=spent, others=wanted), services.state)


def _work(text: str, name: str) -> tuple[tuple[handoff.Work, ...], str]:
    """The entries, open and closed; and the text itself when a git merge left both sides in it. Raises: Corrupt."""
    versions = conflicts.sides(text)
    entries: dict[str, handoff.Work] = {}
    for version in dict.fromkeys(versions):
        for work in handoff.parse(version, name) if version else ():
            entries.setdefault(work.session, work)
    return tuple(entries.values()), text if versions[0] != versions[1] else ""


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
    closed: handoff.Work | None,
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
    if not work and closed is not None:
        lines += _finished(closed)
    for entry in work:
        lines += ["", f"## {_line(entry.active_task or entry.objective)}", "", "- Work is open."]
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
            ("Other blockers", tuple(b for b in entry.blockers if b != entry.blocker)),
            ("Promised", entry.follow_ups),
            ("Needed from the operator", entry.needs_operator),
        ):
            if values:
                lines.append(f"- {label}: " + "; ".join(_line(v) for v in values))
        if entry.artifacts:
            lines.append(_artifacts(entry.artifacts))
        lines.append(f"- Whole story: {entry.note}, block {entry.flush}")
    return "\n".join(lines)


def _finished(work: handoff.Work) -> list[str]:
    """The lines of the work that was finished last."""
    lines = ["", f"## {_line(work.active_task or work.objective)}", "", "- Work is closed."]
    if work.objective and work.objective != work.active_task:
        lines.append(f"- Objective: {_line(work.objective)}")
    if work.artifacts:
        lines.append(_artifacts(work.artifacts))
    return [*lines, f"- Whole story: {work.note}, block {work.flush}"]


def _artifacts(found: Sequence[str]) -> str:
    """The first artifacts on one line; the others are counted."""
    rest = f"; … and {len(found) - _ARTIFACTS} more in the daily note" if len(found) > _ARTIFACTS + 1 else ""
    return "- Artifacts: " + "; ".join(_line(v) for v in (found[:_ARTIFACTS] if rest else found)) + rest


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


def _source(place: str, is_own: Callable[[str], bool], line: str) -> str:
    """Where a line that instructs an agent was read; empty for the user's own words."""
    return "" if is_own(line) else place


def _fit(
    sections: list[tuple[str, str]],
    max_chars: int | None,
    *,
    newest_last: Collection[str] = (),
    is_own: Callable[[str], bool] = lambda _: False,
) -> str:
    """The sections in order of importance, fenced as data. Lines that instruct an agent are marked, except for the
    user's own words. Each is cut to what is left, so the resume point comes whole
    as long as anything does. Cut off is the end, of those in ``newest_last`` the beginning; the place says how to read
    the whole."""
    frame = len(recall.OPEN) + len(recall.CLOSE) + 2
    parts: list[str] = []
    left = None if max_chars is None else max_chars - frame
    for name, text in sections:
        body = recall.defuse(hostile.marked(text.strip(), functools.partial(_source, name or "the handoff", is_own)))
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
    """The end of a note, from where a block begins; of one block that is longer the beginning, where the quotations of
    its session start. At most ``room`` characters."""
    tail = note[-room:]
    at = tail.find("\n## ")
    if 0 <= at < len(tail) - _LEAST:
        return tail[at + 1 :]
    block = note.rfind("\n## ") + 1
    mark = "\n…"
    head = note[block : block + room - len(mark)].rpartition("\n")[0]
    return head + mark if len(head) >= _LEAST else tail[tail.find("\n") + 1 :]


def _brief_note(text: str, shown: Collection[str]) -> str:
    """A note without the lines that say that there is nothing, the stamps of its blocks, and headings left empty. Of a
    block whose flush is in ``shown``, the lines that the resume point has are left out, too."""
    kept: list[str] = []
    repeated = heading = ""
    listed: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith(_ARTIFACT) and not repeated:
            listed.append(line.removeprefix(_ARTIFACT))
            continue
        if listed:
            kept += [*([heading, ""] if heading else []), _artifacts(listed)]
            listed, heading = [], ""
        if line.startswith("## "):
            repeated = heading = ""
        elif mark := _BLOCK.match(line):
            repeated = mark[1] if mark[1] in shown else ""
        if _SAYS_NOTHING.match(line) or (repeated and _IN_RESUME.match(line)):
            continue
        if line.startswith("### "):
            heading = line
            continue
        if heading and line.strip():
            kept += [*([""] if kept and kept[-1].strip() else []), heading, ""]
            heading = ""
        if line.strip() or (kept and kept[-1].strip()):
            kept.append(line)
    return "\n".join(kept)
