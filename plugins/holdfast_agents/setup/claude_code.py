"""Claude Code: hooks in settings.json, the ``/memory-update`` command, the skill, a rule and the MCP server.

Source of the hooks: observed with 2.1.330 and 2.1.197. Before a compaction a small script runs holdfast with a time
limit and turns every failure into exit 2, which blocks on every version. 2.1.197 ignores ``onFailure``. The script is a
file because Claude Code shows the whole command before each block's reason. Without its own time limit SessionEnd is
killed after 1.4 s.
"""

from __future__ import annotations

import os
import shlex
from typing import Any

from attrs import evolve

from holdfast_agents.clientfiles import claude_folder
from holdfast_agents.setup import program, wording
from holdfast_agents.setup.parts import Hooks, Part, Values, Whole
from holdfast_agents.setup.placing import Place
from holdfast_agents.setup.where import Needed, Where

CLIENT = "claude-code"
#: Name shared by the plugin and its marketplace, which holds only this plugin.
PLUGIN = "holdfast"
#: The plugin's manifest, relative to its folder.
MANIFEST = ".claude-plugin/plugin.json"
#: Event -> its hook's settings. Time limits in seconds.
EVENTS: dict[str, dict[str, Any]] = {
    "PreCompact": {
        "command": "sh {guard} {program} hook claude-code PreCompact || exit 2",
        "timeout": 60,
        "onFailure": "block",
    },
    "UserPromptSubmit": {"command": "{program} hook claude-code", "timeout": 10},
    "SessionStart": {"command": "{program} hook claude-code", "timeout": 20},
    "PostToolUse": {"command": "{program} hook claude-code", "timeout": 10},
    "PostToolUseFailure": {"command": "{program} hook claude-code", "timeout": 10},
    "Stop": {"command": "{program} hook claude-code", "timeout": 10},
    "PostCompact": {"command": "{program} hook claude-code", "timeout": 20},
    "SessionEnd": {"command": "{program} hook claude-code", "timeout": 30},
    "ConfigChange": {"command": "{program} hook claude-code", "timeout": 10},
}
_FILE, _GUARD = "settings.json", ("hooks", "holdfast-guard.sh")
_TRUST = "Open `claude` in this folder once and trust the folder. Before that it runs no hooks."
_SERVER_QUESTION = (
    "Claude Code then asks about the MCP server `holdfast`, with `continue without` preselected. Choose to use it if "
    "you want its tools. The hooks do not need it."
)
_START_HERE = (
    "Start `claude` in this folder. In a subfolder, or in a git worktree without these files, Claude Code runs none of "
    "these hooks and compacts unguarded. `holdfast install claude-code --scope user` guards every folder."
)
#: Path to the commands that Claude Code runs without asking. It would stop an agent that works alone to ask.
_ALLOW = ("permissions", "allow")
_TOOLS = "Bash(holdfast flush:*), Bash(holdfast update:*), Bash(holdfast show:*)"


def needed(where: Where) -> Needed:
    """See :func:`holdfast_agents.setup.clients.needed`."""
    base = where.root if where.in_project else claude_folder()
    inside = (".claude",) if where.in_project else ()
    what = f"{len(EVENTS)} hooks, and permission to flush"
    part = evolve(
        hooks(where.program, _guard_path(where, base)),
        listed={_ALLOW: f"Bash({program.spelled(where.program)} flush:*)"},
    )
    settings = where.place(part, what, base, *inside, _FILE)
    script = guard(f"take holdfast's hooks out of {settings.shown}")
    places = [
        settings,
        where.place(Whole(body=script), "the time limit before a compaction", base, *inside, *_GUARD),
        where.place(Whole(body=command()), "/memory-update", base, *inside, "commands", "memory-update.md"),
        where.place(Whole(body=wording.skill()), "the skill", base, *inside, "skills", "holdfast", "SKILL.md"),
        where.place(Whole(body=wording.instructions()), "the protocol", base, *inside, "rules", "holdfast.md"),
    ]
    if not where.in_project:
        started = shlex.join([*where.program, "mcp"])
        by_hand = [f"For holdfast's MCP tools, run `claude mcp add holdfast --scope user -- {started}`."]
        return Needed(client=CLIENT, places=tuple(places), by_hand=tuple(by_hand))
    by_hand = [_TRUST, _START_HERE]
    if where.server:
        by_hand.insert(1, _SERVER_QUESTION)
        places.append(where.place(_server(where.program), "the MCP server", base, ".mcp.json"))
    return Needed(client=CLIENT, places=tuple(places), by_hand=tuple(by_hand))


