"""The first part of a brief: warnings and open work. The reader's own work comes first, in full and marked. Other
sessions' work is listed by name, and entries that do not fit are counted.
"""

from collections.abc import Collection, Sequence
from typing import Final

from attrs import evolve, frozen

from holdfast.flush import handoff
from holdfast.journal.safety import Marker
from holdfast.text.plain import one_line
from holdfast.text.stored import duplicate_key
from holdfast_app.authorship import hostile
from holdfast_app.base import Services
from holdfast_app.data_loss import Loss
from holdfast_app.journal import journal
from holdfast_app.printable import cut
from holdfast_app.trust import provenance

TITLE: Final = "# Where to resume"
#: Maximum share of a brief for other sessions' open work.
OTHERS_SHARE: Final = 0.3
#: Maximum number of losses listed in the brief.
_LOSSES: Final = 5
#: Maximum number of artifacts listed per work entry.
_ARTIFACTS: Final = 12
_TITLE_CHARS: Final = 120
_NEXT_CHARS: Final = 160
_LEAST: Final = 60
_NEW: Final = " This memory is new and still empty."
_OLDER: Final = "Older work is still open. See first whether the work above finished it."


@frozen(kw_only=True)
class Brief:
    """The resume point. ``work`` holds open entries, the reader's own first, then newest first; ``notes`` are (name,
    text), oldest first, and ``files`` (name, text) of the existing workflow files, in LOAD order. ``lost`` is stored
    data that a quick check found missing.

    ``str()`` is the text for an agent, within the requested budget.
    """

    work: tuple[handoff.Work, ...]
    memory: str
    user: str
    notes: tuple[tuple[str, str], ...]
    unsafe: tuple[Marker, ...]
    pointers: tuple[str, ...]
    text: str
    files: tuple[tuple[str, str], ...] = ()
    #: A sentence that counts passages left out because this machine did not write them. Empty without any.
    withheld: str = ""
    lost: tuple[Loss, ...] = ()
    #: A sentence about flushes kept on this machine because the server did not take them, or empty.
    spooled: str = ""
    #: Lines for the facts that fit, corrections first.
    facts: tuple[str, ...] = ()
    #: The user's standing rules, newest first; of one flush those with a label before the others.
    rules: tuple[str, ...] = ()

    @property
    def damaged(self) -> tuple[Loss, ...]:
        """The documents and facts that cannot be read."""
        return tuple(loss for loss in self.lost if loss.kind == "damaged")

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


def resume(
    services: Services,
    brief: Brief,
    closed: handoff.Work | None,
    commits: Sequence[str],
    facts: Collection[str],
    *,
    session: str,
    max_chars: int | None,
) -> tuple[str, frozenset[str]]:
    """The resume point, and the flushes whose entries it shows in full, without the stored ``facts``, which have a
    section of the brief. ``closed`` is the newest entry, if its work is closed: what is open may have ended with it.
    ``commits`` are those of the first open entry, or of ``closed`` where none is open. ``session`` is the reader's."""
    lines = [TITLE]
    notices = [*services.notices, f"{brief.withheld} {provenance.NEXT_STEP}" if brief.withheld else "", brief.spooled]
    notices += [f"**UNSAFE:** session {state.session}: {state.error} {state.next_step}" for state in brief.unsafe]
    for loss in brief.lost[:_LOSSES]:
        word = loss.kind.upper() if loss.kind in ("apart", "conflict", "damaged") else "MISSING"
        notices.append(f"**{word}:** {loss.message} {loss.next_step}")
    if len(brief.lost) > _LOSSES:
        notices.append(f"**MISSING:** {len(brief.lost) - _LOSSES} more; `holdfast doctor` lists them.")
    for notice in filter(None, notices):
        lines += ["", notice]
    if not brief.work:
        unflushed = [session.is_unflushed() for session in journal.every(services.state)]
        is_new = not (unflushed or brief.memory or brief.user or brief.notes or brief.facts or brief.withheld)
        nothing = "No open work is shown." if brief.withheld else f"No work is open.{_NEW if is_new else ''}"
        if waiting := sum(unflushed):
            many = "1 session has" if waiting == 1 else f"{waiting} sessions have"
            nothing = (
                f"The handoff names no open work, but {many} "
                "journalled turns that still need a flush. `holdfast status` lists them; "
                "`holdfast flush --session ID` writes their notes and handoff."
            )
        lines += ["", nothing, *(_entry(closed, commits) if closed is not None else [])]
        return "\n".join(lines), frozenset([closed.flush] if closed is not None else [])
    work = [evolve(w, facts=[f for f in w.facts if duplicate_key(f) not in facts]) for w in brief.work]
    first, *others = work
    own = bool(session) and first.session == session
    newer = closed if not own else None
    if newer is not None:
        lines += [*_entry(newer, named=True), "", _OLDER]
    lines += _entry(first, commits, own=own, named=bool(others) or newer is not None)
    room = None if max_chars is None else int(max_chars * OTHERS_SHARE)
    whole: list[str] = []
    for other in () if session else others[: handoff.MAX_ENTRIES]:  # no reader of its own: in full, as far as they fit
        entry = _entry(other, named=True)
        size = sum(len(line) + 1 for line in entry)
        if room is not None and size > room:
            break
        room = room and room - size
        lines += entry
        whole.append(other.flush)
    lines += _named(others[len(whole) :], room)
    if handoff.is_full(work):
        lines.append(f"- {handoff.OLDER}")
    return "\n".join(lines), frozenset(entry.flush for entry in (newer, first) if entry).union(whole)


