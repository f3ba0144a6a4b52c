"""Setup for opencode. A plugin, settings that disable compaction without it, ``/memory-update`` and the MCP server.

Source: observed with 1.18.33. A plugin that fails to load is silently skipped, so opencode.json disables the compaction
agent and the plugin's ``config`` hook enables it again.
"""

from __future__ import annotations

import json
import os

from holdfast_agents import settingsfile
from holdfast_agents.folders import folder
from holdfast_agents.setup import clients, jsontext, program, texts
from holdfast_agents.setup.clients import Needed, Where
from holdfast_agents.setup.parts import Part, Values, Whole, at, is_server
from holdfast_agents.setup.placing import Place

CLIENT = "opencode"
#: Path to the setting that disables compaction.
SWITCH = ("agent", "compaction", "disable")
SCHEMA = "https://opencode.ai/config.json"
_PROGRAM = 'const PROGRAM = ["holdfast-memory"]'
_LIFTS, _LEAVES = "const LIFTS = true", "const LIFTS = false"
_SERVER, _READ = ("mcp", "holdfast"), ("instructions",)
#: In every settings file that holdfast has changed. Other entries, such as an MCP server, may be the user's own.
PROTOCOL = "holdfast-protocol.md"
_WISHED = (
    "Your settings disabled compaction before holdfast was installed (`agent.compaction.disable`), so it stays "
    "off. To enable it with the guard, remove that entry and install again."
)


def needed(where: Where) -> Needed:
    """See :func:`holdfast_agents.setup.clients.needed`."""
    base = where.root if where.in_project else config_folder()
    inside = os.path.join(base, ".opencode") if where.in_project else base

    def place(part: Part, what: str, path: str) -> Place:
        shown = os.path.relpath(path, base) if where.in_project else path
        return Place(path=path, shown=shown, part=part, base=base, what=what, contained=where.in_project)

    protocol = os.path.join(inside, PROTOCOL)
    read = f".opencode/{PROTOCOL}" if where.in_project else protocol
    server = {"type": "local", "command": [*where.program, "mcp"], "enabled": True}
    script = os.path.join(inside, "plugins", "holdfast.js")
    wished = off_by_wish(settings_file(base), script)
    settings = Values(
        members={**({} if wished else {SWITCH: True}), **({_SERVER: server} if where.server else {})},
        own={_SERVER: is_server},
        listed={_READ: (read,)},
        retired={_READ: (where.handoff,) if where.in_project and where.handoff else ()},
        schema=SCHEMA,
    )
    return Needed(
        client=CLIENT,
        places=(
            place(settings, "compaction off without the plugin", settings_file(base)),
            place(Whole(body=plugin(where.program, lifts=not wished)), "the plugin", script),
            place(
                Whole(body=texts.memory_update()),
                "/memory-update",
                os.path.join(inside, "commands", "memory-update.md"),
            ),
            place(Whole(body=texts.skill()), "the skill", os.path.join(inside, "skills", "holdfast", "SKILL.md")),
            place(Whole(body=texts.instructions()), "the protocol", protocol),
        ),
        by_hand=(
            *((_WISHED,) if wished else ()),
            "Restart opencode where it is running, because it loads plugins at its start.",
            *((clients.worktrees(CLIENT),) if where.in_project else ()),
        ),
    )


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
    text = texts.data("holdfast.js").replace(_PROGRAM, f"const PROGRAM = {json.dumps(list(words))}")
    text = program.filled(text)
    return text if lifts else text.replace(_LIFTS, _LEAVES)


def off_by_wish(settings: str, script: str) -> bool:
    """Whether the user disabled compaction in the file ``settings`` before holdfast was installed, so that it stays
    off. ``script`` is the plugin's path. Its text records the answer."""
    try:
        text = _read(settings)
        if at(jsontext.read(text, settings), SWITCH) is not True:
            return False
        return _LEAVES in _read(script) if os.path.exists(script) else PROTOCOL not in text
    except (OSError, ValueError):
        return False


def _read(path: str) -> str:
    return settingsfile.read(path).decode("utf-8-sig")
