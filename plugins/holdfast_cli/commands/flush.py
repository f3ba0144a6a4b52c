"""``add`` journals one message, ``flush`` makes a session durable, ``end`` closes it; ``override`` is the operator's
only way past a flush that cannot succeed. Agents run ``add`` often, so it opens no store."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.config import settings
from holdfast.errors import FlushRefused, HoldfastError, NothingToFlush, Unavailable
from holdfast.fs import durable, private
from holdfast.journal.capture import ROLES
from holdfast.text.humanize import count
from holdfast_app import background
from holdfast_app.capture import capture, stored_id
from holdfast_app.project_settings import files, resolved
from holdfast_cli import saving
from holdfast_cli.command import DEFAULT_SESSION, SESSION, Answer, Call, Command, argument, session_id
from holdfast_cli.problem import UsageError, caution
from holdfast_cli.stdin import is_agent, text_of
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast.models import Payload
    from holdfast.session import Session


@Command(
    "Save",
    "journal one message of a session",
    argument("role", choices=ROLES, metavar="ROLE", help=", ".join(ROLES)),
    argument("text", metavar="TEXT", help="the message; `-` reads it from stdin"),
    SESSION,
    argument("--id", metavar="ID", help="the message's own id (messages with the same id count once)"),
    examples=(
        'holdfast add user "Fix the flaky login test" --session fix-login',
        "holdfast add user -- --a-text-that-begins-with-dashes",
    ),
)
def add(call: Call) -> Answer | int:
    """Journal it. A hook's stdout may go into the model's context: without a person or --json nothing is printed."""
    text, message_id = text_of(call.args.text), call.args.id
    if not text.strip():
        raise UsageError(
            "The message to add is missing.", next_step="Pass it as the second argument, or pass `-` and pipe it in."
        )
    if call.args.role == "user" and is_agent():
        raise UsageError(
            "An agent may not speak for the user. The client's hooks journal the user's input.",
            next_step="Use `holdfast add assistant` or `holdfast add tool`.",
        )
    session = _whole(call.root, call.session)
    record = capture(call.root, session, call.args.role, text, message_id=message_id).record
    if call.args.role == "assistant":
        background.after_turn(call.root)
    if files.raw(call.root)[0]:  # the project has settings
        caution(resolved.sentences(resolved.resolve(call.root, lenient=True)))
    if not call.json and not sys.stdout.isatty():
        return 0
    session, out = stored_id(call.root, session), call.out
    message = f"{out.mark('ok')} journalled in {out.bold(session)}  {out.dim(record['id'])}"
    return Answer({"session": session, "id": record["id"], "at": record["at"]}, message)


def _whole(root: str, session_id: str) -> str:
    """The only journalled session with the short id ``session_id``, otherwise the session of that name. Raises:
    ConfigError; Unavailable."""
    state = settings.state_folder(root, settings.preset(resolved.hot(root)))
    names = [name for name in private.names(f"{state}/sessions") if name.endswith(".jsonl")]
    longer = [name[:-6] for name in names if name.startswith(f"{session_id}-")]
    if len(longer) == 1 and f"{session_id}.jsonl" not in names:
        from holdfast_app.sessions.lookup import short  # rarely needed

        return longer[0] if short(longer[0]) == session_id else session_id
    return session_id


REASONS = ("compaction", "end", "handoff", "switch", "manual")


@Command(
    "Save",
    "make a session durable, verify it and print the receipt",
    SESSION,
    argument(
        "--reason", metavar="WHY", choices=REASONS, default="manual", help=f"{', '.join(REASONS)} (default: manual)"
    ),
    argument("--transcript", metavar="FILE", help="first journal a session that a client recorded"),
    *saving.ARGUMENTS,
    usage="holdfast flush [--session ID] [--reason WHY] [--transcript FILE]\n"
    "                      [--payload FILE] [FIELDS] [--json]",
    examples=(
        "holdfast flush --session fix-login --reason compaction",
        "holdfast flush --transcript session.jsonl",
        "holdfast flush --session fix-login --payload payload.json",
        'echo \'{"objective": "Fix login", "next_step": "test", "curated": "none"}\' | \\',
        "    holdfast flush --session fix-login",
        'holdfast flush --session fix-login --objective "Fix login" --blocker none \\',
        '    --fact "the clock is mocked" --next-step "run the tests" \\',
        '    --mutation "status:acme/app#12:in review" --curated none',
    ),
    notes="Missing payload fields are derived from the messages and marked as derived."
    "\nExit code 0: everything is written and read back."
    "\nExit code 1: refused. Nothing may be dropped, and the session is UNSAFE until a flush succeeds.",
    caution=True,
    progress=True,
)
def flush(call: Call) -> Answer:
    """Flush the session. Raises: FlushRefused; NotFound; UsageError."""
    payload = saving.payload(call.args, ask_stdin=call.args.transcript is None)
    try:
        return _flush(call, payload)
    except (FlushRefused, UsageError):
        raise
    except HoldfastError as error:
        if payload is not None:  # a stated payload must block compaction although no flush has begun
            saving.unopened(call.args.root, call.session, payload, error)
        raise


def _flush(call: Call, payload: Payload | None) -> Answer:
    memory, reason = call.memory, call.args.reason
    if call.args.transcript is not None:
        session = _imported(call)
    elif payload is not None or call.args.session is not None:
        session = memory.session(saving.require_session(memory, call.session, payload))
    else:
        session = memory.session(DEFAULT_SESSION)
    try:
        got = session.flush(payload, reason=reason)
    except NothingToFlush as nothing:
        if call.args.session is None:
            nothing.next_step = "`holdfast status` lists the sessions. Name one with --session."
        raise
    except FlushRefused as refused:
        err, what = Term(sys.stderr), reason if reason != "manual" else "dropping context"
        blocked = f"{err.mark('fail')} {err.red('blocked', bold=True)}"
        err.say(f"{blocked}: {what}; session {err.plain(session.id)} is UNSAFE")
        if refused.missing:
            refused.next_step = saving.how_to_give(refused.missing)
        raise
    memory.end_idle(but=session.id)
    saving.show_receipt(call.out, got, now=memory.services.now())
    return Answer(saving.receipt_table(got))


def _imported(call: Call) -> Session:
    transcript = call.memory.read_transcript(call.args.transcript)
    session = call.memory.import_transcript(transcript, call.args.session or "")
    cut = "; the file ends inside a row" if transcript.truncated else ""
    out = Term(sys.stderr) if call.json and cut else call.out
    out.note("ok", f"read {count(len(transcript.messages), 'message')} ({transcript.format}){cut}")
    return session


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
    session = memory.session(saving.require_session(memory, call.session))
    try:
        got = session.end()
    except FlushRefused as refused:
        if refused.missing:
            command = f"holdfast flush --session {shlex.quote(session.id)} {saving.flags_for(refused.missing)}"
            refused.next_step = f"Run `{command}`, or with text instead of `none`. Then end the session."
        raise
    memory.end_idle(but=session.id)
    out = call.out
    if got is not None:
        saving.show_receipt(out, got, now=memory.services.now())
    out.say(f"\n  session {out.plain(session.id)} is closed. A later `holdfast add` opens it again")
    with suppress(HoldfastError):  # the session is safe, and the dream itself reports unreadable documents
        if memory.dream_due():
            out.next_step("the notes have new content; `holdfast dream` adds it to MEMORY.md")
    empty: dict[str, object] = {"session_id": session.id, "flush_id": "", "written": []}
    return Answer(empty if got is None else saving.receipt_table(got))


@Command(
    "Save",
    "let context go once even though the flush fails, for a stated reason",
    argument("--session", metavar="ID", required=True, type=session_id, help="session id"),
    argument("--reason", metavar="TEXT", required=True, help="reason, written to the daily note"),
    examples=('holdfast override --session fix-login --reason "the disk is being replaced"',),
    notes="The context may go once even though the flush fails. The session stays UNSAFE until a flush succeeds.",
)
def override(call: Call) -> Answer:
    reason = call.args.reason
    call.check_words(reason)
    session = call.memory.session(saving.require_session(call.memory, call.session))
    try:
        if not session.unsafe:  # a disk that takes no writes keeps no sign of the refused flush
            with durable.lock(session.journal.lock_path):
                pass
        session.override(reason)
    except Unavailable as error:
        error.message = f"The override is not recorded, so the context stays. {error.message}"
        raise
    call.out.note("warn", f"context of {session.id} may go once even though its flush fails")
    call.out.fill("Messages that it cannot save stay in the journal. The reason goes into the next daily note.")
    return Answer({"session": session.id, "reason": reason})
