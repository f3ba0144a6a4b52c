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


def cells(out: Term, one: SessionStatus) -> tuple[Cell, Cell, Cell]:
    """The mark, the id and the word."""
    mark, word, style = _SHOWN[one.state]
    return out.mark_cell(mark), (one.id, "bold"), (word, style)


def since(one: SessionStatus) -> str:
    """The messages since the last flush."""
    if not one.unflushed_turns:
        return "nothing new"
    return f"{count(one.unflushed_turns, 'turn')}, {count(one.unflushed_tokens, 'token')}"


def say_unsafe(out: Term, status: Status) -> None:
    """Each unsafe session with why and what to do."""
    for one in status.unsafe:
        out.say()
        out.say(f"{out.mark('fail')} {out.red('session ' + out.plain(one.id) + ' is UNSAFE', bold=True)}")
        out.fill(one.error or "A flush has begun and has not succeeded.")
        out.next_step(one.next_step or f"holdfast flush --session {one.id}")


def say_lost(out: Term, status: Status) -> None:
    """Missing data, except for the reasons of unsafe sessions. Each next step appears once."""
    reasons = {one.error for one in status.unsafe}
    lost = [one for one in status.lost if one.message not in reasons]
    for one in lost:
        out.note("fail", one.message)
    for step in dict.fromkeys(one.next_step for one in lost if one.next_step):
        out.next_step(step)


def say_pending(out: Term, items: Sequence[Waiting], now: datetime) -> None:
    """Print one line with the reason for waiting; print nothing when the outbox is empty."""
    if not items:
        return
    oldest = "" if items[0].is_damaged else f", the oldest {ago(items[0].at, now)}"
    out.say(f"\n{out.mark('warn')} {count(len(items), 'item')} to be published{oldest}: `holdfast outbox`")
    for error, step in dict.fromkeys((item.error, item.next_step) for item in items if item.error):
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
