"""``holdfast end``: the last flush of a session; and ``holdfast override``, the operator's only way past a flush that
cannot succeed."""

from __future__ import annotations

import shlex

from holdfast.errors import FlushRefused, HoldfastError
from holdfast_cli import receipt
from holdfast_cli.command import SESSION, Answer, Call, Command, argument, session_id
from holdfast_cli.problem import UsageError
from holdfast_cli.session_lookup import flags_for, require_session
from holdfast_cli.terminal import Term


@Command(
    "Save",
    "flush a session and close it",
    SESSION,
    examples=("holdfast end --session fix-login", "holdfast end --json"),
    caution=True,
)
def end(call: Call) -> Answer:
    """Flush the session for the last time. Raises: NotFound; FlushRefused."""
    memory = call.memory
    require_session(memory, call.session)
    session = memory.session(call.session)
    try:
        got = session.end()
    except FlushRefused as refused:
        if refused.missing:
            command = f"holdfast flush --session {shlex.quote(session.id)} {flags_for(refused.missing)}"
            refused.next_step = f"Run `{command}`, or with text instead of `none`. Then end the session."
        raise
    memory.end_idle(but=session.id)

    def show(out: Term) -> None:
        if got is None:
            out.say(f"{out.mark('dot')} session {out.bold(session.id)} holds nothing, so there was nothing to flush")
        else:
            receipt.show(out, got, now=memory.services.now())
            out.say(f"\n  session {out.plain(session.id)} is closed. A later `holdfast add` opens it again")
        try:
            due = memory.dream_due()
        except HoldfastError:
            due = False  # the session is safe, and the dream itself reports unreadable documents
        if due:
            out.next_step("the notes have new content; `holdfast dream` adds it to MEMORY.md")

    empty: dict[str, object] = {"session_id": session.id, "flush_id": "", "written": []}
    return Answer(empty if got is None else receipt.as_table(got), show)


@Command(
    "Save",
    "let context go once even though the flush fails, for a stated reason",
    argument("--session", metavar="ID", required=True, type=session_id, help="session id"),
    argument("--reason", metavar="TEXT", required=True, help="reason, written to the daily note"),
    examples=('holdfast override --session fix-login --reason "the disk is being replaced"',),
    notes="The context may go once even though the flush fails. The session stays UNSAFE until a flush succeeds.",
)
def override(call: Call) -> Answer:
    """Record the reason, and let the next compaction pass."""
    reason = call.args.reason
    if not reason.strip():
        raise UsageError("An override needs a reason.", next_step='Say why: --reason "..."')
    require_session(call.memory, call.session)
    session = call.memory.session(call.session)
    session.override(reason)

    def show(out: Term) -> None:
        out.say(f"{out.mark('warn')} context of {out.bold(session.id)} may go once even though its flush fails")
        out.fill("Messages that the flush cannot save stay in the journal. The reason goes into the next daily note.")

    return Answer({"session": session.id, "reason": reason}, show)
