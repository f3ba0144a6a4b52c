"""Claude Code: hooks in settings.json, a plugin with a module, and instructions for the agent.

Source: observed with 2.1.332, 2.1.330 and 2.1.197. Before a compaction a small script runs holdfast with a time limit
and turns every failure into exit 2, which blocks on every version. 2.1.197 ignores ``onFailure`` and modules. It is a
file because Claude Code shows the whole command before each block's reason. Without its own time limit SessionEnd is
killed after 1.4 s. A module of another plugin may answer ``session.compact``, and then PreCompact is not run, so the
plugin has a module too. Modules answer in the order in which they are loaded, first those of ``--plugin-dir``, then of
installed plugins, of the user's skills folder, then of the project's."""

import json
import os
import shlex
from collections.abc import Iterator
from typing import Any

from attrs import evolve

from holdfast import __version__
from holdfast_agents.clientfiles import own_folder, table
from holdfast_agents.setup import program
from holdfast_agents.setup.client import Client, Needed, Problem, Where, hooks, stale
from holdfast_agents.setup.parts import Part, Values, Whole
from holdfast_agents.setup.placing import Place

NAME = "claude-code"
#: Name shared by the plugin and its marketplace, which holds only this plugin.
PLUGIN = "holdfast"
#: The plugin's manifest, relative to its folder.
MANIFEST = ".claude-plugin/plugin.json"
#: An administrator's settings, and what switches every user's hooks and modules off there; the first everywhere.
MANAGED = ("/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json")
_OFF = ("disableAllHooks", "allowManagedHooksOnly")
#: Event -> seconds, or its hook's settings.
EVENTS: dict[str, int | dict[str, Any]] = {
    "PreCompact": {
        "command": f"sh {{guard}} {{program}} hook {NAME} PreCompact || exit 2",
        "timeout": 60,
        "onFailure": "block",
    },
    "UserPromptSubmit": 10, "SessionStart": 20, "PostToolUse": 10, "PostToolUseFailure": 10, "Stop": 10,
    "PostCompact": 20, "SessionEnd": 30, "ConfigChange": 10,
}  # fmt: skip
SCRIPT = "hooks/holdfast-guard.sh"
#: The module's plugin, in the skills folder, from where Claude Code loads plugins.
_GATE, _MODULE = "skills/holdfast-gate", "hooks/compact.js"
_MODULES: dict[tuple[str, ...], object] = {("modules",): ["./compact.js"]}
_ABOUT = "Memory that survives compaction. Context is dropped only when it is durable."
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


def _needed(where: Where) -> Needed:
    own = os.path.join(own_folder(NAME), "")
    # Settings shared through git must not name a folder of this machine.
    path = f'"$CLAUDE_PROJECT_DIR"/.claude/{SCRIPT}' if where.in_project else program.spelled((own + SCRIPT,))
    part = evolve(
        hooks(NAME, where.program, EVENTS, guard=path),
        listed={_ALLOW: f"Bash({program.spelled(where.program)} flush:*)"},
    )
    parts: dict[str, tuple[Part, str]] = {
        "settings.json": (part, f"{len(EVENTS)} hooks, and permission to flush"),
        SCRIPT: (
            guard(f"take holdfast's hooks out of {'.claude/' if where.in_project else own}settings.json"),
            "the time limit before a compaction",
        ),
        "commands/memory-update.md": (_command(), "/memory-update"),
        "skills/holdfast/SKILL.md": (Whole(body=program.data("skill.md")), "the skill"),
        "rules/holdfast.md": (Whole(body=program.instructions()), "the protocol"),
        f"{_GATE}/{MANIFEST}": (_manifest("holdfast-gate"), "a plugin that answers before later ones"),
        f"{_GATE}/hooks/hooks.json": (Values(members=_MODULES), "its module's name"),
        f"{_GATE}/{_MODULE}": (module(where.program), "its module"),
    }
    server = shlex.join([*where.program, "mcp"])
    by_hand = [f"For holdfast's MCP tools, run `claude mcp add holdfast --scope user -- {server}`."]
    if where.in_project:
        by_hand = [_TRUST, *([_SERVER_QUESTION] if where.server else []), _START_HERE]
        parts |= {"../.mcp.json": (_server(where.program), "the MCP server")} if where.server else {}
    return Needed(places=where.places(NAME, parts), by_hand=tuple(by_hand))


