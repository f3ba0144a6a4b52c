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
from holdfast_agents.clientfiles import at, claude_folder, codex_folder, hooks_of, is_ours, read_or_empty, table
from holdfast_agents.setup import claude_code, codex, jsontext, opencode, placing, program
from holdfast_agents.setup.clients import needed
from holdfast_agents.setup.parts import Hooks
from holdfast_agents.setup.where import Where

#: The commands that start this installation. Any other is another installation's, or was edited.
_PROGRAMS = (program.PLAIN, program.THIS)


class Problem(NamedTuple):
    """``unguarded``: compaction is not guarded, or not possible. Without a next step, the remedy is to reinstall."""

    message: str
    unguarded: bool = True
    next_step: str = ""


def is_there(client: str, where: Where) -> bool:
    """Whether holdfast is installed there, even if only in part."""
    first, second, *_ = needed(client, where).places
    if client == opencode.CLIENT:
        return opencode.PROTOCOL.encode() in read_or_empty(first.path) or b"holdfast" in read_or_empty(second.path)
    events = table(first.path).get("hooks")
    if isinstance(events, dict):
        return any(_ours({"hooks": events}, client, event) for event in events)
    return not table(first.path) and b"holdfast" in read_or_empty(first.path)  # settings that cannot be read


def since(client: str, there: Sequence[Where]) -> datetime | None:
    """The last change, in UTC, of the settings with the hooks. The hooks may be older."""
    paths = [needed(client, where).places[0].path for where in there]
    times = [os.stat(path).st_mtime for path in paths if os.path.exists(path)]
    return datetime.fromtimestamp(max(times), UTC) if times else None


def as_plugin(where: Where) -> bool:
    """Whether Claude Code has holdfast's plugin enabled there."""
    enabled = table(needed(claude_code.CLIENT, where).places[0].path).get("enabledPlugins")
    names = enabled if isinstance(enabled, dict) else {}
    return any(name.startswith(f"{claude_code.PLUGIN}@") and on is True for name, on in names.items())


def problems(client: str, where: Where) -> list[Problem]:
    """All problems of the client installed there."""
    if client == opencode.CLIENT:
        return list(_opencode_problems(where))
    if client == codex.CLIENT:
        return [*_hook_problems(client, where), *_trust_problems(where)]
    return list(_hook_problems(client, where))


def _hook_problems(client: str, where: Where) -> Iterator[Problem]:
    """Problems of Claude Code's or Codex's hooks, which have the same form."""
    place = needed(client, where).places[0]
    try:
        settings = jsontext.read(placing.read(place.path, place.shown) or "{}", place.shown)
    except HoldfastError as error:
        yield Problem(f"{error.message} The client may not read it either.", next_step=error.next_step)
        return
    parts = [cast("Hooks", needed(client, evolve(where, program=words)).places[0].part) for words in _PROGRAMS]
    for event in parts[0].groups:
        groups = [group for _, group in _ours(settings, client, event)]
        gate = event == "PreCompact"
        if not groups:
            yield Problem(f"{place.shown} lacks the hook for {event}.", unguarded=gate)
        elif not any(groups in ([part.groups[event]], [_resaved(part.groups[event])]) for part in parts):
            yield Problem(f"{place.shown} has a different hook for {event} from the one installed.", unguarded=gate)
    if client == claude_code.CLIENT:
        yield from _guard_problems(where)
    for _, group in _ours(settings, client, "UserPromptSubmit"):
        ours = [hook for hook in hooks_of(group) if isinstance(hook, dict) and is_ours(hook, client)]
        for command in (str(hook.get("command")) for hook in ours):
            first = command.split('"')[1] if command.startswith('"') else shlex.split(command)[0]
            if shutil.which(first) is None:
                yield _not_on_path("The hooks start", first, client)


