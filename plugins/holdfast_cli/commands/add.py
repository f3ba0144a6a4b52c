"""``holdfast add``: journal one message. Agents run this often, so it opens no store."""

from __future__ import annotations

import sys

from holdfast.journal.capture import ROLES, capture, stored_id
from holdfast_app import background
from holdfast_cli.command import SESSION, Answer, Call, Command, argument
from holdfast_cli.problem import UsageError, caution
from holdfast_cli.stdin import text_of


@Command(
    "Save",
    "journal one message of a session",
    argument("role", choices=ROLES, metavar="ROLE", help=", ".join(ROLES)),
    argument("text", metavar="TEXT", help="the message; `-` reads it from stdin"),
    SESSION,
    argument("--id", metavar="ID", help="the message's own id (messages with the same id count once)"),
    examples=(
        'holdfast add user "Fix the flaky login test" --session fix-login',
        "git diff --stat | holdfast add tool - --session fix-login",
        "holdfast add user -- --a-text-that-begins-with-dashes",
    ),
)
def add(call: Call) -> Answer | int:
    """Journal it. A hook's stdout may go into the model's context: without a person or --json nothing is printed."""
    from holdfast.config import resolved, settings

    text, message_id = text_of(call.args.text), call.args.id
    if not text.strip():
        raise UsageError(
            "The message to add is missing.", next_step="Pass it as the second argument, or pass `-` and pipe it in."
        )
    if message_id is not None and not message_id.strip():
        raise UsageError("--id must not be blank.", next_step="Leave it out to get a new id.")
    record = capture(call.root, call.session, call.args.role, text, message_id=message_id).record
    if call.args.role == "assistant":
        background.after_turn(call.root)
    if settings.raw(call.root)[0]:  # the project has settings
        caution(resolved.sentences(resolved.resolve(call.root, lenient=True)))
    if not call.json and not sys.stdout.isatty():
        return 0
    session = stored_id(call.root, call.session)
    return Answer(
        {"session": session, "id": record["id"], "at": record["at"]},
        lambda out: out.say(f"{out.mark('ok')} journalled in {out.bold(session)}  {out.dim(record['id'])}"),
    )
