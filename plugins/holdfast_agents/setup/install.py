"""``holdfast install`` adds holdfast's hooks to a client, so that it drops context only after a verified flush, and
``holdfast uninstall`` removes them. The memory stays."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Final, cast

from holdfast.fs import ownership_mark
from holdfast_agents import clientfiles
from holdfast_agents.clientfiles import own_folder
from holdfast_agents.setup import clients, placing, program
from holdfast_agents.setup.claude_code import MANIFEST, NAME, PLUGIN, plugin
from holdfast_agents.setup.client import AGREED, GUARDED, Client, Needed, Where
from holdfast_agents.setup.clients import CLIENTS, SCOPES
from holdfast_agents.setup.placing import Done
from holdfast_app.config import Config
from holdfast_app.project_settings import resolved
from holdfast_app.project_settings.files import config_file, user_file_shown
from holdfast_app.settings import project
from holdfast_cli.command import Answer, Call, Command, UsageError, argument, flag, one_of
from holdfast_cli.stdin import can_ask
from holdfast_cli.terminal import home_short
from holdfast_memory import extra

_SCOPE = argument(
    "--scope",
    choices=SCOPES,
    default="project",
    help="this project, shared through git, or all of this user's projects (default: project)",
)


@Command(
    "Guard a client",
    "add holdfast's hooks to a coding agent",
    argument("client", nargs="?", metavar="CLIENT", choices=CLIENTS, help=", ".join(CLIENTS)),
    _SCOPE,
    flag("--all", "every client that is found on this machine"),
    flag("--print", "print the files and their content; write nothing"),
    *one_of(
        argument(
            "--model",
            nargs="?",
            const="",
            metavar="NAME",
            help="use this client's login (or that of NAME) as the model in all your projects; needs no API key",
        ),
        flag("--no-model", "do not ask about a model"),
    ),
    argument("--plugin-dir", metavar="DIR", help="claude-code: create a plugin directory in DIR instead"),
    examples=(
        "holdfast install",
        "holdfast install claude-code",
        "holdfast install opencode --print",
        "holdfast install codex --scope user",
        "holdfast install claude-code --model",
        "holdfast install claude-code --plugin-dir holdfast-plugin",
    ),
    notes="Existing settings stay byte for byte, and a backup is kept next to each changed file."
    "\nInstalling again changes nothing. `holdfast doctor` shows whether the hooks run.",
)
def install(call: Call) -> Answer:
    """Put the hooks into a client's settings, or those that the user picks, and set the project up."""
    args = call.args
    if args.client is None and args.model in CLIENTS:  # `--model` came before the client's name
        args.client, args.model = args.model, ""
    if args.client is not None and args.model == "":
        args.model = args.client
    if args.model and args.model not in LOGINS:
        raise UsageError(
            f"--model takes {', '.join(LOGINS)}, not {args.model!a}.",
            next_step='For a model with a key, see docs/facts.md, "Extraction by a model".',
        )
    if args.client is not None and not args.all:
        return _install(call)
    answers = []
    for name in _picked(call):
        args.client = name
        call.out.say()
        answers.append(_install(call))
        args.no_model = args.no_model or name in LOGINS  # asked and told once
    return Answer({"clients": [answer.data for answer in answers]})


def _picked(call: Call) -> list[str]:
    """The clients on this machine, or those that the user names on a terminal. Raises: UsageError for none."""
    clients = [client for client in CLIENTS.values() if _is_here(client.name) or os.path.isdir(own_folder(client.name))]
    if call.args.client or call.args.plugin_dir is not None:
        raise UsageError("--all takes no client and no --plugin-dir.", next_step="Leave one of them out.")
    if not clients:
        raise UsageError("No client was found on this machine.", next_step=f"Name one of: {', '.join(CLIENTS)}.")
    names = [client.name for client in clients]
    if call.args.all:
        return names
    kinds = {client.label: [other.name for other in clients if other.label == client.label] for client in clients}
    listed = "; ".join(f"{', '.join(names)} ({holds})" for holds, names in kinds.items())
    if not can_ask() or call.json:
        step = f"Run `holdfast install --all`, or name one of: {', '.join(CLIENTS)}."
        raise UsageError(f"The client is missing. Found here: {listed}.", next_step=step)
    sys.stderr.write(f"Found here: {listed}.\nInstall in which? [names; Enter for all] ")
    sys.stderr.flush()
    words = sys.stdin.readline().replace(",", " ").split()
    if unknown := [word for word in words if word not in CLIENTS]:
        raise UsageError(f"{unknown[0]!a} is not a client.", next_step=f"Name one of: {', '.join(CLIENTS)}.")
    return list(dict.fromkeys(words)) or names


