"""Setup for opencode. A plugin, settings that disable compaction without it, ``/memory-update`` and the MCP server.

Source: observed with 1.18.33. A plugin that fails to load is silently skipped, so opencode.json disables the compaction
agent and the plugin's ``config`` hook enables it again.
"""

from __future__ import annotations

import json
import os

from holdfast_agents.clientfiles import at, folder, read_or_empty, table
from holdfast_agents.setup import program, wording
from holdfast_agents.setup.parts import Values, Whole
from holdfast_agents.setup.where import Needed, Where, worktrees

CLIENT = "opencode"
#: Path to the setting that disables compaction.
SWITCH = ("agent", "compaction", "disable")
SCHEMA = "https://opencode.ai/config.json"
_PROGRAM = 'const PROGRAM = ["holdfast-memory"]'
_LIFTS, _LEAVES = "const LIFTS = true", "const LIFTS = false"
_SERVER = ("mcp", "holdfast")
_RESTART = "Restart opencode where it is running, because it loads plugins at its start."
#: In every settings file that holdfast has changed. Other entries, such as an MCP server, may be the user's own.
PROTOCOL = "holdfast-protocol.md"
_WISHED = (
    "Your settings disabled compaction before holdfast was installed (`agent.compaction.disable`), so it stays "
    "off. To enable it with the guard, remove that entry and install again."
)


def needed(where: Where) -> Needed:
    """See :func:`holdfast_agents.setup.clients.needed`."""
    base = where.root if where.in_project else config_folder()
    inside = (".opencode",) if where.in_project else ()
    script = os.path.join(base, *inside, "plugins", "holdfast.js")
    wished = off_by_wish(settings_file(base), script)
    server = {"type": "local", "command": [*where.program, "mcp"], "enabled": True}
    settings = Values(
        members={**({} if wished else {SWITCH: True}), **({_SERVER: server} if where.server else {})},
        server=_SERVER,
        listed={("instructions",): f".opencode/{PROTOCOL}" if where.in_project else os.path.join(base, PROTOCOL)},
        schema=SCHEMA,
    )
    update, body = Whole(body=wording.memory_update()), plugin(where.program, lifts=not wished)
    places = (
        where.place(settings, "compaction off without the plugin", base, os.path.basename(settings_file(base))),
        where.place(Whole(body=body), "the plugin", base, *inside, "plugins", "holdfast.js"),
        where.place(update, "/memory-update", base, *inside, "commands", "memory-update.md"),
        where.place(Whole(body=wording.skill()), "the skill", base, *inside, "skills", "holdfast", "SKILL.md"),
        where.place(Whole(body=wording.instructions()), "the protocol", base, *inside, PROTOCOL),
    )
    steps = (_WISHED if wished else "", _RESTART, worktrees(CLIENT) if where.in_project else "")
    return Needed(client=CLIENT, places=places, by_hand=tuple(filter(None, steps)))


def settings_file(base: str) -> str:
    """opencode's existing settings file, otherwise ``opencode.json``."""
    names = (os.path.join(base, name) for name in ("opencode.json", "opencode.jsonc"))
    return next(filter(os.path.exists, names), os.path.join(base, "opencode.json"))


def config_folder() -> str:
    """The user's own settings folder."""
    return os.path.join(folder("XDG_CONFIG_HOME", ".config"), "opencode")


def plugin(words: tuple[str, ...], *, lifts: bool = True) -> str:
    """The plugin, which starts the program ``words``. With ``lifts`` it enables the compaction that holdfast's settings
    disable."""
    text = wording.data("holdfast.js").replace(_PROGRAM, f"const PROGRAM = {json.dumps(list(words))}")
    text = program.filled(text)
    return text if lifts else text.replace(_LIFTS, _LEAVES)


def off_by_wish(settings: str, script: str) -> bool:
    """Whether the user disabled compaction in the file ``settings`` before holdfast was installed, so that it stays
    off. ``script`` is the plugin's path. Its text records the answer."""
    if at(table(settings), SWITCH) is not True:
        return False
    if os.path.exists(script):
        return _LEAVES.encode() in read_or_empty(script)
    return PROTOCOL.encode() not in read_or_empty(settings)
