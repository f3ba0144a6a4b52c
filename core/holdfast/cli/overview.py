"""``holdfast`` alone: where you are, whether anything is about to be lost, where to go on. Writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.cli import state
from holdfast.cli.problem import tell
from holdfast.cli.term import Term, home_short
from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.session.bootstrap import Brief

_FIRST = (
    ("holdfast demo", "see the promise kept, in a few seconds"),
    ("holdfast init", "set up this project"),
    ("holdfast --help", "all commands"),
)
_DAILY = (
    ("holdfast load", "the whole brief for an agent"),
    ("holdfast flush", "make a session durable before context goes"),
    ("holdfast --help", "all commands"),
)


def overview(root: str | None) -> int:
    """Print it. Returns 1 when a session is UNSAFE or nothing could be stored."""
    from holdfast import Holdfast
    from holdfast.config import settings
    from holdfast.session.status import status

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
    about = f"layout {now.layout}, backend {now.backend}" if found else "not set up yet; the defaults apply"
    out.say(f"  {out.dim('project ')}  {home_short(folder)}  {out.dim('(' + about + ')')}")
    out.say(f"  {out.dim('sessions')}  {state.counts(now)}")
    for notice in now.notices:
        out.say(out.wrapped(notice, first=f"\n{out.mark('warn')} ", rest="  "))
    broken = [p for p in plugins if p.status in ("failed", "missing")]
    for plugin in broken:
        told = f"{plugin.reason} Until then nothing can be stored; `holdfast doctor` tells more."
        out.say(out.wrapped(told, first=f"\n{out.mark('fail')} ", rest="  "))
    state.say_unsafe(out, now)
    state.say_lost(out, now)
    if brief is not None and brief.work:
        _say_work(out, brief)
    if problem is not None:
        out.stream.flush()
        tell(problem, as_json=False)
    out.say()
    begun = found or bool(now.sessions)
    out.say(out.table([((command, "cyan"), text) for command, text in (_DAILY if begun else _FIRST)]))
    return 0 if now.ok and problem is None and not broken else 1


def _say_work(out: Term, brief: Brief) -> None:
    out.say(f"\n  {out.bold('Where to go on')}")
    for work in brief.work[:3]:
        out.say(f"  {out.mark('dot')} {out.clip(work.active_task or work.objective, out.width - 4)}")
        if work.next_action:
            out.say(f"    {out.dim('next:')} {out.clip(work.next_action, out.width - 10)}")
    if len(brief.work) > 3:
        out.say(f"    {out.dim(f'and {len(brief.work) - 3} more: holdfast load')}")
