"""opencode: a plugin, the settings that leave compaction off without it, ``/memory-update`` and the MCP server.

Source: what 1.18.33 was seen to do. A plugin that fails to load is skipped in silence, so opencode.json switches the
agent for compaction off and the plugin's ``config`` hook switches it on again.
"""

from __future__ import annotations

import json
import os

from holdfast_agents import clients, texts
from holdfast_agents.clients import Needed, Where, folder
from holdfast_agents.parts import Part, Values, Whole
from holdfast_agents.placing import Place

CLIENT = "opencode"
#: The switch that fails closed, in opencode's settings.
SWITCH = ("agent", "compaction", "disable")
SCHEMA = "https://opencode.ai/config.json"
_PROGRAM = 'const PROGRAM = ["holdfast"]'


def needed(where: Where) -> Needed:
    """See :func:`holdfast_agents.clients.needed`."""
    base = where.root if where.in_project else config_folder()
    inside = os.path.join(base, ".opencode") if where.in_project else base

    def place(part: Part, what: str, path: str) -> Place:
        shown = os.path.relpath(path, base) if where.in_project else path
        return Place(path=path, shown=shown, part=part, base=base, what=what, contained=where.in_project)

    protocol = os.path.join(inside, "holdfast-protocol.md")
    read = [".opencode/holdfast-protocol.md"] if where.in_project else [protocol]
    if where.in_project and where.handoff:
        read.append(where.handoff)
    server = {"type": "local", "command": [*where.program, "mcp"], "enabled": True}
    settings = Values(
        members={SWITCH: True, **({("mcp", "holdfast"): server} if where.server else {})},
        listed={("instructions",): tuple(read)},
        schema=SCHEMA,
    )
    return Needed(
        client=CLIENT,
        places=(
            place(settings, "compaction off without the plugin", settings_file(base)),
            place(Whole(body=plugin(where.program)), "the plugin", os.path.join(inside, "plugins", "holdfast.js")),
            place(
                Whole(body=texts.memory_update()),
                "/memory-update",
                os.path.join(inside, "commands", "memory-update.md"),
            ),
            place(Whole(body=texts.skill()), "the skill", os.path.join(inside, "skills", "holdfast", "SKILL.md")),
            place(Whole(body=texts.instructions()), "the protocol", protocol),
        ),
        by_hand=(
            "Start opencode anew where it is running: plugins are read at its start.",
            *((clients.worktrees(CLIENT),) if where.in_project else ()),
        ),
    )


def settings_file(base: str) -> str:
    """opencode's settings: the file that is there, else ``opencode.json``."""
    names = (os.path.join(base, name) for name in ("opencode.json", "opencode.jsonc"))
    return next(filter(os.path.exists, names), os.path.join(base, "opencode.json"))


def config_folder() -> str:
    """The user's own settings."""
    return os.path.join(folder("XDG_CONFIG_HOME", ".config"), "opencode")


def plugin(program: tuple[str, ...]) -> str:
    """The plugin, starting holdfast by ``program``."""
    return texts.data("holdfast.js").replace(_PROGRAM, f"const PROGRAM = {json.dumps(list(program))}")
