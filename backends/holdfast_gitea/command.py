"""``holdfast gitea``: who may write the memory in a store on a Gitea server."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast_cli.args import add_json, examples
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast_gitea.backend import GiteaBackend
    from holdfast_gitea.members import Member

#: The help section that lists the command, and its line there.
HEADING = "Manage"
SUMMARY = "manage a store on a Gitea server: invite users whose records count, revoke, list"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", choices=("invite",), help="invite")
    parser.add_argument("user", metavar="USER", nargs="?", help="a login on the server (default: list who may write)")
    parser.add_argument("--revoke", action="store_true", help="end that user's invitation")
    parser.add_argument("--id", metavar="N", type=int, default=0, help="the user's id, if the token may not ask for it")
    add_json(parser)
    parser.epilog = examples(
        "holdfast gitea invite",
        "holdfast gitea invite ana",
        "holdfast gitea invite ana --revoke",
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast.errors import ConfigError
    from holdfast_gitea.backend import GiteaBackend

    if args.user is None and (args.revoke or args.id):
        raise UsageError("Whose invitation?", next_step="Name the user: `holdfast gitea invite ana --revoke`.")
    if args.id < 0 or (args.id and args.revoke):
        message = "--id takes a user's number and excludes --revoke."
        raise UsageError(message, next_step="See `holdfast gitea invite --help`.")
    out = Term()
    with Holdfast.open(args.root) as memory:
        backend = memory.store.backend
        if not isinstance(backend, GiteaBackend):
            raise ConfigError(
                f"This project's store is {memory.config.storage.backend!r}, which is not on a Gitea server.",
                next_step='Run this in a project with `[storage] backend = "gitea"`; see docs/gitea.md.',
            )
        if args.user is None:
            return _list(backend, args, out)
        return _revoke(backend, args, out) if args.revoke else _invite(backend, args, out)


def _invite(backend: GiteaBackend, args: Namespace, out: Term) -> int:
    from holdfast_gitea import invitations

    one = invitations.invite(backend.log, args.user, args.id)
    if args.json:
        out.json({"ok": True, "user": _row(one)})
    else:
        out.say(f"{out.mark('ok')} the records of {out.plain(one.login)} (id {one.id}) count from now on")
    return 0


def _revoke(backend: GiteaBackend, args: Namespace, out: Term) -> int:
    one, count = backend.revoke(args.user)
    if args.json:
        out.json({"ok": True, "user": _row(one), "taken_over": count})
        return 0
    out.say(f"{out.mark('ok')} further records of {out.plain(one.login)} do not count; earlier ones still do")
    if count:
        things = "document or log of facts" if count == 1 else "documents and logs of facts"
        out.say(f"  {count} {things} with them now {'is' if count == 1 else 'are'} in issues of the token's user")
    return 0


def _list(backend: GiteaBackend, args: Namespace, out: Term) -> int:
    from holdfast_gitea import invitations

    members = invitations.listed(backend.log)
    writers = invitations.writers(backend.log)
    if args.json:
        rows = [{"login": login, "because": why} for login, why in writers]
        out.json({"ok": True, "writers": rows, "invited": [_row(one) for one in members]})
        return 0
    table = [(out.mark_cell("ok"), login, why) for login, why in writers]
    for one in members:
        if one.state != "joined":
            state = "revoked" if one.state == "out" else "interrupted while revoking; run it again"
            table.append((out.mark_cell("dot"), one.login, state))
    out.say(out.table(table))
    return 0


def _row(one: Member) -> dict[str, object]:
    last = one.spans[-1]
    until = last.until_at.isoformat() if last.until_at else None
    return {
        "login": one.login,
        "id": one.id,
        "by": one.by,
        "state": {"joined": "joined", "left": "revoking", "out": "revoked"}[one.state],
        "since": last.since_at.isoformat(),
        "until": until,
    }
