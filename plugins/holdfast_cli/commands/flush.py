"""``holdfast flush``: make a session durable, verify it, print the receipt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from holdfast.errors import FlushRefused, HoldfastError, NothingToFlush
from holdfast.text.humanize import count
from holdfast_cli import payload_args, receipt
from holdfast_cli.command import DEFAULT_SESSION, SESSION, Answer, Call, Command, argument
from holdfast_cli.problem import UsageError
from holdfast_cli.session_lookup import how_to_give, require_session, require_source
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.models import Payload
    from holdfast.session.session import Session
    from holdfast_app.message_formats.reading import Transcript

REASONS = ("compaction", "end", "handoff", "switch", "manual")
_CHUNK = 250


@Command(
    "Save",
    "make a session durable, verify it and print the receipt",
    SESSION,
    argument(
        "--reason", metavar="WHY", choices=REASONS, default="manual", help=f"{', '.join(REASONS)} (default: manual)"
    ),
    argument(
        "--transcript",
        metavar="FILE",
        help="first journal a client's recorded session (Claude Code, Codex, opencode)",
    ),
    *payload_args.ARGUMENTS,
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
)
def flush(call: Call) -> Answer:
    """Flush the session. Raises: FlushRefused; NotFound; UsageError."""
    payload = payload_args.payload(call.args, ask_stdin=call.args.transcript is None)
    try:
        return _flush(call, payload)
    except (FlushRefused, UsageError):
        raise
    except HoldfastError as error:
        if payload is not None:  # a stated payload must block compaction although no flush has begun
            from holdfast.flush import refused_payloads

            refused_payloads.unopened(call.args.root, call.session, payload, error)
        raise


def _flush(call: Call, payload: Payload | None) -> Answer:
    memory, reason = call.memory, call.args.reason
    if call.args.transcript is not None:
        session = _imported(call)
    else:
        if payload is not None:
            require_source(memory, call.session, payload)
        elif call.args.session is not None:
            require_session(memory, call.session)
        session = memory.session(call.session)
    try:
        got = session.flush(payload, reason=reason)
    except NothingToFlush as nothing:
        if call.args.session is None:
            nothing.next_step = _others(memory) or nothing.next_step
        raise
    except FlushRefused as refused:
        err, what = Term(sys.stderr), reason if reason != "manual" else "dropping context"
        blocked = f"{err.mark('fail')} {err.red('blocked', bold=True)}"
        err.say(f"{blocked}: {what}; session {err.plain(session.id)} is UNSAFE")
        if refused.missing:
            refused.next_step = how_to_give(refused.missing)
        raise
    memory.end_idle(but=session.id)
    return Answer(receipt.as_table(got), lambda out: receipt.show(out, got, now=memory.services.now()))


def _others(memory: Holdfast) -> str:
    """The default session is empty: perhaps another one was meant."""
    from holdfast.journal.safety import State
    from holdfast_app.sessions.status import status

    others = [s.id for s in status(memory.services).sessions if s.state is not State.SAFE]
    return f"Not flushed yet: {', '.join(others)} (name a session with --session)." if others else ""


def _imported(call: Call) -> Session:
    """The session with the transcript's messages in it."""
    from attrs import evolve

    from holdfast_app.progress import report
    from holdfast_cli import progress

    transcript = call.memory.read_transcript(call.args.transcript)
    session_id = call.args.session or transcript.session_id or DEFAULT_SESSION
    total = len(transcript.kept)
    with progress.shown(quiet=call.json):
        for start in range(0, max(total, 1), _CHUNK):
            chunk = evolve(transcript, kept=transcript.kept[start : start + _CHUNK])
            session = call.memory.import_transcript(chunk, session_id)
            report(min(start + _CHUNK, total), total, "messages journalled")
    if not call.json:
        _say_read(call.out, transcript)
    elif transcript.skipped or transcript.truncated:
        _say_read(Term(sys.stderr), transcript)
    return session


def _say_read(out: Term, transcript: Transcript) -> None:
    text = f"read {count(len(transcript.messages), 'message')} ({transcript.format})"
    if transcript.skipped:
        text += (
            f"; {count(transcript.skipped, 'row')} skipped, damaged or of no known kind (their text is in the journal)"
        )
    if transcript.left_out:
        kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(transcript.left_out.items()))
        text += f"; {count(sum(transcript.left_out.values()), 'row')} without conversation left out ({kinds})"
    if transcript.truncated:
        text += "; the file ends inside a row"
    out.note("ok", text)
