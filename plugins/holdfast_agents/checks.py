"""``holdfast doctor``'s checks of the clients: hooks installed, trusted and running, and known gaps.

A missing, untrusted or disabled hook is silent. So besides the settings, the checks compare the
last heartbeat with the client's own recordings.
"""

import json
import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

from holdfast.api import Check, Holdfast, HoldfastError, Outcome
from holdfast.text.humanize import ago
from holdfast_agents.clientfiles import at, hooks_of, is_ours, own_folder, read_or_empty, table
from holdfast_agents.records import heartbeat, memo
from holdfast_agents.setup import claude_code, jsontext, placing, program
from holdfast_agents.setup.client import AGREED, Client, Problem, Where, not_found
from holdfast_agents.setup.clients import CLIENTS, SCOPES, where
from holdfast_agents.setup.parts import Hooks, ours
from holdfast_app.printable import in_one_line
from holdfast_app.sessions import pastgate

#: How long a client may write after the last hook ran. One answer can take that long.
_SILENCE = timedelta(minutes=10)
_SWITCH_OFF = (
    "Run `claude plugin disable NAME` for plugins that compact, here or given with `--plugin-dir`. holdfast saves what "
    "such a compaction drops only after it."
)


def checks(memory: Holdfast) -> Iterator[Check]:
    """A few lines for each client that is set up here or whose hooks have ever run. One line when there is none."""
    root = memory.services.root
    beats = {beat.client: beat for beat in heartbeat.beats(memory.services.state)}
    none = True
    now = memory.services.now()
    scopes = [where(root, scope) for scope in SCOPES]
    for name, client in CLIENTS.items():
        # Kimi Code's hooks are the user's in both scopes.
        there = [*{client.needed(place).places[0].path: place for place in scopes if client.is_there(place)}.values()]
        plugins = [place for place in scopes if name == claude_code.NAME and _as_plugin(place)]
        if there or plugins or name in beats:
            none = False
            lines = [*_installed(client, there, plugins)]
            if client.holds != AGREED:
                lines += [*_started_here(client, there, plugins), _running(client, beats.get(name), there, root, now)]
            yield from lines
            folder = "" if client.reads_parents else "in a subfolder or "
            elsewhere = f"a start {folder}in a git worktree that lacks these files (`--scope user` covers it)"
            is_shared = all(place.in_project for place in (*there, *plugins))
            gaps = "; ".join(filter(None, (elsewhere if is_shared else "", client.around)))
            broken = any(check.outcome is Outcome.FAIL for check in lines)
            label = f"{client.label} once that is repaired" if broken else client.label
            yield Check.good(f"{label}; not covered: {gaps}" if gaps else label, name)
            if name == claude_code.NAME:
                yield from _modules(root)
    for mark in pastgate.recent(memory.services.state, now):
        yield Check.warn(mark.sentence.partition(" `holdfast doctor`")[0], _SWITCH_OFF, "past the gate")
    if none:
        yield Check.good(
            f"no client is guarded here. `holdfast install CLIENT` guards one ({', '.join(CLIENTS)})", "agents"
        )


def _installed(client: Client, there: Sequence[Where], plugins: Sequence[Where]) -> Iterator[Check]:
    name = client.name
    for place in there:
        problems, shown = list(_problems(client, place)), client.needed(place).places[0].shown
        again = f"Run `holdfast install {name}{'' if place.in_project else ' --scope user'}` again."
        for problem in problems:
            bad = Check.fail if problem.unguarded else Check.warn
            yield bad(problem.message, problem.next_step or again, name)
        if not problems:
            whose = "this project's" if place.in_project else "the user's own"
            trusted = " and trusted" if name == "codex" else ""
            yield Check.good(f"installed{trusted} in {whose} settings ({shown})", name)
    for place in plugins:
        yield Check.good(f"installed as a plugin ({client.needed(place).places[0].shown})", name)
    if not there and not plugins:
        message = "Its hooks have run, but neither this project's settings nor the user's contain them."
        yield Check.warn(message, f"Run `holdfast install {name}`, unless they were for one session only.", name)
    # Claude Code drops duplicate commands, so it runs each hook once.
    once = name == claude_code.NAME and not plugins and len({place.program for place in there}) == 1
    if len(there) + len(plugins) > 1 and not once:
        message = "It is guarded more than once (project, user or plugin), so each hook runs more than once."
        yield Check.warn(message, f"Run `holdfast uninstall {name} --scope user` or `--scope project`.", name)