def _install(call: Call) -> Answer:
    args, client, as_plugin = call.args, CLIENTS[call.args.client], call.args.plugin_dir is not None
    args.model = args.client if args.model == "" and args.client in LOGINS else args.model
    where = clients.where(call.root, args.scope)._replace(server=find_spec("mcp") is not None)
    if as_plugin:
        where = where._replace(root=os.path.realpath(args.plugin_dir))
    wanted = _plugin(call, where) if as_plugin else client.needed(where)
    if args.print:
        return _printed(call, args.client, wanted, args.model)
    sets_up = where.in_project and not as_plugin
    if sets_up:
        ownership_mark.secret(make=True)  # without the user's key no hook could store anything
    done = placing.put_in(wanted.places)
    login = "" if as_plugin else _chosen(call)
    model = None
    if login:
        key = f"plugins.{LOGINS[login]}.enabled"
        model = {"key": key, "file": home_short(project.change(call.root, key, True, user=True))}
    made, notices = _set_up(where) if sets_up else ((), ())
    by_hand = [*wanted.by_hand, *([] if where.server else [_NO_SERVER])]
    by_hand += [
        f"`{entry}` in {home_short(file.place.shown)} is not holdfast's, so it was left alone. Rename it if you want "
        "holdfast's own, then install again."
        for file in done
        for entry in file.left_alone
    ]
    if not as_plugin:
        lost = where.program == program.PLAIN and not program.on_path()
        by_hand = [*([_NO_PROGRAM] if lost else []), *by_hand, *([] if where.in_project else [_OWN_MEMORY])]
        if client.holds != AGREED:
            by_hand += [_CHECK, *([_model_step(args.client)] if not login and _lacks(call) else [])]
    files = [*_rows(done), *((file, "made", "", "") for file in made)]
    out = call.out
    place = out.bold(home_short(where.root) if where.in_project else "all your projects")
    changed = made or any(d.fate in (placing.Fate.MADE, placing.Fate.CHANGED) for d in done)
    headline = f"{client.shown} {'is' if changed else 'was already'} {_state(client)} in {place}"
    out.say(f"{out.mark('ok')} {f'a plugin for {client.shown} is in {place}' if as_plugin else headline}")
    out.say(out.table([(home_short(path), fate, content) for path, fate, content, _ in files]))
    if model:
        setting = f"`{model['key']} = true` in {model['file']}"
        sentence = f"{CLIENTS[login].shown} is the model in all your projects: {setting}."
        out.note("ok", f"{sentence} It uses your login and its quota.")
    for message, step in notices:
        out.note("warn", f"{message} {step}")
    out.say("\nremaining manual steps:")
    for number, text in enumerate(by_hand, start=1):
        out.fill(text, f"  {number}. ")
    rows = [{"message": message, "next_step": step} for message, step in notices]
    table = {**_table(call, where, files), "by_hand": by_hand, "notices": rows}
    return Answer(table | ({"model": model} if model else {}))


@Command(
    "Guard a client",
    "remove holdfast's hooks from a client",
    argument("client", metavar="CLIENT", choices=CLIENTS, help=", ".join(CLIENTS)),
    _SCOPE,
    examples=("holdfast uninstall claude-code", "holdfast uninstall codex --scope user"),
    notes="A file that only holdfast changed gets its original content back, byte for byte. The memory stays.",
)
def uninstall(call: Call) -> Answer:
    where = clients.where(call.root, call.args.scope)
    client = CLIENTS[call.args.client]
    others = [other.needed(where) for other in CLIENTS.values() if other is not client and other.is_there(where)]
    shared = {place.path for needed in others for place in needed.places}
    done = placing.take_out([place for place in client.needed(where).places if place.path not in shared])
    files = _rows(done)
    out = call.out
    gone = any(d.fate in (placing.Fate.RESTORED, placing.Fate.CLEANED, placing.Fate.REMOVED) for d in done)
    place = home_short(where.root) if where.in_project else "your own settings"
    state = f"no longer {_state(client)}" if gone else f"not {_state(client)}, so nothing was changed"
    out.say(f"{out.mark('ok' if gone else 'dot')} {client.shown} is {state} in {out.bold(place)}")
    shown = [(home_short(path), fate, content) for path, fate, content, _ in files if fate != placing.Fate.ABSENT]
    out.say(out.table(shown))
    if gone:
        out.say("\n  The memory is still there. From now on this client drops context without a flush.")
    return Answer({**_table(call, where, files), "by_hand": []})


def _rows(done: Sequence[Done]) -> list[tuple[str, str, str, str]]:
    rows = []
    for file in done:
        content = "; ".join(filter(None, (file.place.what, f"backup: {file.backup}" if file.backup else "")))
        if file.fate is placing.Fate.KEPT:
            content = "is not holdfast's, so it was left alone"
        rows.append((file.place.shown, file.fate.value, content, file.backup))
    return rows


def _table(call: Call, where: Where, files: Sequence[tuple[str, str, str, str]]) -> dict[str, Any]:
    client = CLIENTS[call.args.client]
    rows = [{"path": path, "fate": fate, "backup": backup} for path, fate, _, backup in files]
    return {"client": client.name, "holds": client.label, "scope": where.scope, "root": where.root, "files": rows}


