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


def cells(out: Term, one: SessionStatus, name: str) -> tuple[Cell, Cell, Cell]:
    """The mark, the id as it is shown, and the word."""
    mark, word, style = _SHOWN[one.state]
    return out.mark_cell(mark), (name, "bold"), (word, style)


def since(one: SessionStatus) -> str:
    """The messages since the last flush."""
    if not one.unflushed_turns:
        return "nothing new"
    return f"{count(one.unflushed_turns, 'turn')}, {count(one.unflushed_tokens, 'token')}"


def say_alarms(out: Term, now: Status, kept: str) -> None:
    """Print unsafe sessions, missing data, and what waits to be published or written, each with why and what to do.
    ``kept`` is the sentence about flushes that only this machine has."""
    for one in now.unsafe:
        out.say(f"\n{out.mark('fail')} {out.red(f'session {one.id} is UNSAFE', bold=True)}")
        out.fill(one.error or "A flush has begun and has not succeeded.")
        out.next_step(one.next_step or f"holdfast flush --session {one.id}")
    reasons = {one.error for one in now.unsafe}
    lost = [one for one in now.lost if one.message not in reasons]
    for loss in lost:
        out.note("fail", loss.message)
    for step in dict.fromkeys(loss.next_step for loss in lost if loss.next_step):
        out.next_step(step)
    say_kept(out, kept)
    if now.waiting:
        out.say(f"\n{out.mark('warn')} {count(len(now.waiting), 'item')} to be published: `holdfast outbox`")
    for error, step in dict.fromkeys((item.error, item.next_step) for item in now.waiting if item.error):
        out.fill(error)
        out.next_step(step)


def kept_table(items: Sequence[Waiting]) -> list[dict[str, Any]]:
    """Flushes kept on this machine, for programs."""
    keys = ("id", "session", "server", "error", "next_step")
    return [{**picked(one, *keys), "at": one.at.isoformat(), "damaged": one.is_damaged} for one in items]


def say_kept(out: Term, sentence: str) -> None:
    """Print the sentence about kept flushes and the next step, or nothing if none waits."""
    if sentence:
        out.fill(sentence, f"\n{out.mark('warn')} ", "  ")
        out.next_step("Run `holdfast spool send`. The next flush and start also write there.")


def copy_age(kept: Kept | None, now: datetime) -> str:
    """The last brief's age, in one sentence."""
    if kept is None:
        return "No earlier brief is kept on this machine."
    return f"The last brief that this machine has read is from {ago(kept.at, now)}."