def guard(without: str) -> Whole:
    """The guard script. ``without`` is an imperative clause: how to work without holdfast."""
    return Whole(body=program.filled(program.data("claude-guard.sh")).replace("WITHOUT", shlex.quote(without)))


def module(words: tuple[str, ...], script: str = f"../../{SCRIPT}") -> Whole:
    """The module, which starts the program ``words``. ``script`` is the guard's path from the plugin's folder."""
    text = program.filled(program.data("claude-module.js"))
    return Whole(body=text.replace('["holdfast-memory"]', json.dumps(list(words))).replace("SCRIPT", script))


def plugin(words: tuple[str, ...], folder: str, *, server: bool) -> tuple[Place, ...]:
    """The same as a plugin directory in ``folder``. ``claude --plugin-dir DIR`` takes it for one session, and it is a
    marketplace of that one plugin. ``server`` includes the MCP server."""
    market: dict[tuple[str, ...], object] = {
        ("name",): PLUGIN,
        ("owner",): {"name": "holdfast"},
        ("description",): _ABOUT,
        ("plugins",): [{"name": PLUGIN, "source": "./", "description": _ABOUT}],
    }
    parts: dict[str, Part] = {
        MANIFEST: _manifest(PLUGIN),
        ".claude-plugin/marketplace.json": Values(members=market),
        "README.md": Whole(body=program.data("plugin-readme.md")),
        "hooks/hooks.json": evolve(
            hooks(NAME, words, EVENTS, guard=f'"${{CLAUDE_PLUGIN_ROOT}}"/{SCRIPT}'), members=_MODULES
        ),
        SCRIPT: guard("run `claude plugin uninstall holdfast`"),
        _MODULE: module(words, SCRIPT),
        "commands/memory-update.md": _command(),
        "skills/holdfast/SKILL.md": Whole(body=program.data("skill.md")),
    }
    if server:
        parts[".mcp.json"] = _server(words)
    return tuple(
        Place(path=os.path.join(folder, *name.split("/")), shown=name, part=part, base=folder)
        for name, part in parts.items()
    )


def _problems(where: Where) -> Iterator[Problem]:
    """Problems with the guard script and the module, and settings that switch all hooks off."""
    places = {place.path.replace(os.sep, "/"): place for place in _needed(where).places}
    script, code = (next(place for path, place in places.items() if path.endswith(end)) for end in (SCRIPT, _MODULE))
    yield from stale(script, [script.part], "and the hook for PreCompact needs it")
    yield from stale(code, map(module, program.KNOWN), "so another plugin's module may compact first", unguarded=False)
    names = (".claude/settings.json", ".claude/settings.local.json", os.path.join(own_folder(NAME), "settings.json"))
    for name in (*names, *MANAGED):
        settings = table(os.path.join(where.root, name))
        for key in _OFF if name in MANAGED else _OFF[:1]:
            if settings.get(key) is True:
                yield Problem(f"`{key}` in {name} switches the hooks and the module off.", next_step="Remove it there.")


def _manifest(name: str) -> Values:
    version = __version__ if __version__[:1].isdigit() else "0.0.0"
    about = {"name": name, "version": version, "description": _ABOUT, "author": {"name": "holdfast"}, "license": "MIT"}
    return Values(members={(key,): value for key, value in about.items()})


def _command() -> Whole:
    return Whole(body=program.memory_update(argument_hint="[what to stress]", allowed_tools=_TOOLS))


def _server(words: tuple[str, ...]) -> Values:
    first, *rest = words
    entry = ("mcpServers", "holdfast")
    return Values(members={entry: {"type": "stdio", "command": first, "args": [*rest, "mcp"]}}, server=entry)


CLIENT = Client(
    name=NAME,
    shown="Claude Code",
    program="claude",
    seen="2.1.332",
    around="`/clear`, `--bare`, `--safe-mode`, `--restricted`, `disableAllHooks`, an administrator's "
    "`allowManagedHooksOnly` and, in its window, a folder that is not trusted; with `DISABLE_COMPACT=1` in its "
    "environment nothing is ever compacted",
    needed=_needed,
    problems=_problems,
)
