"""``holdfast trust``: see which settings came with a project and need the user's word, and give it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError
from holdfast.text.humanize import count
from holdfast_cli.command import Answer, Call, Command, argument, flag
from holdfast_cli.problem import UsageError
from holdfast_cli.project import reasons
from holdfast_cli.project.config import as_text, masked
from holdfast_cli.stdin import confirmed
from holdfast_cli.terminal import Term, home_short

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from holdfast.config.resolved import Resolved

_NEXT = "Read them, then run `holdfast trust --yes`."


@Command(
    "Manage",
    "review the settings in this project's files and trust them; list, revoke",
    flag("--yes", "trust the project without asking"),
    flag("--list", "list the trusted projects"),
    argument(
        "--revoke", metavar="PATH", nargs="?", const="", help="no longer trust the project at PATH (default: here)"
    ),
    flag("--digest", "print the digest for HOLDFAST_TRUST, as CI needs it"),
    flag("--adopt-state", "show and take over private state that was put aside here"),
    examples=("holdfast trust", "holdfast trust --yes", "holdfast trust --list", "holdfast trust --revoke"),
    notes="A cloned project is data: settings in its files that name a server, a program or a place, load a plugin,"
    "\nweaken a check, delete or spend money count only when you trust the project for exactly these settings."
    "\nA change needs trust again. The same holds for stored memory that this machine did not write, line by line:"
    "\nyour agents get it after you have seen it here."
    "\nExit code 1 when trust is needed and was not given.",
)
def trust_command(call: Call) -> Answer | int:
    """Give, take back or show the user's trust."""
    from holdfast.config import resolved, trust

    args, out = call.args, call.out
    if sum((args.yes or args.adopt_state, args.list, args.digest, args.revoke is not None)) > 1:
        raise UsageError(
            "--yes, --adopt-state, --list, --revoke and --digest exclude each other.", next_step="Pass one of them."
        )
    if args.list:
        return _list()
    if args.revoke is not None:  # a removed project can be named too
        named = os.path.realpath(os.path.expanduser(args.revoke)) if args.revoke else call.root
        return _revoke(named)
    root = call.root
    if args.adopt_state:
        from holdfast_cli.project import adopt

        return adopt.run(out, root, yes=args.yes, as_json=args.json)
    if args.digest:
        digest = trust.digest(resolved.portable(root))
        return Answer({"root": root, "digest": digest}, digest)
    return _trust(out, root, args)


def _trust(out: Term, root: str, args: Namespace) -> int:
    from holdfast.config import resolved, statefolder, trust
    from holdfast_cli.project.withheld import Withheld

    try:
        found = resolved.resolve(root, obey_others=True)
        resolved.structured(found)  # a mistake is named before it is trusted
    except ConfigError as error:
        raise error.for_people() from None
    can_ask = not args.json and sys.stdin is not None and sys.stdin.isatty()
    rows = {**found.withheld, **found.trusted}
    has_asked = bool(found.withheld) or found.foreign.startswith(os.path.join(root, ""))
    if not args.json:
        _say_settings(out, root, found, rows, has_asked=has_asked)
    is_given = not has_asked or args.yes or (can_ask and confirmed(f"Trust the settings of {home_short(root)}?"))
    if has_asked and is_given:
        preset = rows.get("layout.preset", "") if found.former else ""
        trust.record(root, {key: value for key, value in rows.items() if not preset or key != "layout.preset"})
        if preset:
            statefolder.take_along(root, str(preset))
    # Settings that the user did not accept can decide where memory is stored.
    memory = Withheld.of(root) if is_given else None
    is_seen = memory is not None and not memory.number
    if memory is not None and memory.number:
        if not args.json:
            memory.say(out)
        is_seen = args.yes or (can_ask and confirmed("Give this memory to your agents?"))
        if is_seen:
            memory.accept()
    is_done = is_given and is_seen
    if args.json:
        table = {
            "root": root,
            "trusted": is_done,
            "memory": is_seen,
            "digest": trust.digest(resolved.portable(root)),
            "foreign": found.foreign,
            "settings": [{"key": k, "value": masked(k, v), "it": reasons.reason(k)} for k, v in rows.items()],
            "withheld": memory.table() if memory else [],
        }
        message = f"{root} is not trusted."
        refusal = {"kind": "NotTrusted", "message": message, "next_step": _NEXT, "exit_code": 1}
        out.json({"ok": True, **table} if is_done else {"ok": False, **table, "error": refusal})
    elif is_done:
        out.say(f"{out.mark('ok')} {out.bold(home_short(root))} is trusted")
    elif not can_ask:
        out.say(f"\n  next: {_NEXT}")
    return 0 if is_done else 1


def _say_settings(out: Term, root: str, found: Resolved, rows: Mapping[str, object], *, has_asked: bool) -> None:
    if found.foreign:
        out.note("warn", f"{home_short(found.foreign)} belongs to another user")
    if rows:
        verb = "is" if len(rows) == 1 else "are"
        state = "not in force without your trust" if found.withheld or found.foreign else "in force"
        out.say(f"{count(len(rows), 'setting')} in {out.plain(found.source)} {verb} {state}:")
        table = [(key, as_text(masked(key, value)), reasons.reason(key)) for key, value in rows.items()]
        out.say(out.table(table, head=("setting", "value", "effect")))
    elif has_asked:
        out.say(f"No setting in {out.bold(home_short(root))} needs trust.")


def _list() -> Answer:
    from holdfast.config import trust

    found = trust.records().values()

    def show(out: Term) -> None:
        rows = [(home_short(r.root), r.at[:10], ", ".join(r.settings) or "none") for r in found]
        out.say(out.table(rows, head=("project", "since", "settings")) if rows else "No project is trusted.")

    return Answer({"projects": [one._asdict() for one in found]}, show)


def _revoke(root: str) -> Answer:
    from holdfast.config import trust
    from holdfast_app.trust.provenance import forget_trust

    was = trust.revoke(root)
    was = forget_trust(root) or was
    mark, what = ("ok", "is no longer trusted") if was else ("dot", "was not trusted")
    return Answer(
        {"root": root, "revoked": was}, lambda out: out.say(f"{out.mark(mark)} {out.bold(home_short(root))} {what}")
    )
