"""``holdfast config``: show the settings in force or a single setting, or change a setting."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError
from holdfast.text.humanize import nearest
from holdfast_cli.args import add_json, examples
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast_cli.settings.effective import Setting


_SECRET = ("token", "secret", "password", "api_key")


#: The help heading for the command, and its summary line.
HEADING = "Manage"
SUMMARY = "show the settings in force with their sources; change one"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", nargs="?", help="one setting, like flush.policy")
    parser.add_argument("value", metavar="VALUE", nargs="?", help="the new value, to write into the settings file")
    parser.add_argument("--user", action="store_true", help="write to your own settings, which apply to every project")
    add_json(parser)
    parser.epilog = examples(
        "holdfast config",
        "holdfast config flush.policy",
        "holdfast config flush.policy strict",
        "holdfast config plugins.offline.enabled false",
        "holdfast config --user plugins.openai.model MODEL",
    )


def run(args: Namespace) -> int:
    """The command for people: it quotes a mistake in the project's file, which other commands only locate."""
    try:
        return _run(args)
    except ConfigError as error:
        raise error.for_people() from None


def _run(args: Namespace) -> int:
    from holdfast.config import settings
    from holdfast_cli.settings import effective

    root = settings.find_root(args.root)
    out = Term()
    if args.value is not None:
        return _set(out, root, args)
    if args.user:
        raise UsageError(
            "--user needs KEY and VALUE.", next_step="`holdfast config` shows where each value comes from."
        )
    found = [_masked(setting) for setting in effective.effective(root)]
    if args.key is not None:
        chosen = [s for s in found if s.key == args.key or s.key.startswith(args.key + ".")]
        if not chosen:
            raise _unknown(args.key, found)
        exact = [s for s in chosen if s.key == args.key]
        if not args.json and exact == [s for s in chosen if s.in_force or s in exact] and exact[0].in_force:
            out.say(_text(exact[0].value))
            _say_withheld(Term(sys.stderr), exact[1:])
            return 0
        found = chosen
    if args.json:
        rows = [{"key": s.key, "value": s.value, "source": s.source, "in_force": s.in_force} for s in found]
        out.json({"ok": True, "settings": rows})
        return 0
    head = ("setting", "value", "from")
    out.say(out.table([(s.key, _cell(s), (s.source, _style(s))) for s in found if s.in_force], head=head))
    _say_withheld(out, [s for s in found if not s.in_force])
    return 0


def _say_withheld(out: Term, withheld: list[Setting]) -> None:
    if not withheld:
        return
    out.say()
    out.say(out.wrapped("not in force, because you have not trusted this project:", first=f"{out.mark('warn')} "))
    out.say(out.table([(s.key, _text(s.value), (s.source, "dim")) for s in withheld]))
    out.say(f"\n  next: {out.style('holdfast trust', 'cyan')}")


def _set(out: Term, root: str, args: Namespace) -> int:
    from holdfast.config import settings
    from holdfast_cli.settings import config_warnings, effective

    value = settings.toml_value(args.value)
    matters = args.key in config_warnings.KEYS
    before = config_warnings.held(root) if matters else None
    name = effective.change(root, args.key, value, user=args.user)
    warnings = config_warnings.warnings(root, before) if matters else []
    now = next((s for s in reversed(effective.effective(root)) if s.key == args.key), None)
    in_force = now is not None and now.in_force and now.value == value
    if now is not None and not now.in_force:
        warnings.append(
            "It is not in force, because other settings came with this project. Run `holdfast trust` to see them."
        )
    elif now is not None and args.user and now.value != value and not now.source.startswith("HOLDFAST_"):
        warnings.append(f"{now.source} overrides it here: {_text(now.value)} is in force.")
    if args.json:
        table = {"key": args.key, "value": value, "file": name, "in_force": in_force, "warnings": warnings}
        out.json({"ok": True, **table})
        return 0
    out.say(f"{out.mark('ok')} {out.plain(args.key)} = {out.plain(_text(value))}  {out.dim('in ' + name)}")
    if now is not None and now.source.startswith("HOLDFAST_"):
        out.say(out.wrapped(f"{now.source} overrides it: {_text(now.value)} is in force", first=f"{out.mark('warn')} "))
    for warning in warnings:
        out.say(out.wrapped(warning, first=f"{out.mark('warn')} ", rest="  "))
    return 0


def _masked(setting: Setting) -> Setting:
    """Mask a secret that a variable put into the settings. Secrets belong in the environment or the keyring."""
    from attrs import evolve

    name = setting.key.rpartition(".")[2]
    return evolve(setting, value="***") if name.endswith(_SECRET) and setting.value else setting


def _text(value: object) -> str:
    if value is None:
        return "not set"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _cell(setting: Setting) -> tuple[str, str]:
    return (_text(setting.value), "" if setting.source == "default" else "bold")


def _style(setting: Setting) -> str:
    return "dim" if setting.source == "default" else ""


def _unknown(key: str, found: list[Setting]) -> ConfigError:
    near = nearest(key, [s.key for s in found])
    step = f"Did you mean `{near}`?" if near else "`holdfast config` lists the keys."
    return ConfigError(f"There is no setting {key!r}.", next_step=step)
