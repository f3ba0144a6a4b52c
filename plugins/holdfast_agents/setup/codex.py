"""Codex: hooks.json, skills, a section of AGENTS.md and the MCP server in config.toml.

Source: observed with 0.171.0. Only exit 0 with exactly ``{"continue":false,"stopReason":...}`` blocks, and Codex's own
time-out lets the compaction continue. So a shell around the program turns every failure and delay into that answer.
SessionEnd gets 3 s, whatever the settings say.
"""

import json
import os
import shlex
from collections.abc import Iterator, Mapping

from holdfast.fs.paths import upwards
from holdfast.text import untrusted
from holdfast_agents.clientfiles import at, own_folder, read_or_empty, table
from holdfast_agents.setup import program
from holdfast_agents.setup.client import Client, Files, Needed, Problem, Where, hooks, worktrees
from holdfast_agents.setup.parts import Section, Whole, ours

NAME = "codex"
#: Event -> seconds.
EVENTS = {
    "UserPromptSubmit": 10, "SessionStart": 20, "PostToolUse": 10, "Stop": 10, "PostCompact": 20, "SessionEnd": 3
}  # fmt: skip
_GATE = "{program} hook codex PreCompact"  # named on the command line, so that an unreadable event is refused too
# In `sh`, because Codex uses the user's shell, which may be fish. Output that is not an answer is dropped, because with
# it the answer would be invalid and compaction would continue. Status 10 allows
# the compaction, so a program that ends early with 0 does not.
_GUARDED = (
    f'{program.TIMED}out=$("$@" {_GATE} --allow 10); case "$?:$out" in 10:*) exit 0 ;; '
    f'0:{{\\"continue\\":false,*}}) ;; *) out="{{\\"continue\\":false,\\"stopReason\\":\\"{program.FAILED}\\"}}" ;; '
    'esac; printf %s "$out"'
)
_GUARDED_WINDOWS = f'{_GATE} || echo {{"continue":false,"stopReason":"{program.FAILED}"}}'
_TRUST = (
    "Open `codex` once in a project with these hooks: trust the folder, then choose `Trust all and continue`. "
    "Until then, and after each change of the hooks, Codex silently skips them."
)
#: The protocol in a file with the user's own instructions.
SECTION = Section(begin="<!-- holdfast: begin -->", end="<!-- holdfast: end -->", body=program.data("protocol.md"))
_TABLE = (f"# holdfast: begin. {program.MARK}; `holdfast uninstall` takes it out again.", "# holdfast: end")


def _needed(where: Where) -> Needed:
    update = program.memory_update("the words after this name", name="memory-update")
    words = where.program
    gate = {"command": guarded(words), "timeout": 60, "commandWindows": _GUARDED_WINDOWS}
    groups = hooks(NAME, words, {"PreCompact": gate, **EVENTS})
    server = {"command": words[0], "args": [*words[1:], "mcp"]}
    files: Files = {
        "hooks.json": (groups, f"{len(groups.groups)} hooks"),
        **({"config.toml": (in_toml("[mcp_servers.holdfast]", server), "the MCP server")} if where.server else {}),
        "../AGENTS.md": (SECTION, "the protocol"),
        "~/.agents/skills/holdfast/SKILL.md": (Whole(body=program.data("skill.md")), "the skill"),
        "~/.agents/skills/memory-update/SKILL.md": (Whole(body=update), "$memory-update"),
    }
    by_hand = (_TRUST, worktrees(NAME)) if where.in_project else (_TRUST,)
    return Needed(places=where.places(NAME, files), by_hand=by_hand)


def guarded(words: tuple[str, ...]) -> str:
    """The command at compaction. It blocks when the program gives no answer."""
    return f"sh -c {shlex.quote(_GUARDED.replace('{program}', program.spelled(words)))}"


def in_toml(head: str, *tables: Mapping[str, object]) -> Section:
    """``tables`` as a section of a TOML file, each below ``head``."""
    # JSON's strings are valid TOML, because both escape backslashes and quotes alike.
    rows = [[f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in pairs.items()] for pairs in tables]
    begin, end = _TABLE
    body = "\n\n".join("\n".join([head, *lines]) for lines in rows)
    return Section(begin=begin, end=end, body=body, table=tuple(head.strip("[]").split(".")))


def _problems(where: Where) -> Iterator[Problem]:
    """Problems with its trust. It runs hooks only after its user accepted them, and only in a trusted folder."""
    place = _needed(where).places[0]
    config = os.path.join(own_folder(NAME), "config.toml")
    try:
        settings = untrusted.from_toml(read_or_empty(config).decode("utf-8"))
    except ValueError as error:
        yield Problem(f"{config} cannot be read: {error}.", next_step="Correct it.")
        return
    step = "Open `codex` in this folder and choose `Trust all and continue`."
    used = os.path.isdir(own_folder(NAME))  # a colleague may use Codex although this user does not
    names = (name for folder in upwards(where.root) for name in (folder, os.path.realpath(folder)))
    if where.in_project and not any(at(settings, ("projects", name, "trust_level")) == "trusted" for name in names):
        yield Problem("Codex does not trust this folder, so it runs none of its hooks.", used, step)
    indexes = [index for index, _ in ours(table(place.path), NAME, "PreCompact")]
    keys = [f"{name}:pre_compact:{index}" for name in (place.path, os.path.realpath(place.path)) for index in indexes]
    states = [at(settings, ("hooks", "state", key)) for key in keys]
    if not any(isinstance(s, dict) and s.get("trusted_hash") and s.get("enabled") is not False for s in states):
        yield Problem("Its hooks are installed but not trusted, so Codex silently skips them.", used, step)


CLIENT = Client(
    name=NAME,
    shown="Codex",
    program="codex",
    seen="0.171.0",
    reads_parents=True,
    around="hooks or a folder that it does not trust; its compaction cannot be switched off. When a compaction is "
    "blocked, `codex exec` says only `turn interrupted`: `holdfast status` shows the reason",
    needed=_needed,
    problems=_problems,
)
