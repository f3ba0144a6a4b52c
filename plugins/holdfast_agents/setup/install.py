"""``holdfast install``: add holdfast's hooks to a client, so that it drops context only after a verified flush."""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast_cli.args import add_json, examples
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term, home_short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast_agents.setup.clients import Needed, Where
    from holdfast_agents.setup.placing import Done

#: The help section that lists the command, and its line there.
HEADING = "Guard a client"
SUMMARY = "add holdfast's hooks to Claude Code, opencode or Codex"


def configure(parser: ArgumentParser) -> None:
    add_arguments(parser)
    parser.add_argument(
        "--print", dest="show", action="store_true", help="print the files and their content; write nothing"
    )
    parser.add_argument(
        "--model",
        action="store_true",
        help="also run this client as holdfast's model, in all of this user's projects; needs no API key",
    )
    parser.add_argument("--plugin-dir", metavar="DIR", help="claude-code: create a plugin directory in DIR instead")
    add_json(parser)
    parser.epilog = (
        examples(
            "holdfast install claude-code",
            "holdfast install opencode --print",
            "holdfast install codex --scope user",
            "holdfast install claude-code --model",
            "holdfast install claude-code --plugin-dir holdfast-plugin",
        )
        + "\n\nExisting settings stay byte for byte, and a backup is kept next to each changed file."
        "\nInstalling again changes nothing. `holdfast doctor` shows whether the hooks run."
    )


def add_arguments(parser: ArgumentParser) -> None:
    """Add the client and the scope."""
    from holdfast_agents.setup.clients import CLIENTS, SCOPES

    parser.add_argument("client", metavar="CLIENT", choices=CLIENTS, help=", ".join(CLIENTS))
    parser.add_argument(
        "--scope",
        choices=SCOPES,
        default="project",
        help="this project, shared through git, or all of this user's projects (default: project)",
    )


def run(args: Namespace) -> int:
    from attrs import evolve

    from holdfast_agents.setup import placing
    from holdfast_agents.setup.clients import needed

    if args.plugin_dir is not None:
        return _plugin_dir(args)
    where = evolve(where_of(args), server=_can_serve())
    wanted = needed(args.client, where)
    out = Term()
    if args.show:
        return _show(out, wanted, as_json=args.json, model=args.model)
    done = placing.put_in(wanted.places)
    model = _switch_on(where.root, args.client) if args.model else None
    made, notices = _set_up(where) if where.in_project else ((), ())
    by_hand = _by_hand(where, wanted, done)
    if args.json:
        files = [*as_tables(done), *({"path": name, "fate": "made", "backup": ""} for name in made)]
        told = [{"message": message, "next_step": step} for message, step in notices]
        out.json(
            {"ok": True, **named(args, where), "files": files, "by_hand": by_hand, "notices": told}
            | ({"model": model} if model else {})
        )
        return 0
    name, shown = _name(args.client), home_short(where.root) if where.in_project else "all your projects"
    changed = made or any(d.fate in (placing.Fate.MADE, placing.Fate.CHANGED) for d in done)
    out.say(f"{out.mark('ok')} {name} {'is' if changed else 'was already'} guarded in {out.bold(shown)}")
    say_files(out, done, [(name, "made", "") for name in made])
    if model:
        setting = f"`{model['key']} = true` in {model['file']}"
        said = f"{name} is the model for facts and dreams in all your projects: {setting}."
        out.say(out.wrapped(f"{said} It uses your login and its quota.", first=f"{out.mark('ok')} ", rest="  "))
    for message, step in notices:
        out.say(out.wrapped(f"{message} {step}", first=f"{out.mark('warn')} ", rest="  "))
    _say_steps(out, by_hand)
    return 0


def where_of(args: Namespace) -> Where:
    """The place named by the arguments. Raises: ConfigError."""
    from holdfast.config import settings
    from holdfast_agents.setup.clients import where

    return where(settings.find_root(args.root), args.scope)


def say_files(out: Term, done: Sequence[Done], more: Sequence[tuple[str, str, str]] = ()) -> None:
    """Print each file's outcome, content and backup on one line."""
    rows = []
    for one in done:
        told = one.place.what
        if one.backup:
            told += f"; backup: {one.backup}" if told else f"backup: {one.backup}"
        if one.fate == "kept":
            told = "is not holdfast's, so it was left alone"
        rows.append((home_short(one.place.shown), one.fate.value, told))
    out.say(out.table([*rows, *more]))


def as_tables(done: Sequence[Done]) -> list[dict[str, str]]:
    """The files as JSON data."""
    return [{"path": one.place.shown, "fate": one.fate.value, "backup": one.backup} for one in done]


def named(args: Namespace, where: Where) -> dict[str, str]:
    """The client, scope and root as JSON data."""
    return {"client": args.client, "scope": where.scope, "root": where.root}


def _can_serve() -> bool:
    """Whether `holdfast mcp` can start. Clients report a server that cannot start as an error each time."""
    from importlib.util import find_spec

    return find_spec("mcp") is not None


def _set_up(where: Where) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The created files, and a sentence with its next step for each thing that needs the user's trust."""
    from holdfast.config import settings
    from holdfast_cli.settings import project

    if settings.config_file(where.root) is not None:
        return (), project.begin(where.root)
    done = project.set_up(where.root)
    return done.made, done.notices


