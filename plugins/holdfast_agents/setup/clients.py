"""The clients that holdfast can be installed in. One without hooks, or with hooks in Claude Code's form, is a row.

Source: the hooks were observed; Copilot CLI sends Claude Code's keys if asked by its names. The others' files are from
documentation.
"""

import os
import shlex
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, Final

from attrs import evolve

from holdfast_agents.clientfiles import own_folder
from holdfast_agents.dialects import SHAPES
from holdfast_agents.events import UNSTOPPABLE
from holdfast_agents.setup import claude_code, codex, opencode, program
from holdfast_agents.setup.client import AGREED, FLUSHES, GUARDED, Client, Needed, Problem, Where, hooks, stale
from holdfast_agents.setup.parts import Part, Values, Whole

_EVENTS: Final = "SessionStart UserPromptSubmit PostToolUse Stop SessionEnd"
_GATE: Final = (
    f'{program.TIMED}"$@" {{program}} hook {{who}} PreCompact --allow 10; case $? in 10) exit 0 ;; 2) ;; '
    f'*) echo "{program.FAILED}" >&2 ;; esac; exit 2'
)
_AGREED: Final = "Nothing makes its agent save. It reads the rules, and then calls holdfast's tools or commands."
_LOAD: Final = "- **LOAD, at the start.** Run `holdfast load --max-chars 9000` before anything else.\n"
#: Where they differ: the key of the MCP servers, and what makes a file a rule for every task.
_KEYS: Final = {"vscode": "servers", "zed": "context_servers"}
_RULE: Final = {
    "cursor": "alwaysApply: true", "windsurf": "trigger: always_on", "vscode": 'applyTo: "**"',
    "kiro": "inclusion: always",
}  # fmt: skip


def _needed(
    name: str, where: Where, *, file: str = "", more: str = "", off: str = "", mcp: str = "", rules: str, step: str = ""
) -> Needed:
    """``more`` are its other events, and without its setting ``off`` it does not compact without asking a hook.
    ``file`` has its hooks, ``mcp`` the MCP servers, ``rules`` the protocol."""
    files: dict[str, tuple[Part, str]] = {}
    first, *rest = where.program
    path, text = (_KEYS.get(name, "mcpServers"), "holdfast"), program.instructions()
    entry = Values(members={path: {"command": first, "args": [*rest, "mcp"]}} if where.server else {}, server=path)
    if name == "kimi":
        files[os.path.join(own_folder(name), file)] = _kimi_hooks(where.program), "its hooks"
    elif file:
        part = hooks(name, where.program, _events(name, more), who=name)
        part = evolve(part, members=entry.members, server=path) if mcp == file else part
        part = evolve(part, members={(off,): False}) if off else part
        files[file] = part, f"{len(part.groups)} hooks"
    if file:
        files["skills/holdfast/SKILL.md"] = Whole(body=program.data("skill.md")), "the skill"
    else:
        head, _, tail = text.partition("- **LOAD")
        text = head + _LOAD + tail[tail.index("- **UPDATE") :]
    if where.server and mcp not in ("", file):
        files[mcp] = entry, "the MCP server"
    if where.in_project:
        own = Whole(body=f"---\n{_RULE[name]}\n---\n{text}") if name in _RULE else codex.SECTION
        files[rules] = own, "the protocol"
    by_hand = (step if where.in_project else "", "" if file else _AGREED)
    return Needed(places=where.places(name, files), by_hand=tuple(filter(None, by_hand)))


def _events(name: str, more: str) -> dict[str, dict[str, Any]]:
    """The client's events, each with its command and time limit, the gate first."""
    shape = SHAPES[name]
    own = {claude: theirs for theirs, claude in shape.names.items()}
    gate = {"command": f"sh -c {shlex.quote(_GATE)}"} if name not in UNSTOPPABLE else {}
    others = {own.get(event, event): {"timeout": 30 * shape.second} for event in f"{_EVENTS} {more}".split()}
    return {own.get("PreCompact", "PreCompact"): {**gate, "timeout": 60 * shape.second}, **others}


