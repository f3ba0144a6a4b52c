"""``holdfast end``: the last flush of a session."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.errors import FlushRefused, HoldfastError
from holdfast_cli import receipt
from holdfast_cli.args import DEFAULT_SESSION, add_json, add_session, examples
from holdfast_cli.problem import caution
from holdfast_cli.session_lookup import flags_for, require_session
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast


def configure(parser: ArgumentParser) -> None:
    add_session(parser)
    add_json(parser)
    parser.epilog = examples("holdfast end --session fix-login", "holdfast end --json")


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    out = Term()
    session_id = args.session or DEFAULT_SESSION
    with Holdfast.open(args.root) as memory:
        caution(memory.services.notices)
        require_session(memory, session_id)
        session = memory.session(session_id)
        try:
            session_id, got = session.id, session.end()
        except FlushRefused as refused:
            if refused.missing:
                command = f"holdfast flush --session {shlex.quote(session.id)} {flags_for(refused.missing)}"
                refused.next_step = f"Run `{command}`, or with text instead of `none`. Then end the session."
            raise
        memory.end_idle(but=session.id)
        if args.json:
            empty: dict[str, object] = {"ok": True, "session_id": session_id, "flush_id": "", "written": []}
            out.json(empty if got is None else receipt.as_table(got))
        elif got is None:
            out.say(f"{out.mark('dot')} session {out.bold(session_id)} holds nothing, so there was nothing to flush")
        else:
            receipt.show(out, got, now=memory.services.now())
            out.say(f"\n  session {out.plain(session_id)} is closed. A later `holdfast add` opens it again")
        if not args.json and _dream_is_due(memory):
            out.say(f"  {out.dim('next:')} the notes have new content; `holdfast dream` adds it to MEMORY.md")
    return 0


def _dream_is_due(memory: Holdfast) -> bool:
    """Whether to offer a dream. The session is safe, so the dream itself reports unreadable documents."""
    try:
        return memory.dream_due()
    except HoldfastError:
        return False
