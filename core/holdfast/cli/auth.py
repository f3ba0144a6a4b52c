"""``holdfast auth``: keys of model providers and forges, kept in the system's keyring. A key is never printed."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from holdfast.cli.args import add_json, examples
from holdfast.cli.problem import UsageError
from holdfast.cli.term import Term


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", choices=("set", "status", "remove"), help="set, status, remove")
    parser.add_argument("name", metavar="NAME", nargs="?", help="whose key: openai, anthropic, gitea, ...")
    add_json(parser)
    parser.epilog = (
        examples("holdfast auth set openai", "pass show openai | holdfast auth set openai", "holdfast auth status")
        + "\n\nThe environment comes first: HOLDFAST_<NAME>_KEY, then the provider's usual variable."
    )


def run(args: Namespace) -> int:
    from holdfast import secrets

    if args.action == "status":
        return _status([args.name] if args.name else sorted(secrets.USUAL_VARIABLES), Term(), as_json=args.json)
    if not args.name:
        raise UsageError(
            f"`holdfast auth {args.action}` takes a name.", next_step=f"Like `holdfast auth {args.action} openai`."
        )
    secrets.check_name(args.name)
    if args.action == "set":
        secrets.store(args.name, _asked(args.name))
        done = f"The key for {args.name} is in the keyring."
    else:
        secrets.remove(args.name)
        done = f"The key for {args.name} is no longer in the keyring."
    variable = secrets.variable_in_use(args.name)
    out = Term()
    if args.json:
        out.json({"ok": True, "name": args.name, "action": args.action, "overridden_by": variable})
        return 0
    out.say(f"{out.mark('ok')} {done}")
    if variable:
        out.say(f"  {out.mark('warn')} {variable} is set in the environment and comes first.")
    return 0


def _asked(name: str) -> str:
    """The key, typed unseen or piped in."""
    if sys.stdin is not None and sys.stdin.isatty():
        import getpass

        return getpass.getpass(f"Key for {name} (not shown): ")
    from holdfast.cli.stdin import read_text

    return read_text()


def _status(names: list[str], out: Term, *, as_json: bool) -> int:
    from holdfast import secrets

    usable = secrets.has_keyring()
    rows = []
    for name in names:
        variable = secrets.variable_in_use(name)
        where = f"environment: {variable}" if variable else ""
        if not variable and usable and secrets.stored(name) is not None:
            where = "keyring"
        rows.append((name, where))
    if as_json:
        out.json({"ok": True, "keyring": usable, "keys": [{"name": n, "where": w or None} for n, w in rows]})
        return 0
    out.say(
        out.table(
            [(out.mark_cell("ok" if where else "dot"), name, where or ("not set", "dim")) for name, where in rows]
        )
    )
    if not usable:
        out.say("This machine has no keyring that can be used: set keys in the environment.")
    return 0