def hooks(words: tuple[str, ...], guard_path: str) -> Hooks:
    """The hooks, which start the program ``words``. ``guard_path`` is the guard script, quoted for a shell."""

    def command_of(template: str) -> str:
        return program.command(template, words).replace("{guard}", guard_path)

    groups = {
        event: {"hooks": [{"type": "command", **hook, "command": command_of(hook["command"])}]}
        for event, hook in EVENTS.items()
    }
    return Hooks(client=CLIENT, groups=groups)


def guard(without: str) -> str:
    """The guard script. ``without`` is an imperative clause: how to work without holdfast."""
    return program.filled(wording.data("claude-guard.sh")).replace("WITHOUT", shlex.quote(without))


def command() -> str:
    """The ``/memory-update`` command."""
    return wording.memory_update(argument_hint="[what to stress]", allowed_tools=_TOOLS)


def plugin(words: tuple[str, ...], folder: str, *, server: bool) -> tuple[Place, ...]:
    """The same as a plugin directory in ``folder``. ``claude --plugin-dir DIR`` takes it for one session, and it is a
    marketplace of that one plugin. ``server`` includes the MCP server."""
    from holdfast import __version__

    manifest: dict[tuple[str, ...], object] = {
        ("name",): PLUGIN,
        ("version",): __version__ if __version__[:1].isdigit() else "0.0.0",
        ("description",): "Memory that survives compaction. Context is dropped only when it is durable.",
        ("author",): {"name": "holdfast"},
        ("license",): "MIT",
    }
    about = manifest[("description",)]
    market: dict[tuple[str, ...], object] = {
        ("name",): PLUGIN,
        ("owner",): {"name": "holdfast"},
        ("description",): about,
        ("plugins",): [{"name": PLUGIN, "source": "./", "description": about}],
    }
    script = '"${CLAUDE_PLUGIN_ROOT}"/hooks/holdfast-guard.sh'
    parts: dict[str, Part] = {
        MANIFEST: Values(members=manifest),
        ".claude-plugin/marketplace.json": Values(members=market),
        "README.md": Whole(body=wording.data("plugin-readme.md")),
        "hooks/hooks.json": hooks(words, script),
        "hooks/holdfast-guard.sh": Whole(body=guard("run `claude plugin uninstall holdfast`")),
        "commands/memory-update.md": Whole(body=command()),
        "skills/holdfast/SKILL.md": Whole(body=wording.skill()),
    }
    if server:
        parts[".mcp.json"] = _server(words)
    return tuple(
        Place(path=os.path.join(folder, *name.split("/")), shown=name, part=part, base=folder)
        for name, part in parts.items()
    )


def _guard_path(where: Where, base: str) -> str:
    """The guard script's path for a shell. Settings shared through git must not name a folder of this machine."""
    if where.in_project:
        return f'"$CLAUDE_PROJECT_DIR"/.claude/{"/".join(_GUARD)}'
    return program.spelled((os.path.join(base, *_GUARD),))


def _server(words: tuple[str, ...]) -> Values:
    first, *rest = words
    entry = ("mcpServers", "holdfast")
    return Values(members={entry: {"type": "stdio", "command": first, "args": [*rest, "mcp"]}}, server=entry)
