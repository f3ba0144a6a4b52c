"""``holdfast`` without arguments shows the project, data at risk, and the next step. Writes nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.journal.safety import State
from holdfast.text.humanize import ago, count
from holdfast.text.plain import in_one_line
from holdfast_cli import state
from holdfast_cli.problem import show_error
from holdfast_cli.terminal import Term, home_short

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast import Holdfast
    from holdfast_app.brief.brief import Brief
    from holdfast_app.sessions.status import Status

#: Maximum number of due items, and of open tasks, to show.
_MOST = 5

_FIRST = (
    ("holdfast demo", "see the promise kept, in a few seconds"),
    ("holdfast init", "set up this project"),
    ("holdfast --help", "all commands"),
)
_DAILY = (
    ("holdfast explain", "what your agent reads at its next start, and why"),
    ("holdfast timeline", "flushes, blocked compactions and dreams, day by day"),
    ("holdfast why WORDS", "where a line of memory comes from"),
    ("holdfast flush", "make a session durable before context goes"),
    ("holdfast --help", "all commands"),
)


def overview(root: str | None) -> int:
    """Print it. Returns 1 when a session is UNSAFE or nothing could be stored."""
    from holdfast import Holdfast
    from holdfast.config import settings
    from holdfast_app.sessions.status import status

    out = Term()
    folder = settings.find_root(root)
    found = settings.config_file(folder) is not None
    out.say(f"{out.bold('holdfast')}  {out.dim('nothing is dropped until it is durable')}\n")
    brief: Brief | None = None
    problem: HoldfastError | None = None
    with Holdfast.open(folder) as memory:
        now = status(memory.services)
        plugins = memory.plugin_statuses()
        try:
            brief = memory.load()
        except HoldfastError as error:
            problem = error
        begun = found or bool(now.sessions)
        due = list(_due(memory, now, brief)) if begun else []
        known = list(_known(memory, now)) if begun else []
    about = f"layout {now.layout}, backend {now.backend}" if found else "not set up yet, so the defaults apply"
    out.say(f"  {out.dim('project ')}  {home_short(folder)}  {out.dim('(' + about + ')')}")
    out.say(f"  {out.dim('sessions')}  {state.counts(now)}")
    for label, text in known:
        out.say(f"  {out.dim(f'{label:<8}')}  {text}")
    for notice in now.notices:
        out.fill(notice, f"\n{out.mark('warn')} ", "  ")
    broken = [p for p in plugins if p.status in ("failed", "missing")]
    for plugin in broken:
        told = f"{plugin.reason} Until then nothing can be stored; `holdfast doctor` shows more."
        out.fill(told, f"\n{out.mark('fail')} ", "  ")
    state.say_unsafe(out, now)
    state.say_lost(out, now)
    work = [(one.active_task or one.objective, one.next_action) for one in brief.work] if brief is not None else []
    _say_list(out, "Where to resume", "dot", work, most=3)
    _say_list(out, "To do", "dirty", due, most=_MOST)
    if problem is not None:
        out.stream.flush()
        show_error(problem, as_json=False)
    out.say()
    out.say(out.table([((command, "cyan"), text) for command, text in (_DAILY if begun else _FIRST)]))
    return 0 if now.ok and problem is None and not broken else 1


def _known(memory: Holdfast, now: Status) -> Iterator[tuple[str, str]]:
    """Labels and values for the last flush, the last dream and the number of facts. An unreadable part is left out,
    because the errors above report it."""
    last = max(
        (one for one in now.sessions if one.last_flush_at), key=lambda one: one.last_flush_at or now.at, default=None
    )
    if last is not None and last.last_flush_at is not None:
        yield "flushed", f"{ago(last.last_flush_at, now.at)}, session {in_one_line(last.id)}"
    with suppress(HoldfastError):
        changed = [run for run in memory.dreams() if run.status == "done" and not run.dry_run]
        if changed:
            new = f", {count(len(changed[-1].added), 'new line')}" if changed[-1].added else ", nothing new"
            yield "dreamed", f"{ago(changed[-1].at, now.at)}{new}"
    with suppress(HoldfastError):
        yield "facts", f"{memory.facts.count() - len(memory.store.withheld_facts()):,}"


def _due(memory: Holdfast, now: Status, brief: Brief | None) -> Iterator[tuple[str, str]]:
    """Tasks for the user, each a sentence and the command that settles it."""
    dirty = [one for one in now.sessions if one.state is State.DIRTY]
    if dirty:
        turns = count(sum(one.unflushed_turns for one in dirty), "turn")
        command = f"holdfast flush --session {dirty[0].id}" if len(dirty) == 1 else "holdfast status"
        yield f"{turns} not flushed yet, in {count(len(dirty), 'session')}", command
    if now.spooled:
        yield memory.services.spool.sentence, "holdfast spool send"
    if now.waiting:
        yield f"{count(len(now.waiting), 'item')} not published yet", "holdfast outbox"
    for work in brief.work[:_MOST] if brief is not None else ():
        for needed in work.needs_operator:
            if needed.strip().casefold() != "none":
                yield f"needed from you: {needed}", f"holdfast work show {work.session}"
    with suppress(HoldfastError):
        if memory.dream_due():
            yield "A dream is due, because the notes have new blocks", "holdfast dream"


def _say_list(out: Term, title: str, mark: str, items: Sequence[tuple[str, str]], *, most: int) -> None:
    """Show the first items, each with its next step."""
    if items:
        out.say(f"\n  {out.bold(title)}")
    for text, step in items[:most]:
        out.say(f"  {out.mark(mark)} {out.clip(text, out.width - 4)}")
        if step:
            out.say(f"    {out.dim('next:')} {out.clip(step, out.width - 10)}")
    if len(items) > most:
        out.say(f"    {out.dim(f'and {len(items) - most} more')}")