def _entry(work: handoff.Work, commits: Sequence[str] = (), *, own: bool = False, named: bool = False) -> list[str]:
    """One entry in full. What the title says of the next action, and an objective that is either, is not repeated."""
    how = "" if work.status in (handoff.FINISHED, work.state) else f" ({work.status})"
    title = work.active_task or work.objective
    words, _, answer = title.partition(hostile.ANSWERED)
    head = words if answer and work.next_action.startswith(answer.rstrip("….)")) else title
    lines = ["", f"## {one_line(head)}", "", f"- Work is {work.state}{how}."]
    if own:
        lines.append("- This is this session's own work.")
    elif named:
        lines.append(f"- Session: {one_line(work.session)}")
    for label, value in (
        ("Next action", work.next_action),
        ("Objective", "" if work.objective in (title, work.next_action) else work.objective),
        ("Branch or review", work.branch if work.is_open else ""),
        ("Blocker", work.blocker),
        ("Handed to", work.agent if work.is_open else ""),
        ("Closed because", work.because),
    ):
        if value and value.casefold() != "none":
            lines.append(f"- {label}: {one_line(value)}")
    for label, values in (
        ("Facts that changed", work.facts if work.is_open else ()),
        ("Given up", work.rejected),
        ("Last commits", commits),
        ("Other blockers", tuple(b for b in work.blockers if b != work.blocker)),
        ("Promised", work.follow_ups),
        ("Needed from the operator", work.needs_operator),
    ):
        if values:
            lines.append(f"- {label}: " + "; ".join(map(one_line, values)))
    if work.artifacts:
        lines.append(artifacts(work.artifacts))
    return [*lines, f"- Whole story: {work.note}, block {work.flush}"]


def _named(others: Sequence[handoff.Work], room: int | None) -> list[str]:
    """One line per entry while they fit, then the number of remaining entries."""
    if not others:
        return []
    lines = ["", f"## {len(others)} more open, of other sessions", ""]
    for at, work in enumerate(others):
        line = f"- {one_line(work.session)}: {cut(work.title, _TITLE_CHARS)}"
        if "(worktree " in work.branch:
            line += f" On {one_line(work.branch)}."
        if work.next_action and work.next_action.casefold() != "none":
            line += f" Next: {cut(work.next_action, _NEXT_CHARS)}"
        if room is not None and (room := room - len(line) - 1) < _LEAST and at:
            return [*lines, f"- … and {len(others) - at} more: `holdfast work`"]
        lines.append(line)
    return [*lines, "- Each whole: `holdfast work show ID`"]


def artifacts(paths: Sequence[str]) -> str:
    """The first artifacts on one line, and how many others exist."""
    rest = f"; … and {len(paths) - _ARTIFACTS} more in the daily note" if len(paths) > _ARTIFACTS + 1 else ""
    return "- Artifacts: " + "; ".join(one_line(v) for v in (paths[:_ARTIFACTS] if rest else paths)) + rest