def _guard_problems(where: Where) -> Iterator[Problem]:
    """Problems with the script that runs the hook at a compaction, and settings that switch all hooks off."""
    place = needed(claude_code.CLIENT, where).places[1]
    script = read_or_empty(place.path).replace(b"\r\n", b"\n").decode("utf-8", "replace")
    if not script:
        yield Problem(f"{place.shown} is missing or empty, and the hook for PreCompact needs it.")
    elif script != place.part.show():
        yield Problem(f"{place.shown} differs from this version's script.")
    names = (".claude/settings.json", ".claude/settings.local.json", os.path.join(claude_folder(), "settings.json"))
    for name in names:
        if table(os.path.join(where.root, name)).get("disableAllHooks") is True:
            yield Problem(f"`disableAllHooks` in {name} switches all hooks off.", next_step="Remove it there.")


def _resaved(group: object) -> object:
    """A group after Claude Code 2.1.197 saved the settings. It drops ``onFailure``."""
    hooks = [hook for hook in hooks_of(group) if isinstance(hook, dict)]
    return {"hooks": [{name: value for name, value in hook.items() if name != "onFailure"} for hook in hooks]}


def _ours(settings: object, client: str, event: str) -> list[tuple[str, object]]:
    """Groups with a holdfast hook, each with Codex's index ``GROUP:HOOK``."""
    groups = at(settings, ("hooks", event))
    return [
        (f"{index}:{number}", group)
        for index, group in enumerate(groups if isinstance(groups, list) else ())
        for number, hook in enumerate(hooks_of(group))
        if is_ours(hook, client)
    ]


def _not_on_path(who: str, what: str, client: str) -> Problem:
    step = f"Put it on the client's PATH, or run `holdfast install {client} --scope user`, which uses its full path."
    return Problem(f"{who} {what!r}, which cannot be found here.", next_step=step)


def _trust_problems(where: Where) -> Iterator[Problem]:
    """Problems with Codex's trust. It runs hooks only after its user accepted them, and only in a trusted folder."""
    place = needed(codex.CLIENT, where).places[0]
    config = os.path.join(codex_folder(), "config.toml")
    try:
        settings = untrusted.from_toml(read_or_empty(config).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        yield Problem(f"{config} cannot be read: {error}.", next_step="Correct it.")
        return
    step = "Open `codex` in this folder and choose `Trust all and continue`."
    used = os.path.isdir(codex_folder())  # a colleague may use Codex although this user does not
    if where.in_project and not _trusts_folder(settings, where.root):
        yield Problem("Codex does not trust this folder, so it runs none of its hooks.", used, step)
    indexes = [index for index, _ in _ours(table(place.path), codex.CLIENT, "PreCompact")]
    keys = [f"{name}:pre_compact:{index}" for name in (place.path, os.path.realpath(place.path)) for index in indexes]
    states = [at(settings, ("hooks", "state", key)) for key in keys]
    if not any(isinstance(s, dict) and s.get("trusted_hash") and s.get("enabled") is not False for s in states):
        yield Problem("Its hooks are installed but not trusted, so Codex silently skips them.", used, step)


def _trusts_folder(settings: dict[str, object], root: str) -> bool:
    """Whether Codex trusts ``root`` or a folder above it."""
    while True:
        for name in (root, os.path.realpath(root)):
            if at(settings, ("projects", name, "trust_level")) == "trusted":
                return True
        if root == os.path.dirname(root):
            return False
        root = os.path.dirname(root)


def _opencode_problems(where: Where) -> Iterator[Problem]:
    """Problems in opencode's setup, with the setting that disables compaction or the plugin that enables it."""
    settings, file, *_ = needed(opencode.CLIENT, where).places
    if at(table(settings.path), opencode.SWITCH) is not True:
        switch = ".".join(opencode.SWITCH)
        yield Problem(f"{settings.shown} does not set {switch}, so without the plugin compaction is unguarded.")
    plugin = read_or_empty(file.path).decode("utf-8", "replace")
    if not plugin:
        yield Problem(f"{file.shown} is missing, so compaction is off.")
    elif plugin not in [opencode.plugin(words, lifts=on) for words in _PROGRAMS for on in (True, False)]:
        yield Problem(f"{file.shown} differs from this version's plugin.", unguarded=False)
    elif f"PROGRAM = {json.dumps(program.PLAIN)}" in plugin and not program.on_path():
        yield _not_on_path("The plugin starts", program.PLAIN[0], opencode.CLIENT)
