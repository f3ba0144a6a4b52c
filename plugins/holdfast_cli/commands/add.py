"""``holdfast add``: journal one message. Agents run this at every event, so it parses without argparse."""

from __future__ import annotations

import sys

from holdfast_cli.args import DEFAULT_SESSION, add_json, add_session, examples, session_id
from holdfast_cli.problem import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def configure(parser: ArgumentParser) -> None:
    from holdfast.journal.capture import ROLES

    parser.add_argument("role", choices=ROLES, metavar="ROLE", help=", ".join(ROLES))
    parser.add_argument("text", metavar="TEXT", help="the message; `-` reads it from stdin")
    add_session(parser)
    parser.add_argument("--id", metavar="ID", help="the message's own id (messages with the same id count once)")
    add_json(parser)
    parser.epilog = examples(
        'holdfast add user "Fix the flaky login test" --session fix-login',
        "git diff --stat | holdfast add tool - --session fix-login",
        "holdfast add user -- --a-text-that-begins-with-dashes",
    )


def run(args: Namespace) -> int:
    return _add(args.root, args.session, args.role, args.text, args.id, as_json=args.json)


def quick(words: list[str], root: str | None) -> int | None:
    """The plain form (two words and options with a value). None for everything else, also help and mistakes, which are
    argparse's to answer."""
    from holdfast.journal.capture import ROLES

    given: dict[str, str] = {}
    plain: list[str] = []
    as_json = False
    rest = iter(words)
    for word in rest:
        if word == "--":
            plain += rest
        elif word == "--json":
            as_json = True
        elif word in ("--session", "--id", "--root"):
            value = next(rest, None)
            if value is None or value.startswith("-"):
                return None
            given[word] = value
        elif word.startswith("-") and word != "-":
            return None
        else:
            plain.append(word)
    if len(plain) != 2 or plain[0] not in ROLES:
        return None
    session = given.get("--session")
    return _add(
        given.get("--root", root),
        None if session is None else session_id(session),
        plain[0],
        plain[1],
        given.get("--id"),
        as_json=as_json,
    )


def _add(root: str | None, session: str | None, role: str, text: str, message_id: str | None, *, as_json: bool) -> int:
    from holdfast.config import settings
    from holdfast.journal.capture import capture

    if text == "-":
        from holdfast_cli.stdin import read_text

        text = read_text()
    if not text.strip():
        raise UsageError(
            "The message to add is missing.", next_step="Pass it as the second argument, or pass `-` and pipe it in."
        )
    if message_id is not None and not message_id.strip():
        raise UsageError("--id must not be blank.", next_step="Leave it out to get a new id.")
    session = session or DEFAULT_SESSION
    entry = capture(settings.find_root(root), session, role, text, message_id=message_id)
    if settings.raw(settings.find_root(root))[0]:  # the project has settings
        from holdfast.config import resolved
        from holdfast_cli.problem import caution

        caution(resolved.sentences(resolved.resolve(settings.find_root(root), lenient=True)))
    # A hook's stdout may go into the model's context: without a person or --json there is nothing to say.
    if as_json or sys.stdout.isatty():
        from holdfast.journal.capture import stored_id
        from holdfast_cli.terminal import Term

        out, session = Term(), stored_id(settings.find_root(root), session)
        if as_json:
            out.json({"ok": True, "session": session, "id": entry.record["id"], "at": entry.record["at"]})
        else:
            out.say(f"{out.mark('ok')} journalled in {out.bold(session)}  {out.dim(entry.record['id'])}")
    return 0
