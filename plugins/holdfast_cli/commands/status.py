"""``holdfast status``: is anything about to be lost?"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.config.provenance import NEXT_STEP, sentence
from holdfast.errors import HoldfastError, PluginNotFound
from holdfast.journal.safety import State
from holdfast.text.humanize import count
from holdfast_cli import state
from holdfast_cli.args import add_json, examples
from holdfast_cli.terminal import Term, home_short

if TYPE_CHECKING:
    from holdfast import Holdfast

_SHOWN = 20


def configure(parser: ArgumentParser) -> None:
    add_json(parser)
    parser.epilog = (
        examples(
            "holdfast status", "holdfast status --json", 'holdfast status > /dev/null || echo "something is UNSAFE"'
        )
        + "\n\nsafe: everything said is durable.  dirty: newer messages are only in the journal."
        "\nUNSAFE: a flush has begun and has not succeeded. Exit code 1 when a session is UNSAFE, or when"
        "\nstored data is missing. `holdfast doctor` checks all stored data."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast.session.status import status

    with Holdfast.open(args.root) as memory:
        now = status(memory.services)
        withheld = _withheld(memory)
        away = memory.services.is_remote and (now.spooled or any(one.kind == "store" for one in now.lost))
        kept = memory.services.spool.sentence if now.spooled else ""
        copy = ""
        with suppress(PluginNotFound):  # then no package keeps briefs
            copy = state.copy_age(memory.services.spool.last_brief(), now.at) if away else ""
    out = Term()
    if args.json:
        out.json(
            {
                "ok": now.ok,
                "root": now.root,
                "layout": now.layout,
                "backend": now.backend,
                "sessions": [state.session_table(s) for s in now.sessions],
                "unsafe": [s.id for s in now.unsafe],
                "pending": len(now.waiting),
                "spooled": state.kept_table(now.spooled),
                "withheld": withheld,
                "lost": [{"name": one.name, "message": one.message, "next_step": one.next_step} for one in now.lost],
                "notices": list(now.notices),
                "copy": copy,
            }
        )
        return 0 if now.ok else 1
    out.say(f"{out.bold(home_short(now.root))}  {out.dim(f'layout {now.layout}, backend {now.backend}')}")
    for notice in now.notices:
        out.say(out.wrapped(notice, first=f"{out.mark('warn')} ", rest="  "))
    if withheld:
        out.say(out.wrapped(f"{withheld} {NEXT_STEP}", first=f"{out.mark('warn')} ", rest="  "))
    if not now.sessions and now.ok:
        state.say_kept(out, kept)
        state.say_pending(out, now.waiting, now.at)
        out.say(f"\n{out.mark('ok')} no session has begun, so nothing can be lost")
        return 0
    shown = [s for s in now.sessions if not (s.ended and s.state is State.SAFE)]
    if shown:
        head = ("", "session", "state", "since the last flush", "last flush")
        rows = [(*state.cells(out, s), state.since(s), state.flushed(s, now)) for s in shown[:_SHOWN]]
        out.say()
        out.say(out.table(rows, head=head, clipped=1))
    hidden = len(shown) - _SHOWN
    ended = len(now.sessions) - len(shown)
    more = [f"{count(hidden, 'more session')}: `holdfast sessions`"] if hidden > 0 else []
    more += [f"{count(ended, 'session')} ended and safe"] if ended else []
    if more:
        out.say(f"{chr(10) if shown else ''}  {out.dim('; '.join(more))}")
    state.say_unsafe(out, now)
    state.say_lost(out, now)
    state.say_kept(out, kept)
    if copy:
        out.say(out.wrapped(copy, first="\n  ", rest="  "))
    state.say_pending(out, now.waiting, now.at)
    if now.ok:
        dirty = any(s.state is State.DIRTY for s in now.sessions)
        warning = "dirty is journalled, so nothing is lost; flush before context is dropped"
        out.say(f"\n{out.mark('dirty' if dirty else 'ok')} {warning if dirty else 'everything is durable'}")
    return 0 if now.ok else 1


def _withheld(memory: Holdfast) -> str:
    """One sentence about memory that is withheld from agents. Other commands report an unreadable store."""
    try:
        return sentence(memory.store.withheld(), facts=len(memory.store.withheld_facts()))
    except HoldfastError:
        return ""
