"""How the state of sessions is shown, by ``holdfast status``, ``holdfast sessions`` and ``holdfast`` alone."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from holdfast.journal.safety import State
from holdfast.text.humanize import ago, count
from holdfast_app.base import Waiting
from holdfast_app.records.lastbrief import Kept
from holdfast_app.sessions.status import SessionStatus, Status
from holdfast_cli.command import picked
from holdfast_cli.terminal import Cell, Term

_SHOWN = {
    State.SAFE: ("ok", "safe", "green"),
    State.DIRTY: ("dirty", "dirty", "yellow"),
    State.UNSAFE: ("fail", "UNSAFE", "red"),
}


def cells(out: Term, session: SessionStatus, name: str) -> tuple[Cell, Cell, Cell]:
    """The mark, the id as it is shown, and the word."""
    mark, word, style = _SHOWN[session.state]
    return out.mark_cell(mark), (name, "bold"), (word, style)


def since(session: SessionStatus) -> str:
    if not session.unflushed_turns:
        return "nothing new"
    return f"{count(session.unflushed_turns, 'turn')}, {count(session.unflushed_tokens, 'token')}"


def say_alarms(out: Term, now: Status, sentence: str) -> None:
    """Print unsafe sessions, missing data, and what waits to be published or written, each with why and what to do.
    ``sentence`` is the one about flushes that only this machine has."""
    for session in now.unsafe:
        out.say(f"\n{out.mark('fail')} {out.red(f'session {session.id} is UNSAFE', bold=True)}")
        out.fill(session.error or "A flush has begun and has not succeeded.")
        out.next_step(session.next_step or f"holdfast flush --session {session.id}")
    reasons = {session.error for session in now.unsafe}
    lost = [loss for loss in now.lost if loss.message not in reasons]
    for loss in lost:
        out.note("fail", loss.message)
    for step in dict.fromkeys(loss.next_step for loss in lost if loss.next_step):
        out.next_step(step)
    say_kept(out, sentence)
    if now.waiting:
        out.say(f"\n{out.mark('warn')} {count(len(now.waiting), 'item')} to be published: `holdfast outbox`")
    for error, step in dict.fromkeys((item.error, item.next_step) for item in now.waiting if item.error):
        out.fill(error)
        out.next_step(step)


def kept_table(items: Sequence[Waiting]) -> list[dict[str, Any]]:
    keys = ("id", "session", "server", "error", "next_step")
    return [{**picked(flush, *keys), "at": flush.at.isoformat(), "damaged": flush.is_damaged} for flush in items]


def say_kept(out: Term, sentence: str) -> None:
    """Print the sentence about kept flushes and the next step, or nothing if none waits."""
    if sentence:
        out.fill(sentence, f"\n{out.mark('warn')} ", "  ")
        out.next_step("Run `holdfast spool send`. The next flush and start also write there.")


def copy_age(brief: Kept | None, now: datetime) -> str:
    """The last brief's age, in one sentence."""
    if brief is None:
        return "No earlier brief is kept on this machine."
    return f"The last brief that this machine has read is from {ago(brief.at, now)}."
