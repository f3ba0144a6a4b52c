"""``holdfast gitea``: who may write the memory in a store on a Gitea server."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError, HoldfastError
from holdfast.text.plain import printable

if TYPE_CHECKING:
    from holdfast_gitea.authors import Member
    from holdfast_gitea.backend import GiteaBackend

#: The help section that lists the command, and its line there.
HEADING = "Manage"
SUMMARY = "manage a store on a Gitea server: invite users whose records count, revoke, list"
_STATES = {"joined": "joined", "left": "revoking", "out": "revoked"}


class UsageError(HoldfastError):
    """The command line cannot be understood."""

    exit_code = 2


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", choices=("invite",), help="invite")
    parser.add_argument("user", metavar="USER", nargs="?", help="a login on the server (default: list who may write)")
    parser.add_argument("--revoke", action="store_true", help="end that user's invitation")
    parser.add_argument("--id", metavar="N", type=int, default=0, help="the user's id, if the token may not ask for it")
    parser.add_argument("--json", action="store_true", help="print JSON, errors too")
    parser.epilog = (
        "examples:\n  holdfast gitea invite\n  holdfast gitea invite ana\n  holdfast gitea invite ana --revoke"
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast_gitea import invitations
    from holdfast_gitea.backend import GiteaBackend

    if args.user is None and (args.revoke or args.id):
        raise UsageError("Whose invitation?", next_step="Name the user: `holdfast gitea invite ana --revoke`.")
    if args.id < 0 or (args.id and args.revoke):
        message = "--id takes a user's number and excludes --revoke."
        raise UsageError(message, next_step="See `holdfast gitea invite --help`.")
    with Holdfast.open(args.root) as memory:
        backend = memory.store.backend
        if not isinstance(backend, GiteaBackend):
            raise ConfigError(
                f"This project's store is {memory.config.storage.backend!r}, which is not on a Gitea server.",
                next_step='Run this in a project with `[storage] backend = "gitea"`; see docs/gitea.md.',
            )
        if args.user is None:
            table, lines = _list(backend)
        elif args.revoke:
            table, lines = _revoke(backend, args.user)
        else:
            one = invitations.invite(backend.log, args.user, args.id)
            table, lines = {"user": _row(one)}, [f"the records of {one.login} (id {one.id}) count from now on"]
    if args.json:
        lines = [json.dumps({"ok": True, **table}, indent=2)]
    sys.stdout.write("\n".join(map(printable, lines)) + "\n")
    return 0


def _revoke(backend: GiteaBackend, login: str) -> tuple[dict[str, object], list[str]]:
    one, count = backend.revoke(login)
    lines = [f"further records of {one.login} do not count; earlier ones still do"]
    if count:
        lines.append(f"documents and logs of facts with them that are now in issues of the token's user: {count}")
    return {"user": _row(one), "taken_over": count}, lines


def _list(backend: GiteaBackend) -> tuple[dict[str, object], list[str]]:
    from holdfast_gitea import invitations

    members = invitations.listed(backend.log)
    writers = invitations.writers(backend.log)
    rows = [{"login": login, "because": why} for login, why in writers]
    lines = [f"{login}: {why}" for login, why in writers]
    for one in members:
        if one.state != "joined":
            state = "revoked" if one.state == "out" else "interrupted while revoking; run it again"
            lines.append(f"{one.login}: {state}")
    return {"writers": rows, "invited": [_row(one) for one in members]}, lines


def _row(one: Member) -> dict[str, object]:
    last = one.spans[-1]
    until = last.until_at.isoformat() if last.until_at else None
    return {
        "login": one.login,
        "id": one.id,
        "by": one.by,
        "state": _STATES[one.state],
        "since": last.since_at.isoformat(),
        "until": until,
    }
