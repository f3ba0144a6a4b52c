"""``holdfast flush``: make a session durable, verify it, print the receipt."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.errors import FlushRefused, HoldfastError, NothingToFlush
from holdfast_cli import payload_args as given
from holdfast_cli import receipt
from holdfast_cli.args import DEFAULT_SESSION, add_json, add_session, examples, file_name
from holdfast_cli.problem import UsageError, caution
from holdfast_cli.session_lookup import how_to_give, require_session, require_source
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.models import Payload
    from holdfast.session.session import Session
    from holdfast_app.message_formats.reading import Transcript

REASONS = ("compaction", "end", "handoff", "switch", "manual")
_CHUNK = 250


def configure(parser: ArgumentParser) -> None:
    parser.usage = (
        "holdfast flush [--session ID] [--reason WHY] [--transcript FILE]\n"
        "                      [--payload FILE] [FIELDS] [--json]"
    )
    add_session(parser)
    parser.add_argument(
        "--reason", metavar="WHY", choices=REASONS, default="manual", help=f"{', '.join(REASONS)} (default: manual)"
    )
    parser.add_argument(
        "--transcript",
        metavar="FILE",
        type=file_name,
        help="first journal a client's recorded session (Claude Code, Codex, opencode)",
    )
    add_json(parser)
    given.add_arguments(parser)
    parser.epilog = (
        examples(
            "holdfast flush --session fix-login --reason compaction",
            "holdfast flush --transcript session.jsonl",
            "holdfast flush --session fix-login --payload payload.json",
            'echo \'{"objective": "Fix login", "next_step": "test", "curated": "none"}\' | \\',
            "    holdfast flush --session fix-login",
            'holdfast flush --session fix-login --objective "Fix login" --blocker none \\',
            '    --fact "the clock is mocked" --next-step "run the tests" \\',
            '    --mutation "status:acme/app#12:in review" --curated none',
        )
        + "\n\nMissing payload fields are derived from the messages and marked as derived."
        "\nExit code 0: everything is written and read back."
        "\nExit code 1: refused. Nothing may be dropped, and the session is UNSAFE until a flush succeeds."
    )


def run(args: Namespace) -> int:
    payload = given.payload(args, ask_stdin=args.transcript is None)
    try:
        return _flush(args, payload)
    except (FlushRefused, UsageError):
        raise
    except HoldfastError as error:
        if payload is not None:  # a stated payload must block compaction although no flush has begun
            from holdfast.flush import refused_payloads

            refused_payloads.unopened(args.root, args.session or DEFAULT_SESSION, payload, error)
        raise


def _flush(args: Namespace, payload: Payload | None) -> int:
    from holdfast import Holdfast

    out = Term()
    with Holdfast.open(args.root) as memory:
        caution(memory.services.notices)
        if args.transcript is not None:
            session = _imported(memory, args)
        else:
            if payload is not None:
                require_source(memory, args.session or DEFAULT_SESSION, payload)
            elif args.session is not None:
                require_session(memory, args.session)
            session = memory.session(args.session or DEFAULT_SESSION)
        try:
            got = session.flush(payload, reason=args.reason)
        except NothingToFlush as nothing:
            if args.session is None:
                nothing.next_step = _others(memory) or nothing.next_step
            raise
        except FlushRefused as refused:
            _say_blocked(session, args.reason)
            if refused.missing:
                refused.next_step = how_to_give(refused.missing)
            raise
        memory.end_idle(but=session.id)
        if args.json:
            out.json(receipt.as_table(got))
        else:
            receipt.show(out, got, now=memory.services.now())
    return 0


def _say_blocked(session: Session, reason: str) -> None:
    err = Term(sys.stderr)
    what = reason if reason != "manual" else "dropping context"
    err.say(f"{err.mark('fail')} {err.red('blocked', bold=True)}: {what}; session {err.plain(session.id)} is UNSAFE")


def _others(memory: Holdfast) -> str:
    """The default session is empty: perhaps another one was meant."""
    from holdfast.journal.safety import State
    from holdfast.session.status import status

    others = [s.id for s in status(memory.services).sessions if s.state is not State.SAFE]
    return f"Not flushed yet: {', '.join(others)} (name a session with --session)." if others else ""


def _imported(memory: Holdfast, args: Namespace) -> Session:
    """The session with the transcript's messages in it."""
    from attrs import evolve

    transcript = memory.read_transcript(args.transcript)
    err = Term(sys.stderr)
    session_id = args.session or transcript.session_id or DEFAULT_SESSION
    total = len(transcript.kept)
    session = memory.import_transcript(evolve(transcript, kept=transcript.kept[:_CHUNK]), session_id)
    for done in range(_CHUNK, total, _CHUNK):
        if err.is_tty:
            err.stream.write(f"\r{done:,} of {total:,} messages journalled")
            err.stream.flush()
        chunk = transcript.kept[done : done + _CHUNK]
        session = memory.import_transcript(evolve(transcript, kept=chunk), session_id)
    if err.is_tty and total > _CHUNK:
        err.stream.write("\r\x1b[K" if err.colour else "\n")
    if not args.json:
        _say_read(Term(), transcript)
    elif transcript.skipped or transcript.truncated:
        _say_read(err, transcript)
    return session


def _say_read(out: Term, transcript: Transcript) -> None:
    from holdfast.text.humanize import count

    told = f"read {count(len(transcript.messages), 'message')} ({transcript.format})"
    if transcript.skipped:
        told += (
            f"; {count(transcript.skipped, 'row')} skipped, damaged or of no known kind (their text is in the journal)"
        )
    if transcript.left_out:
        kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(transcript.left_out.items()))
        told += f"; {count(sum(transcript.left_out.values()), 'row')} without conversation left out ({kinds})"
    if transcript.truncated:
        told += "; the file ends inside a row"
    out.say(out.wrapped(told, first=f"{out.mark('ok')} ", rest="  "))
