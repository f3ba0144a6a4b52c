"""``holdfast plugins``: the installed plugins, their status, and the reason."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast_cli.args import add_json, examples
from holdfast_cli.terminal import Term

_STYLES = {"loaded": "green", "off": "dim", "failed": "red", "missing": "red"}


#: The help section that lists the command, and its line there.
HEADING = "Manage"
SUMMARY = "list plugins and backends, each with its state and the reason"


def configure(parser: ArgumentParser) -> None:
    add_json(parser)
    parser.epilog = (
        examples("holdfast plugins", "holdfast plugins --json")
        + "\n\nA table `[plugins.NAME]` in holdfast.toml enables a plugin. Installing it is not enough."
    )


def run(args: Namespace) -> int:
    from holdfast.config import settings
    from holdfast.plugin.discovery import BACKENDS
    from holdfast_cli.doctor.inventory import inventory

    found = inventory(settings.find_root(args.root))
    out = Term()
    if args.json:
        rows = [
            {
                "name": s.name,
                "kind": "backend" if s.group == BACKENDS else "plugin",
                "distribution": s.distribution,
                "version": s.version,
                "hooks": list(s.hooks),
                "status": s.status,
                "reason": s.reason,
            }
            for s in found
        ]
        out.json({"ok": True, "plugins": rows})
        return 0
    head = ("name", "kind", "from", "status", "hooks")
    out.say(
        out.table(
            [
                (
                    (s.name, "bold"),
                    "backend" if s.group == BACKENDS else "plugin",
                    f"{s.distribution} {s.version}".strip() or "-",
                    (s.status, _STYLES.get(s.status, "")),
                    ", ".join(s.hooks) or "-",
                )
                for s in found
            ],
            head=head,
        )
    )
    for one in found:
        if one.status in ("failed", "missing"):
            out.say()
            out.say(out.wrapped(one.reason, first=f"{out.mark('fail')} {out.plain(one.name)}: ", rest="  "))
    return 0