def _set_up(where: Where) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The created files, and a sentence with its next step for each thing that needs the user's trust."""
    if config_file(where.root) is not None:
        return (), project.begin(where.root)
    done = project.set_up(where.root)
    return done.made, done.notices


def _state(client: Client) -> str:
    return client.label if client.label == GUARDED else f"set up ({client.label})"


_NO_PROGRAM = (
    f"Put `{program.PLAIN[0]}` on the client's PATH: activate its environment before you start the client, or "
    "install it with pipx. Until then compaction is blocked and nothing is restored."
)
_OWN_MEMORY = "Each project where you start it gets its own memory. `holdfast init` there creates its settings."
_CHECK = "After the first turn, run `holdfast doctor` to see whether the hooks run."
#: A client reports a server that cannot start as an error each time.
_NO_SERVER = (
    "The MCP server was left out because it cannot start here. Its tools are optional. To get them, run "
    f"`{extra('mcp')}`, then install again."
)


def _printed(call: Call, client: str, wanted: Needed, model: str | None) -> Answer:
    files = [(place.shown, place.what, place.part.show()) for place in wanted.places]
    if model:
        text = f"[plugins.{LOGINS[model]}]\nenabled = true\n"
        files.append((user_file_shown(), "your own settings", text))
    out = call.out
    for shown, what, text in files:
        out.say(f"{out.bold(home_short(shown))}  {out.dim(what)}")
        out.exact(f"\n{text.rstrip()}\n\n")
    tables = [{"path": shown, "text": text} for shown, _, text in files]
    return Answer({"client": client, "files": tables, "by_hand": wanted.by_hand})


def _plugin(call: Call, where: Where) -> Needed:
    """The plugin for Claude Code. Raises: UsageError for another client, or for a folder with other files."""
    args = call.args
    if args.client != NAME:
        raise UsageError("--plugin-dir is for claude-code only.", next_step="Leave it out.")
    if args.model is not None:
        raise UsageError("--plugin-dir and --model exclude each other.", next_step="Run the command twice.")
    is_full = os.path.isdir(where.root) and os.listdir(where.root)
    if is_full and clientfiles.table(os.path.join(where.root, MANIFEST)).get("name") != PLUGIN:
        raise UsageError(f"{args.plugin_dir} contains other files.", next_step="Name a new or an empty folder.")
    shown = shlex.quote(os.path.abspath(args.plugin_dir))
    by_hand = (
        f"Try it for one session: `claude --plugin-dir {shown}`.",
        f"Or install it: `claude plugin marketplace add {shown}`, then `claude plugin install holdfast@holdfast`.",
    )
    return Needed(places=plugin(where.program, where.root, server=where.server), by_hand=by_hand)


#: Client -> the plugin that runs it with its own login.
LOGINS: Final = {"claude-code": "claude_cli", "codex": "codex_cli", "opencode": "opencode_cli", "gemini": "gemini_cli"}
_QUESTION: Final = """\
{shown} can write down the results of your sessions: facts, decisions and failed approaches. It uses its own login.
  sent: your turns and the agent's, redacted, to the provider that has them already
  calls: about one for each session and each 60,000 characters, at most {most} a day, and one or two for a dream
Use it in all your projects? [Y/n{others}] """


def _chosen(call: Call) -> str:
    """The login to switch on, by ``--model``, or as the user answers on a terminal; otherwise empty."""
    if call.args.model is not None:
        return str(call.args.model)
    client = call.args.client
    if client not in LOGINS or not _is_here(client) or not can_ask() or call.json or not _lacks(call):
        return ""
    others = [name for name in LOGINS if name != client and _is_here(name)]
    most = cast("Config", resolved.load(call.root, lenient=True)).extract.calls_a_day
    more = f", or type another: {', '.join(others)}" if others else ""
    question = _QUESTION.format(shown=CLIENTS[client].shown, most=most, others=more)
    answers = {"": client, "y": client, "yes": client, "n": "", "no": "", **{name: name for name in others}}
    while True:
        sys.stderr.write(question)
        sys.stderr.flush()
        line = sys.stdin.readline()
        answer = line.strip().casefold()
        if not line or answer in answers:
            return answers[answer] if line else ""


def _is_here(client: str) -> bool:
    return shutil.which(CLIENTS[client].program) is not None


def _lacks(call: Call) -> bool:
    """Whether no login is switched on, and the user did not decline one."""
    config = resolved.load(call.root, lenient=True)
    return not call.args.no_model and not any(config.plugin(name).enabled for name in LOGINS.values())


def _model_step(client: str) -> str:
    name = client if client in LOGINS else "claude-code"
    return (
        "No model reads your conversations, so memory keeps only statements. "
        f"`holdfast install {client} --model{'' if name == client else f' {name}'}` uses {CLIENTS[name].shown}'s own "
        "login for it."
    )