def _by_hand(where: Where, wanted: Needed, done: Sequence[Done]) -> list[str]:
    from holdfast_agents.setup import program

    steps = list(wanted.by_hand)
    if where.program == program.PLAIN and not program.on_path():
        steps.insert(
            0,
            f"Put `{program.PLAIN[0]}` on the client's PATH: activate its environment before you start the client, or "
            "install it with pipx. Until then compaction is blocked and nothing is restored.",
        )
    steps += _left_alone(done)
    if not where.server:
        steps.append(_no_server())
    if not where.in_project:
        steps.append("Each project where you start it gets its own memory. `holdfast init` there creates its settings.")
    return [*steps, "After the first turn, run `holdfast doctor` to see whether the hooks run."]


def _left_alone(done: Sequence[Done]) -> list[str]:
    return [
        f"`{entry}` in {home_short(one.place.shown)} is not holdfast's, so it was left alone. Rename it if you want "
        "holdfast's own, then install again."
        for one in done
        for entry in one.left_alone
    ]


def _no_server() -> str:
    from holdfast_agents.setup import program

    return (
        "The MCP server was left out because it cannot start here. Its tools are optional. To get them, run "
        f"`pip install {program.requirement('mcp')}`, then install again."
    )


#: Client -> the plugin that runs it as a model.
_MODELS = {"claude-code": "claude_cli", "codex": "codex_cli", "opencode": "opencode_cli"}


def _switch_on(root: str, client: str) -> dict[str, str]:
    """Enable the client's model plugin in the user's own settings. Raises: like ``holdfast config --user``."""
    from holdfast_cli.settings import effective

    key = f"plugins.{_MODELS[client]}.enabled"
    return {"key": key, "file": home_short(effective.change(root, key, True, user=True))}


def _show(out: Term, wanted: Needed, *, as_json: bool, model: bool) -> int:
    files = [{"path": p.shown, "text": p.part.show()} for p in wanted.places]
    if model:
        from holdfast.config import settings

        file, text = settings.user_file_shown(), f"[plugins.{_MODELS[wanted.client]}]\nenabled = true\n"
        files.append({"path": file, "text": text})
    if as_json:
        out.json({"ok": True, "client": wanted.client, "files": files, "by_hand": list(wanted.by_hand)})
        return 0
    for place in wanted.places:
        out.say(f"{out.bold(home_short(place.shown))}  {out.dim(place.what)}")
        out.exact(f"\n{place.part.show().rstrip()}\n\n")
    if model:
        out.say(f"{out.bold(file)}  {out.dim('your own settings')}")
        out.exact(f"\n{text}\n")
    return 0


def _plugin_dir(args: Namespace) -> int:
    """Create the plugin for Claude Code. Raises: UsageError for another client, or for a folder with other files."""
    from holdfast_agents.setup import claude_code as claude_code_files
    from holdfast_agents.setup import placing, program

    if args.client != claude_code_files.CLIENT:
        raise UsageError("--plugin-dir is for claude-code only.", next_step="Leave it out.")
    if args.model:
        raise UsageError("--plugin-dir and --model exclude each other.", next_step="Run the command twice.")
    folder, can_serve = os.path.realpath(args.plugin_dir), _can_serve()
    places = claude_code_files.plugin(program.words(args.scope), folder, server=can_serve)
    if os.path.isdir(folder) and os.listdir(folder) and not _is_ours(os.path.join(folder, claude_code_files.MANIFEST)):
        raise UsageError(f"{args.plugin_dir} contains other files.", next_step="Name a new or an empty folder.")
    out = Term()
    if args.show:
        for place in places:
            out.say(out.bold(place.shown))
            out.exact(f"\n{place.part.show().rstrip()}\n\n")
        return 0
    done = placing.put_in(places)
    shown = shlex.quote(os.path.abspath(args.plugin_dir))
    steps = [
        f"Try it for one session: `claude --plugin-dir {shown}`.",
        f"Or install it: `claude plugin marketplace add {shown}`, then `claude plugin install holdfast@holdfast`.",
        *_left_alone(done),
        *(() if can_serve else (_no_server(),)),
    ]
    if args.json:
        named = {"client": args.client, "scope": args.scope, "root": folder}
        out.json({"ok": True, **named, "files": as_tables(done), "by_hand": steps})
        return 0
    out.say(f"{out.mark('ok')} a plugin for Claude Code is in {out.bold(home_short(folder))}")
    say_files(out, done)
    _say_steps(out, steps)
    return 0


def _is_ours(manifest: str) -> bool:
    """Whether the plugin with this manifest is holdfast's."""
    from holdfast.text import untrusted
    from holdfast_agents.setup.claude_code import PLUGIN

    try:
        with open(manifest, encoding="utf-8-sig") as file:
            found = untrusted.from_json(file.read())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("name") == PLUGIN


def _say_steps(out: Term, steps: Sequence[str]) -> None:
    out.say("\nremaining manual steps:")
    for number, text in enumerate(steps, start=1):
        out.say(out.wrapped(text, first=f"  {number}. "))


def _name(client: str) -> str:
    from holdfast_agents.setup.clients import CLIENTS

    return CLIENTS[client]
