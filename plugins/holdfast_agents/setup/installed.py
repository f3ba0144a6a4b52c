"""holdfast's entries in a client's settings, and problems with them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, cast

from attrs import evolve

from holdfast.errors import HoldfastError
from holdfast.text import untrusted
from holdfast_agents import settingsfile
from holdfast_agents.folders import codex_home, folder
from holdfast_agents.setup import claude_code as claude_code_files
from holdfast_agents.setup import codex as codex_files
from holdfast_agents.setup import jsontext, placing, program
from holdfast_agents.setup import opencode as opencode_files
from holdfast_agents.setup.clients import Where, needed
from holdfast_agents.setup.parts import Hooks, at, hooks_of, is_ours

#: The commands that start this installation. Any other is another installation's, or was edited.
_PROGRAMS = (program.PLAIN, program.THIS)
_CLAUDE_SETTINGS = ("settings.json", "settings.local.json")


class Problem(NamedTuple):
    """``unguarded``: compaction is not guarded, or not possible. Without a next step, the remedy is to reinstall."""

    message: str
    unguarded: bool = True
    next_step: str = ""


def is_there(client: str, where: Where) -> bool:
    """Whether holdfast is installed there, even if only in part."""
    first, second, *_ = needed(client, where).places
    if client == opencode_files.CLIENT:
        return opencode_files.PROTOCOL.encode() in _bytes(first.path) or b"holdfast" in _bytes(second.path)
    events = at(_json(first.path), ("hooks",))
    if isinstance(events, dict):
        return any(True for event in events for _ in _ours({"hooks": events}, client, event))
    return not _json(first.path) and b"holdfast" in _bytes(first.path)  # settings that cannot be read


def since(client: str, there: Sequence[Where]) -> datetime | None:
    """The last change, in UTC, of the settings with the hooks. The hooks may be older."""
    paths = [needed(client, where).places[0].path for where in there]
    times = [os.stat(path).st_mtime for path in paths if os.path.exists(path)]
    return datetime.fromtimestamp(max(times), UTC) if times else None


def as_plugin(where: Where) -> bool:
    """Whether Claude Code has holdfast's plugin enabled there."""
    path = needed(claude_code_files.CLIENT, where).places[0].path
    enabled = at(_json(path), ("enabledPlugins",))
    names = enabled if isinstance(enabled, dict) else {}
    return any(name.startswith(f"{claude_code_files.PLUGIN}@") and on is True for name, on in names.items())


def guard_file(client: str, where: Where) -> str:
    """The displayed name of the file that guards compaction."""
    return needed(client, where).places[0].shown


def hook_problems(client: str, where: Where) -> Iterator[Problem]:
    """Problems of Claude Code's or Codex's hooks, which have the same form."""
    place = needed(client, where).places[0]
    try:
        settings = jsontext.read(placing.read(place.path, place.shown) or "{}", place.shown)
    except HoldfastError as error:
        yield Problem(f"{error.message} The client may not read it either.", next_step=error.next_step)
        return
    wanted = [_groups(client, evolve(where, program=words)) for words in _PROGRAMS]
    for event in wanted[0]:
        found = [group for _, group in _ours(settings, client, event)]
        gate = event == "PreCompact"
        if not found:
            yield Problem(f"{place.shown} lacks the hook for {event}.", unguarded=gate)
        elif not any(found in ([groups[event]], [_resaved(groups[event])]) for groups in wanted):
            yield Problem(f"{place.shown} has a different hook for {event} from the one installed.", unguarded=gate)
    if client == claude_code_files.CLIENT:
        yield from _guard_problems(where)
        yield from _switched_off(where)
    yield from _program_problems(settings, client)


def _guard_problems(where: Where) -> Iterator[Problem]:
    """Problems with the script that runs the hook at a compaction. Its content decides which of them are blocked."""
    place = needed(claude_code_files.CLIENT, where).places[1]
    script = _bytes(place.path).replace(b"\r\n", b"\n").decode("utf-8", "replace")
    if not script:
        yield Problem(f"{place.shown} is missing or empty, and the hook for PreCompact needs it.")
    elif script != place.part.show():
        yield Problem(f"{place.shown} differs from this version's script.")


def _groups(client: str, where: Where) -> dict[str, object]:
    return dict(cast("Hooks", needed(client, where).places[0].part).groups)


def _resaved(group: object) -> object:
    """A group after Claude Code 2.1.197 saved the settings. It drops ``onFailure``, which matters only where the guard
    script has no program for its time limit."""
    hooks = [dict(hook) for hook in hooks_of(group) if isinstance(hook, dict)]
    if shutil.which("timeout") or shutil.which("perl"):
        for hook in hooks:
            hook.pop("onFailure", None)
    return {"hooks": hooks}


