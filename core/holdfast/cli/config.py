"""``holdfast config``: the settings in force, one of them, or a change to one."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.cli.args import add_json, examples
from holdfast.cli.term import Term
from holdfast.cli.words import nearest
from holdfast.errors import ConfigError

if TYPE_CHECKING:
    from holdfast.effective import Setting


_SECRET = ("token", "secret", "password", "api_key")


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", nargs="?", help="one setting, like flush.policy")
    parser.add_argument("value", metavar="VALUE", nargs="?", help="write it into the settings file")
    add_json(parser)
    parser.epilog = examples(
        "holdfast config",
        "holdfast config flush.policy",
        "holdfast config flush.policy strict",
        "holdfast config plugins.offline.enabled false",
    )


def run(args: Namespace) -> int:
    from holdfast import effective, settings

    root = settings.find_root(args.root)
    out = Term()
    if args.value is not None:
        return _set(out, root, args)
    found = [_masked(setting) for setting in effective.effective(root)]
    if args.key is not None:
        chosen = [s for s in found if s.key == args.key or s.key.startswith(args.key + ".")]
        if not chosen:
            raise _unknown(args.key, found)
        if not args.json and len(chosen) == 1 and chosen[0].key == args.key:
            out.say(_text(chosen[0].value))
            return 0
        found = chosen
    if args.json:
        rows = [{"key": s.key, "value": s.value, "source": s.source} for s in found]
        out.json({"ok": True, "settings": rows})
        return 0
    head = ("setting", "value", "from")
    out.say(out.table([(s.key, _cell(s), (s.source, _style(s))) for s in found], head=head))
    return 0


def _set(out: Term, root: str, args: Namespace) -> int:
    from holdfast import effective
    from holdfast.cli import consequences

    value = effective.parse_value(args.value)
    matters = args.key in consequences.KEYS
    before = consequences.held(root) if matters else None
    name = effective.change(root, args.key, value)
    warnings = consequences.warnings(root, before) if matters else []
    now = next((s for s in effective.effective(root) if s.key == args.key), None)
    if args.json:
        out.json({"ok": True, "key": args.key, "value": value, "file": name, "warnings": warnings})
        return 0
    out.say(f"{out.mark('ok')} {out.plain(args.key)} = {out.plain(_text(value))}  {out.dim('in ' + name)}")
    if now is not None and now.source.startswith("HOLDFAST_"):
        out.say(out.wrapped(f"{now.source} overrides it: {_text(now.value)} is in force", first=f"{out.mark('warn')} "))
    for warning in warnings:
        out.say(out.wrapped(warning, first=f"{out.mark('warn')} ", rest="  "))
    return 0


def _masked(setting: Setting) -> Setting:
    """Secrets belong into the environment or the keyring; one that a variable put among the settings is not printed."""
    from attrs import evolve

    name = setting.key.rpartition(".")[2]
    return evolve(setting, value="***") if name.endswith(_SECRET) and setting.value else setting


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _cell(setting: Setting) -> tuple[str, str]:
    return (_text(setting.value), "" if setting.source == "default" else "bold")


def _style(setting: Setting) -> str:
    return "dim" if setting.source == "default" else ""


def _unknown(key: str, found: list[Setting]) -> ConfigError:
    near = nearest(key, [s.key for s in found])
    step = f"Did you mean `{near}`?" if near else "`holdfast config` lists the keys."
    return ConfigError(f"There is no setting {key!r}.", next_step=step)
