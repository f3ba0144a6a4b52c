"""``holdfast override``, the operator's only override for a flush that cannot succeed."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast_cli.args import add_json, add_session, examples
from holdfast_cli.problem import UsageError
from holdfast_cli.session_lookup import require_session
from holdfast_cli.terminal import Term


def configure(parser: ArgumentParser) -> None:
    add_session(parser, required=True)
    parser.add_argument("--reason", metavar="TEXT", required=True, help="reason, written to the daily note")
    add_json(parser)
    parser.epilog = (
        examples('holdfast override --session fix-login --reason "the disk is being replaced"')
        + "\n\nThe context may go once even though the flush fails. The session stays UNSAFE until a flush succeeds."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    if not args.reason.strip():
        raise UsageError("An override needs a reason.", next_step='Say why: --reason "..."')
    out = Term()
    with Holdfast.open(args.root) as memory:
        require_session(memory, args.session)
        session = memory.session(args.session)
        session.override(args.reason)
    if args.json:
        out.json({"ok": True, "session": session.id, "reason": args.reason})
    else:
        out.say(f"{out.mark('warn')} context of {out.bold(session.id)} may go once even though its flush fails")
        out.say(
            out.wrapped(
                "Messages that the flush cannot save stay in the journal. The reason goes into the next daily note.",
                first="  ",
            )
        )
    return 0