def _ours(settings: object, client: str, event: str) -> Iterator[tuple[str, object]]:
    """Groups with a holdfast hook, each with Codex's index ``GROUP:HOOK``."""
    groups = at(settings, ("hooks", event))
    for index, group in enumerate(groups if isinstance(groups, list) else ()):
        for n, hook in enumerate(hooks_of(group)):
            if is_ours(hook, client):
                yield f"{index}:{n}", group


def _switched_off(where: Where) -> Iterator[Problem]:
    own = folder("CLAUDE_CONFIG_DIR", ".claude")
    paths = [os.path.join(where.root, ".claude", name) for name in _CLAUDE_SETTINGS] + [
        os.path.join(own, "settings.json")
    ]
    for path in paths:
        if _json(path).get("disableAllHooks") is True:
            shown = path if path.startswith(own) else os.path.relpath(path, where.root)
            yield Problem(f"`disableAllHooks` in {shown} switches all hooks off.", next_step="Remove it there.")


def _program_problems(settings: object, client: str) -> Iterator[Problem]:
    """Problems with the program that the hook starts."""
    for _, group in _ours(settings, client, "UserPromptSubmit"):
        commands = [hook["command"] for hook in hooks_of(group) if is_ours(hook, client) and isinstance(hook, dict)]
        for command in commands:
            first = command.split('"')[1] if command.startswith('"') else shlex.split(command)[0]
            if shutil.which(first) is None:
                yield _not_on_path("The hooks start", first, client)


def _not_on_path(who: str, what: str, client: str) -> Problem:
    step = f"Put it on the client's PATH, or run `holdfast install {client} --scope user`, which uses its full path."
    return Problem(f"{who} {what!r}, which cannot be found here.", next_step=step)


def trust_problems(where: Where) -> Iterator[Problem]:
    """Problems with Codex's trust. It runs hooks only after its user accepted them, and only in a trusted folder."""
    place = needed(codex_files.CLIENT, where).places[0]
    config = os.path.join(codex_home(), "config.toml")
    try:
        settings = untrusted.from_toml(_bytes(config).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        yield Problem(f"{config} cannot be read: {error}.", next_step="Correct it.")
        return
    step = "Open `codex` in this folder and choose `Trust all and continue`."
    used = os.path.isdir(codex_home())  # a colleague may use Codex although this user does not
    if where.in_project and not _trusted_folder(settings, where.root):
        yield Problem("Codex does not trust this folder, so it runs none of its hooks.", used, step)
    hooks, names = _json(place.path), {place.path, os.path.realpath(place.path)}
    keys = [
        f"{name}:pre_compact:{index}" for name in names for index, _ in _ours(hooks, codex_files.CLIENT, "PreCompact")
    ]
    known = [at(settings, ("hooks", "state", key)) for key in keys]
    if not any(isinstance(k, dict) and k.get("trusted_hash") and k.get("enabled") is not False for k in known):
        yield Problem("Its hooks are installed but not trusted, so Codex silently skips them.", used, step)


def _trusted_folder(settings: dict[str, object], root: str) -> bool:
    projects = settings.get("projects")
    while isinstance(projects, dict):
        for name in (root, os.path.realpath(root)):
            entry = projects.get(name)
            if isinstance(entry, dict) and entry.get("trust_level") == "trusted":
                return True
        if root == os.path.dirname(root):
            return False
        root = os.path.dirname(root)
    return False


def opencode_problems(where: Where) -> Iterator[Problem]:
    """Problems in opencode's setup, with the setting that disables compaction or the plugin that enables it."""
    settings, file, *_ = needed(opencode_files.CLIENT, where).places
    if at(_json(settings.path), opencode_files.SWITCH) is not True:
        switch = ".".join(opencode_files.SWITCH)
        yield Problem(f"{settings.shown} does not set {switch}, so without the plugin compaction is unguarded.")
    plugin = _bytes(file.path).decode("utf-8", "replace")
    if not plugin:
        yield Problem(f"{file.shown} is missing, so compaction is off.")
    elif plugin not in [opencode_files.plugin(words, lifts=on) for words in _PROGRAMS for on in (True, False)]:
        yield Problem(f"{file.shown} differs from this version's plugin.", unguarded=False)
    elif f"PROGRAM = {json.dumps(program.PLAIN)}" in plugin and not program.on_path():
        yield _not_on_path("The plugin starts", program.PLAIN[0], opencode_files.CLIENT)


def _json(path: str) -> dict[str, object]:
    """The JSON object in a file. Empty for anything else."""
    try:
        value = untrusted.from_json(_bytes(path).decode("utf-8-sig"))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _bytes(path: str) -> bytes:
    try:
        return settingsfile.read(path)
    except OSError:
        return b""
