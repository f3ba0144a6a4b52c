"""opencode and its fork Kilo have a plugin, settings that disable compaction without it, ``/memory-update`` and the MCP
server.

Source: observed with opencode 1.18.33 and Kilo 7.7.9. A plugin that fails to load is silently skipped, so the settings
disable the compaction agent and the plugin's ``config`` hook enables it again. Kilo loads plugins from ``.kilo`` alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from typing import Final

from holdfast_agents.clientfiles import at, folder, read_or_empty, table
from holdfast_agents.setup import program
from holdfast_agents.setup.client import Client, Needed, Problem, Where, not_found, worktrees
from holdfast_agents.setup.parts import Values, Whole

#: Client -> its name for people.
NAMES: Final = {"opencode": "opencode", "kilo": "Kilo"}
#: Path to the setting that disables compaction.
SWITCH: Final = ("agent", "compaction", "disable")
_LIFTS, _LEAVES = "const LIFTS = true", "const LIFTS = false"
_SERVER = ("mcp", "holdfast")
_WISHED = (
    "Your settings disabled compaction before holdfast was installed (`agent.compaction.disable`), so it stays "
    "off. To enable it with the guard, remove that entry and install again."
)


def _needed(name: str, where: Where) -> Needed:
    base = where.root if where.in_project else _folder(name)
    inside = (f".{name}",) if where.in_project else ()
    files = (os.path.join(base, f"{name}{suffix}") for suffix in (".json", ".jsonc"))
    file = next(filter(os.path.exists, files), os.path.join(base, f"{name}.json"))
    wished = _off_by_wish(file, os.path.join(base, *inside, "plugins", "holdfast.js"))
    server = {"type": "local", "command": [*where.program, "mcp"], "enabled": True}
    settings = Values(
        members={**({} if wished else {SWITCH: True}), **({_SERVER: server} if where.server else {})},
        server=_SERVER,
        listed={
            ("instructions",): f".{name}/{program.PROTOCOL}"
            if where.in_project
            else os.path.join(base, program.PROTOCOL)
        },
    )
    update, body = Whole(body=program.memory_update()), plugin(where.program, name, lifts=not wished)
    places = (
        where.place(settings, "compaction off without the plugin", base, os.path.basename(file)),
        where.place(Whole(body=body), "the plugin", base, *inside, "plugins", "holdfast.js"),
        where.place(update, "/memory-update", base, *inside, "commands", "memory-update.md"),
        where.place(Whole(body=program.skill()), "the skill", base, *inside, "skills", "holdfast", "SKILL.md"),
        where.place(Whole(body=program.instructions()), "the protocol", base, *inside, program.PROTOCOL),
    )
    restart = f"Restart {NAMES[name]} where it is running, because it loads plugins at its start."
    steps = (_WISHED if wished else "", restart, worktrees(name) if where.in_project else "")
    return Needed(client=name, places=places, by_hand=tuple(filter(None, steps)))


def _folder(name: str) -> str:
    return os.path.join(folder("XDG_CONFIG_HOME", ".config"), name)


def plugin(words: tuple[str, ...], client: str = "opencode", *, lifts: bool = True) -> str:
    """The plugin, which starts the program ``words``. With ``lifts`` it enables the compaction that holdfast's settings
    disable."""
    text = program.filled(program.data("process.js") + program.data("pi.js" if client == "pi" else "holdfast.js"))
    text = text.replace('["holdfast-memory"]', json.dumps(list(words))).replace('"opencode"', f'"{client}"', 1)
    return text if lifts else text.replace(_LIFTS, _LEAVES)


def _off_by_wish(settings: str, script: str) -> bool:
    """Whether the user disabled compaction in the file ``settings`` before holdfast was installed, so that it stays
    off. ``script`` is the plugin's path. Its text records the answer."""
    if at(table(settings), SWITCH) is not True:
        return False
    if os.path.exists(script):
        return _LEAVES.encode() in read_or_empty(script)
    return program.PROTOCOL.encode() not in read_or_empty(settings)


def _problems(name: str, where: Where) -> Iterator[Problem]:
    """Problems with the setting that disables compaction, and the plugin that enables it."""
    settings, file, *_ = _needed(name, where).places
    if at(table(settings.path), SWITCH) is not True:
        switch = ".".join(SWITCH)
        yield Problem(f"{settings.shown} does not set {switch}, so without the plugin compaction is unguarded.")
    text = read_or_empty(file.path).decode("utf-8", "replace")
    if not text:
        yield Problem(f"{file.shown} is missing, so compaction is off.")
    elif text not in [plugin(words, name, lifts=on) for words in program.KNOWN for on in (True, False)]:
        yield Problem(f"{file.shown} differs from this version's plugin.", unguarded=False)
    elif f"PROGRAM = {json.dumps(program.PLAIN)}" in text and not program.on_path():
        yield not_found("The plugin starts", program.PLAIN[0], name)


OPENCODE, KILO = (
    Client(
        name=name,
        shown=shown,
        program=name,
        folder=partial(_folder, name),
        seen=seen,
        elsewhere="a start in a git worktree that lacks these settings (`--scope user` guards it); ",
        around="where the plugin does not load (`--pure`, an error in it) nothing is ever compacted",
        needed=partial(_needed, name),
        problems=partial(_problems, name),
    )
    for (name, shown), seen in zip(NAMES.items(), ("1.18.33", "7.7.9"), strict=True)
)