def _started_here(client: Client, there: Sequence[Where], plugins: Sequence[Where]) -> Iterator[Check]:
    """Whether a client started in the working directory reads this project's settings.

    Claude Code reads only the settings in the folder where it is started. The others also search the parent folders. A
    git worktree has the settings only when they are committed.
    """
    guarding = [*there, *plugins]
    if not guarding or not all(place.in_project for place in guarding):
        return
    here = os.getcwd()
    above = Path(here).parents if client.reads_parents else []
    places = [guarding[0]._replace(root=str(folder)) for folder in (here, *above)]
    if any(client.is_there(place) or (plugins and _as_plugin(place)) for place in places):
        return
    root = guarding[0].root
    yield Check.fail(
        f"{client.shown} started in this folder ({here}) runs none of this project's hooks, so it compacts unguarded: "
        f"its settings are in {root}.",
        f"Run `holdfast install {client.name} --scope user` to guard every folder, or start it in {root}.",
        client.name,
    )


def _running(client: Client, beat: heartbeat.Beat | None, there: Sequence[Where], root: str, now: datetime) -> Check:
    """Whether the hooks run. Turns that the client recorded after the last heartbeat, or after the last change of the
    settings with the hooks, which may be older, were unguarded."""
    written = memo.last(client.name, root)
    installed = max((memo.changed(client.needed(place).places[0].path) for place in there), default=0.0)
    start = beat.at if beat else datetime.fromtimestamp(installed, UTC)
    if written is not None and start.timestamp() and written - start > _SILENCE:
        last = f"its hooks last ran {ago(beat.at, now)}" if beat else "its hooks have not run yet"
        message = f"{client.shown} was used {ago(written, now)}, but {last}."
        return Check.fail(message, "It ran without hooks. Check the cases listed below, then restart it.", client.name)
    if beat is None:
        return Check.warn(f"No {client.shown} hook has run yet.", "Start it, send a message, check again.", client.name)
    return Check.good(f"its hooks run: {beat.event}, {ago(beat.at, now)}", client.name)


def _as_plugin(where: Where) -> bool:
    """Whether Claude Code has holdfast's plugin enabled there."""
    names = _object(table(claude_code.CLIENT.needed(where).places[0].path).get("enabledPlugins"))
    return any(name.startswith(f"{claude_code.PLUGIN}@") and on is True for name, on in names.items())


def _problems(client: Client, where: Where) -> Iterator[Problem]:
    place = client.needed(where).places[0]
    if isinstance(place.part, Hooks):
        try:
            settings = jsontext.read(placing.read(place.path, place.shown) or "{}", place.shown)
        except HoldfastError as error:
            yield Problem(f"{error.message} The client may not read it either.", next_step=error.next_step)
            return
        yield from _hook_problems(client, where, settings, place.shown)
    yield from client.problems(where)


def _hook_problems(client: Client, where: Where, settings: object, shown: str) -> Iterator[Problem]:
    places = [client.needed(where._replace(program=words)).places[0] for words in program.KNOWN]
    parts = [cast("Hooks", place.part) for place in places]
    for path, value in parts[0].members.items():
        if path != parts[0].server and at(settings, path) != value:
            yield Problem(f"{shown} does not set {'.'.join(path)} to {json.dumps(value)}.")
    for event in parts[0].groups:
        groups = [group for _, group in ours(settings, client.name, event)]
        gate = event in ("PreCompact", "PreCompress")
        if not groups:
            yield Problem(f"{shown} lacks the hook for {event}.", unguarded=gate)
        elif not any(groups in ([part.groups[event]], [_resaved(part.groups[event])]) for part in parts):
            yield Problem(f"{shown} has a different hook for {event} from the one installed.", unguarded=gate)
    for _, group in ours(settings, client.name, [*parts[0].groups][1]):
        own = [hook for hook in hooks_of(group) if isinstance(hook, dict) and is_ours(hook, client.name)]
        for command in (str(hook.get("command")) for hook in own):
            first = command.split('"')[1] if command.startswith('"') else shlex.split(command)[0]
            if shutil.which(first) is None:
                yield not_found("The hooks start", first, client.name)


