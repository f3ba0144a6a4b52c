"""``holdfast auth``: keys of model providers and forges, kept in the system's keyring. A key is never printed."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, NamedTuple

from holdfast_cli.args import add_json, examples
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Iterator


#: The help section that lists the command, and its line there.
HEADING = "Manage"
SUMMARY = "manage keys of model providers and forges in the system's keyring, each for one server"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        default="status",
        metavar="ACTION",
        choices=("set", "status", "remove"),
        help="set, status, remove (default: status)",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="whose key: openai, anthropic, gitea, ...")
    parser.add_argument(
        "--origin",
        metavar="URL",
        help="the server that the key is for; no other gets it (by default the provider's own; for gitea "
        "the server in your settings)",
    )
    add_json(parser)
    parser.epilog = (
        examples(
            "holdfast auth set openai",
            "pass show gitea | holdfast auth set gitea --origin https://git.example.org",
            "holdfast auth status",
        )
        + "\n\nThe environment comes first: HOLDFAST_<NAME>_KEY, then the provider's usual variable."
    )


def run(args: Namespace) -> int:
    from holdfast.config import settings
    from holdfast_keys import secrets

    root = settings.find_root(args.root)
    if args.action == "status":
        if args.origin:
            raise UsageError("`holdfast auth status` takes no --origin.", next_step="It shows the keys of all servers.")
        return _status([args.name] if args.name else sorted(secrets.USUAL_VARIABLES), root, as_json=args.json)
    if not args.name:
        raise UsageError(
            f"`holdfast auth {args.action}` takes a name.", next_step=f"Like `holdfast auth {args.action} openai`."
        )
    secrets.check_name(args.name)
    if args.action == "set":
        origin = _origin(args.name, args.origin, root)
        secrets.store(args.name, _asked(args.name, origin), origin)
        done = f"The key for {args.name} is in the keyring. It is sent only to {_shown(origin)}."
        origins = [origin]
    else:
        origins = secrets.remove(args.name, _checked(args.origin) if args.origin else None)
        done = f"The key for {args.name} is no longer in the keyring ({', '.join(map(_shown, origins))})."
    variable = secrets.variable_in_use(args.name)
    out = Term()
    if args.json:
        rows = {"origin": origins[0] or None, "origins": [origin or None for origin in origins]}
        out.json({"ok": True, "name": args.name, "action": args.action, "overridden_by": variable, **rows})
        return 0
    out.say(f"{out.mark('ok')} {done}")
    if variable:
        out.say(f"  {out.mark('warn')} {variable} is set in the environment and comes first.")
    return 0


def _checked(url: str) -> str:
    """A typed URL's origin. Raises: UsageError."""
    from holdfast.errors import ConfigError
    from holdfast_keys import origins

    try:
        return origins.of(url, "--origin")
    except ConfigError as error:
        raise UsageError(error.message, next_step=error.next_step) from error


def _origin(name: str, given: str | None, root: str) -> str:
    """A new key's origin: as passed, otherwise the provider's own, otherwise the only server in the user's settings.

    Empty for a provider whose address only its plugin knows. Raises: UsageError.
    """
    from holdfast_keys import origins, secrets

    if given:
        return _checked(given)
    if name in secrets.OWN_ORIGINS or name not in secrets.ADDRESS_SETTINGS:
        return secrets.OWN_ORIGINS.get(name, "")
    servers = origins.named_by_user(secrets.address_settings(name), root)
    if len(servers) != 1:
        found = f"your settings name {', '.join(servers)}" if servers else "your settings name none"
        raise UsageError(
            f"A key for {name} belongs to one server, and {found}.",
            next_step=f"Name it: `holdfast auth set {name} --origin https://git.example.org`.",
        )
    return servers[0]


def _asked(name: str, origin: str) -> str:
    """The key, typed unseen or piped in."""
    if sys.stdin is not None and sys.stdin.isatty():
        import getpass

        return getpass.getpass(f"Key for {name}, sent only to {_shown(origin)} (not shown): ")
    from holdfast_cli.stdin import read_text

    return read_text()


def _shown(origin: str) -> str:
    return origin or "the provider's own address"


class _Row(NamedTuple):
    name: str
    where: str = ""
    origin: str = ""
    next_step: str = ""


def _rows(names: list[str], root: str, *, usable: bool) -> Iterator[_Row]:
    from holdfast_keys import origins, secrets

    for name in names:
        own = secrets.OWN_ORIGINS.get(name)
        variable = secrets.variable_in_use(name)
        if variable:
            named = [own] if own else []
            named += origins.named_by_user(secrets.address_settings(name), root)
            yield _Row(name, f"environment: {variable}", ", ".join(dict.fromkeys(named)))
        keys = secrets.stored(name) if usable else {}
        for origin in sorted(keys):
            lost = not origin and name in secrets.ADDRESS_SETTINGS
            step = f"`holdfast auth set {name} --origin URL` sets the server it is for." if lost else ""
            yield _Row(name, "keyring", origin, step)
        if not variable and not keys:
            yield _Row(name)


def _status(names: list[str], root: str, *, as_json: bool) -> int:
    from holdfast_keys import secrets

    out = Term()
    usable = secrets.has_keyring()
    rows = list(_rows(names, root, usable=usable))
    if as_json:
        out.json(
            {
                "ok": True,
                "keyring": usable,
                "keys": [
                    {"name": row.name, "where": row.where or None, "origin": row.origin or None}
                    | ({"next_step": row.next_step} if row.next_step else {})
                    for row in rows
                ],
            }
        )
        return 0
    table = []
    for row in rows:
        mark = "warn" if row.next_step else "ok" if row.where else "dot"
        sent = f"for {_shown(row.origin)}" if row.where else ""
        if row.next_step:
            sent = "without its server, so it is not sent"
        elif row.where.startswith("environment") and not row.origin:
            sent = "for the server that the settings name"
        table.append((out.mark_cell(mark), row.name, row.where or ("not set", "dim"), sent))
    out.say(out.table(table))
    for row in rows:
        if row.next_step:
            out.say(f"next: {row.next_step}")
    if not usable:
        out.say("This machine has no usable keyring. Set keys in the environment.")
    return 0
