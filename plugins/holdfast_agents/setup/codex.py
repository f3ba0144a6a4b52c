"""Codex: hooks.json, skills, a section of AGENTS.md and the MCP server in config.toml.

Source: observed with 0.169.0. Only exit 0 with exactly ``{"continue":false,"stopReason":...}`` blocks, and Codex's own
time-out lets the compaction continue. So a shell around the program turns every failure and delay into that answer.
SessionEnd gets 3 s, whatever the settings say.
"""

from __future__ import annotations

import json
import os
import shlex
from typing import Any

from holdfast_agents.folders import codex_home
from holdfast_agents.setup import clients, program, texts
from holdfast_agents.setup.clients import Needed, Where
from holdfast_agents.setup.parts import MARK, Hooks, Part, Section, Whole
from holdfast_agents.setup.placing import Place
from holdfast_memory import DISTRIBUTION, REPAIR

CLIENT = "codex"
#: Event -> seconds.
EVENTS = {
    "PreCompact": 60,
    "UserPromptSubmit": 10,
    "SessionStart": 20,
    "PostToolUse": 10,
    "Stop": 10,
    "PostCompact": 20,
    "SessionEnd": 3,
}
_PLAIN = "{program} hook codex"
_GATE = f"{_PLAIN} PreCompact"  # named on the command line, so that an unreadable event is refused too
#: The shell's reasons when holdfast cannot answer. Without quotes and backticks, which a shell would interpret.
MISSING = (
    f"holdfast keeps the context: the program {DISTRIBUTION} is not installed here, or not on the PATH of Codex. "
    f"Install it with {program.INSTALL}, then compact again. To work without holdfast, take its hooks out of "
    ".codex/hooks.json."
)
FAILED = (
    f"holdfast keeps the context: it gave no answer in 55 seconds, or ended without one. Run {DISTRIBUTION} "
    "doctor, then compact again."
)
#: For the exit codes of Python without the module, and of holdfast without its own files.
DAMAGED = (
    f"holdfast keeps the context: {DISTRIBUTION} is not in its Python any more, or another project, holdfast, replaced "
    f"or removed files of it. Reinstall it with {REPAIR}, then compact again."
)
# In `sh`, because Codex uses the user's shell, which may be fish. Output that is not an answer is dropped, because with
# it the answer would be invalid and compaction would continue. macOS has no `timeout`. Status 10 allows
# the compaction, so a program that ends early with 0 does not.
_GUARDED = (
    "if command -v timeout >/dev/null; then set -- timeout -s KILL 55; elif command -v perl >/dev/null; then "
    'set -- perl -e "alarm 55; exec @ARGV; exit 127"; fi; '
    f'out=$("$@" {_GATE} --allow 10); case "$?:$out" in 10:*) exit 0 ;; 0:{{\\"continue\\":false,*}}) why= ;; '
    f'127:*) why="{MISSING}" ;; 1:* | 3:*) why="{DAMAGED}" ;; *) why="{FAILED}" ;; esac; '
    '[ -z "$why" ] || out="{\\"continue\\":false,\\"stopReason\\":\\"$why\\"}"; printf %s "$out"'
)
_GUARDED_WINDOWS = f'{_GATE} || echo {{"continue":false,"stopReason":"{MISSING}"}}'
_TRUST = (
    "Open `codex` once in a project with these hooks: trust the folder, then choose `Trust all and continue`. "
    "Until then, and after each change of the hooks, Codex silently skips them."
)
_SECTION = ("<!-- holdfast: begin -->", "<!-- holdfast: end -->")
_TABLE = (f"# holdfast: begin. {MARK}; `holdfast uninstall` takes it out again.", "# holdfast: end")


def needed(where: Where) -> Needed:
    """See :func:`holdfast_agents.setup.clients.needed`."""
    base = where.root if where.in_project else codex_home()
    inside = os.path.join(base, ".codex") if where.in_project else base
    agents = base if where.in_project else os.path.expanduser("~")

    def place(part: Part, what: str, *parts: str, below: str = inside) -> Place:
        path = os.path.join(below, *parts)
        shown = os.path.relpath(path, base) if where.in_project else path
        owner = base if path.startswith(base + os.sep) else agents
        return Place(path=path, shown=shown, part=part, base=owner, what=what, contained=where.in_project)

    return Needed(
        client=CLIENT,
        places=(
            place(hooks(where.program), f"{len(EVENTS)} hooks", "hooks.json"),
            *((place(_server(where.program), "the MCP server", "config.toml"),) if where.server else ()),
            place(_instructions(), "the protocol", "AGENTS.md", below=base),
            place(Whole(body=texts.skill()), "the skill", ".agents", "skills", "holdfast", "SKILL.md", below=agents),
            place(
                Whole(body=texts.memory_update("the words after this name", name="memory-update")),
                "$memory-update",
                *(".agents", "skills", "memory-update", "SKILL.md"),
                below=agents,
            ),
        ),
        by_hand=(_TRUST, *((clients.worktrees(CLIENT),) if where.in_project else ())),
    )


def hooks(words: tuple[str, ...]) -> Hooks:
    """The hooks, which start the program ``words``."""
    groups: dict[str, dict[str, Any]] = {}
    for event, timeout in EVENTS.items():
        hook = {"type": "command", "command": program.command(_PLAIN, words), "timeout": timeout}
        if event == "PreCompact":
            hook["command"] = guarded(words)
            hook["commandWindows"] = program.command(_GUARDED_WINDOWS, words)
        groups[event] = {"hooks": [hook]}
    return Hooks(client=CLIENT, groups=groups)


def guarded(words: tuple[str, ...]) -> str:
    """The command at compaction. It blocks when the program gives no answer."""
    return f"sh -c {shlex.quote(program.command(_GUARDED, words))}"


def _server(words: tuple[str, ...]) -> Section:
    first, *rest = words
    # These JSON strings are valid TOML, because both escape backslashes and quotes alike.
    command, args = (json.dumps(value, ensure_ascii=False) for value in (first, [*rest, "mcp"]))
    body = f"[mcp_servers.holdfast]\ncommand = {command}\nargs = {args}"
    begin, end = _TABLE
    return Section(begin=begin, end=end, body=body, table=("mcp_servers", "holdfast"))


def _instructions() -> Section:
    begin, end = _SECTION
    return Section(begin=begin, end=end, body=texts.protocol())