def _resaved(group: object) -> object:
    """A group after Claude Code 2.1.197 saved the settings. It drops ``onFailure``."""
    hooks = [hook for hook in hooks_of(group) if isinstance(hook, dict)]
    return {"hooks": [{name: value for name, value in hook.items() if name != "onFailure"} for hook in hooks]}


EVENT: Final = b"session.compact"
_CODE: Final = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
_LEFT_OUT: Final = frozenset({"node_modules", ".git"})
#: Limits for the folders below each start, and for a plugin's files.
_FOLDERS, _FILES = 4_000, 200


def _modules(root: str) -> Iterator[Check]:
    """Each plugin with code that can compact without asking PreCompact, by name, unless it is switched off."""
    home, project = own_folder("claude-code"), os.path.join(root, ".claude")
    names = ("settings.json", "settings.local.json")
    settings = [table(os.path.join(place, name)) for place in (home, project) for name in names]
    # The project's override the user's, and local ones override both.
    switches = {key: on for config in settings for key, on in _object(config.get("enabledPlugins")).items()}
    named = {key.partition("@")[0] for key in switches}
    on_by_name = {key.partition("@")[0] for key, on in switches.items() if on is True}
    scripts: tuple[tuple[str, ...], ...] = ((), (claude_code.SCRIPT,))
    own = [claude_code.module(words, *script).body.encode() for words in program.KNOWN for script in scripts]
    by_name: dict[str, str] = {}
    for start in dict.fromkeys(map(os.path.realpath, _starts(home, project, settings))):
        for path, _ in islice(_walk(start), _FOLDERS):
            if _hooks_compaction(path, own):
                manifest = table(os.path.join(path, ".claude-plugin", "plugin.json"))
                by_name.setdefault(str(manifest.get("name") or os.path.basename(path)), path)
    for name, path in sorted(by_name.items()):
        finding = f"The plugin {in_one_line(name)} ({in_one_line(path)}) has a module that hooks `session.compact`"
        if name in named - on_by_name:
            yield Check.good(f"{finding}, but it is switched off", "claude-code")
        else:
            so = "" if name in named else ", if it is enabled"
            yield Check.warn(f"{finding}. It can compact without asking holdfast{so}.", _SWITCH_OFF, "claude-code")


def _starts(home: str, project: str, settings: list[dict[str, Any]]) -> list[str]:
    """Folders that may hold plugins, the installed ones first."""
    known = [table(os.path.join(home, "plugins", "known_marketplaces.json"))]
    known += [_object(config.get("extraKnownMarketplaces")) for config in settings]
    named = [at(e, path) for row in known for e in row.values() for path in (("installLocation",), ("source", "path"))]
    places = [os.path.join(place, name) for place in (home, project) for name in ("plugins", "skills")]
    return [*places, *(path for path in named if isinstance(path, str) and os.path.isabs(path) and "\0" not in path)]


def _walk(start: str) -> Iterator[tuple[str, list[str]]]:
    """The folders at or below ``start`` with their files. Links are not followed."""
    for path, folders, names in os.walk(start):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        yield path, sorted(names)


def _hooks_compaction(path: str, own: list[bytes]) -> bool:
    """Whether the folder is a plugin with modules whose code names the event."""
    if not table(os.path.join(path, "hooks", "hooks.json")).get("modules"):
        return False
    files = (os.path.join(folder, name) for folder, names in _walk(path) for name in names if name.endswith(_CODE))
    return any(EVENT in text and text not in own for text in map(read_or_empty, islice(files, _FILES)))


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