def _kimi_hooks(words: tuple[str, ...]) -> Part:
    """Kimi Code's hooks, which it reads from the user's settings alone."""
    groups = hooks("kimi", words, _events("kimi", "PostToolUseFailure")).groups
    rows = ({"event": event, **dict(islice(group["hooks"][0].items(), 1, None))} for event, group in groups.items())
    return codex.in_toml("[[hooks]]", *rows)


def _problems(name: str, where: Where) -> Iterator[Problem]:
    if name == "kimi":
        parts, place = map(_kimi_hooks, program.KNOWN), CLIENTS[name].needed(where).places[0]
        yield from stale(place, parts, "so its hooks do not run", client=name)


def _client(name: str, shown: str, command: str, seen: str, around: str, **facts: Any) -> Client:
    holds = AGREED if name not in SHAPES else FLUSHES if name in UNSTOPPABLE else GUARDED
    more: dict[str, Any] = {"needed": partial(_needed, name, **facts), "problems": partial(_problems, name)}
    return Client(name=name, shown=shown, program=command, seen=seen, holds=holds, around=around, **more)


_SILENT: Final = "words between two tool calls, which no hook reports"
_ROWS: Final = (
    _client(
        "deepagents", "deepagents-code", "dcode", "0.1.88", f"hooks that it does not trust; {_SILENT}",
        file="hooks.json", more="PostToolUseFailure", rules="AGENTS.md",
        step="Run `dcode` here once and trust the project's hooks. `dcode -n` needs `--trust-project-hooks`.",
    ),
    _client(
        "droid", "Factory droid", "droid", "0.215.0",
        f"the prompt of `droid exec`; {_SILENT}. It compacts only at `/compress`",
        file="settings.json", mcp="mcp.json", rules="../AGENTS.md", off="compactionThresholdCheckEnabled",
        step="Open `droid` here once and trust the folder. It compacts only at `/compress` now.",
    ),
    _client(
        "qwen", "Qwen Code", "qwen", "0.24.4", f"`disableAllHooks`; {_SILENT}", file="settings.json",
        more="PostToolUseFailure PostCompact", mcp="settings.json", rules="../QWEN.md",
    ),
    _client(
        "gemini", "Gemini CLI", "gemini", "0.61.0", "a folder that it does not trust, and `hooksConfig.enabled`",
        file="settings.json", mcp="settings.json", rules="../GEMINI.md",
        step="Run `gemini` here once and trust the folder. Before that it runs no hooks.",
    ),
    _client(
        "copilot", "Copilot CLI", "copilot", "1.0.102", f"a folder that it does not trust; {_SILENT}",
        file="hooks/holdfast.json", rules="../AGENTS.md",
        step="Run `copilot` here once and trust the folder. Before that it runs no hooks.",
    ),
    _client(
        "kimi", "Kimi Code", "kimi", "2.1.0", f"all but the start of a tool's long result; {_SILENT}",
        file="config.toml", mcp="mcp.json", rules="../AGENTS.md",
        step="Kimi Code reads hooks from your own settings alone, so they run in all your projects.",
    ),
    _client("cursor", "Cursor", "cursor", "", "", mcp="mcp.json", rules="rules/holdfast.mdc"),
    _client("windsurf", "Windsurf", "windsurf", "", "", mcp="mcp_config.json", rules="rules/holdfast.md"),
    _client("vscode", "VS Code", "code", "", "", mcp="mcp.json",
        rules="../.github/instructions/holdfast.instructions.md"),
    _client("kiro", "Kiro", "kiro-cli", "", "", mcp="settings/mcp.json", rules="steering/holdfast.md"),
    _client("zed", "Zed", "zed", "", "", mcp="settings.json", rules="../AGENTS.md"),
)  # fmt: skip
#: Client by name, the ones that can block first.
CLIENTS: Final[Mapping[str, Client]] = {
    client.name: client for client in (claude_code.CLIENT, codex.CLIENT, *opencode.CLIENTS, *_ROWS)
}
SCOPES: Final = ("project", "user")


def where(root: str, scope: str) -> Where:
    """The project at ``root``, or the user's own settings."""
    return Where(root=root, scope=scope, program=program.words(scope))
