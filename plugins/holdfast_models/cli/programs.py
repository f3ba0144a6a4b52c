"""The programs that can be a model: ``claude -p`` and ``codex exec``."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from holdfast_models.cli.model import SYSTEM_FILE, CliModel, number, rows, string

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import ClassVar

    from holdfast_models.cli.running import Ended
    from holdfast_models.retry import Completion

_CLAUDE = (
    "-p", "--output-format", "json", "--safe-mode", "--tools", "", "--strict-mcp-config", "--disable-slash-commands",
    "--no-session-persistence", "--system-prompt-file", SYSTEM_FILE,
)  # fmt: skip


class ClaudeCli(CliModel):
    """The plugin ``claude_cli``. Run with Claude Code 2.1.330 and 2.1.197.

    ``--safe-mode`` leaves out hooks, plugins, MCP servers, skills and CLAUDE.md, and keeps the login; ``--bare`` would
    not read an OAuth login. ``--tools ""`` leaves out the built-in tools.
    """

    provider: ClassVar[str] = "claude"
    session_variables: ClassVar[tuple[str, ...]] = (
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_CODE_CHILD_SESSION",
    )

    def arguments(self, folder: str, env: Mapping[str, str]) -> Sequence[str]:
        del folder, env
        return (*_CLAUDE, *self.model_arguments)

    def parse(self, ended: Ended) -> Completion:
        results = [row for row in rows(ended.stdout) if row.get("type") == "result"]
        if not results:
            raise self.failed(ended.said, code=ended.code)
        row = results[-1]
        if row.get("is_error") or ended.code:
            status = number(row, "api_error_status") or None
            raise self.failed(string(row, "result"), status, code=ended.code)
        used = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        return self.completion(
            content=string(row, "result"),
            sent=sum(number(row, "usage", key) for key in used),
            received=number(row, "usage", "output_tokens"),
            stop=string(row, "stop_reason"),
        )


_CODEX = (
    "exec", "--json", "--ephemeral", "--skip-git-repo-check", "--ignore-rules", "--sandbox", "read-only", "--color",
    "never",
)  # fmt: skip
#: Features that give the model a tool, start something, or run hooks.
_CODEX_FEATURES = (
    "hooks", "shell_tool", "unified_exec", "apps", "plugins", "remote_plugin", "multi_agent", "goals", "view_image",
    "image_generation", "skill_search", "tool_suggest", "memories", "browser_use", "browser_use_external",
    "computer_use", "in_app_browser", "sleep_tool", "code_mode_host", "shell_snapshot",
    "skill_mcp_dependency_install", "daemon_auto_start",
)  # fmt: skip
_CODEX_SETTINGS = (
    'web_search="disabled"',
    'approval_policy="never"',
    "project_doc_max_bytes=0",
    "skills.include_instructions=false",
    "include_environment_context=false",
    "include_permissions_instructions=false",
    "include_apps_instructions=false",
    "check_for_update_on_startup=false",
)


class CodexCli(CliModel):
    """The plugin ``codex_cli``. Run with Codex CLI 0.169.0.

    The user's own ``config.toml`` counts, because it names the model provider; logins are in the same folder, so
    ``CODEX_HOME`` stays. Each feature that gives the model a tool is switched off by ``-c``, which ignores names that a
    version does not know. MCP servers have no common switch, so each is switched off by its name.
    """

    provider: ClassVar[str] = "codex"
    session_variables: ClassVar[tuple[str, ...]] = (
        "CODEX_THREAD_ID",
        "CODEX_SANDBOX",
        "CODEX_SANDBOX_NETWORK_DISABLED",
    )

    def arguments(self, folder: str, env: Mapping[str, str]) -> Sequence[str]:
        settings = [*_CODEX_SETTINGS, f"model_instructions_file={json.dumps(os.path.join(folder, SYSTEM_FILE))}"]
        settings += [f"features.{name}=false" for name in _CODEX_FEATURES]
        settings += [f"mcp_servers.{_key(name)}.enabled=false" for name in _servers(env)]
        switches = [word for setting in settings for word in ("-c", setting)]
        return (*_CODEX, *switches, *self.model_arguments, "-")

    def parse(self, ended: Ended) -> Completion:
        found = rows(ended.stdout)
        failures = [row for row in found if row.get("type") in ("turn.failed", "error")]
        done = [row for row in found if row.get("type") == "turn.completed"]
        if ended.code or not done:
            said = " ".join(string(row, "error", "message") or string(row, "message") for row in failures[-1:])
            raise self.failed(said or ended.said, code=ended.code)
        items = [row.get("item") for row in found if row.get("type") == "item.completed"]
        answers = [string(item, "text") for item in items if string(item, "type") == "agent_message"]
        return self.completion(
            content=answers[-1] if answers else "",
            sent=number(done[-1], "usage", "input_tokens"),
            received=number(done[-1], "usage", "output_tokens"),
        )


def _servers(env: Mapping[str, str]) -> list[str]:
    """MCP server names from the user's settings; none for unreadable settings, because codex then fails, too."""
    from holdfast.text import untrusted

    home = env.get("CODEX_HOME") or os.path.join(os.path.expanduser("~"), ".codex")
    try:
        with open(os.path.join(home, "config.toml"), encoding="utf-8") as file:
            servers = untrusted.from_toml(file.read()).get("mcp_servers")
    except (OSError, ValueError):
        return []
    return list(servers) if isinstance(servers, dict) else []


def _key(name: str) -> str:
    """``name`` as one key of a dotted path."""
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else json.dumps(name)
