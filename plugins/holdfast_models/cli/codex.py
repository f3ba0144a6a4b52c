"""``codex exec`` as a model. Run with Codex CLI 0.169.0.

The user's own ``config.toml`` counts, because it names the model provider; logins are in the same folder, so
``CODEX_HOME`` stays. Each feature that gives the model a tool is switched off by ``-c``, which ignores names that a
version does not know. MCP servers have no common switch, so each is switched off by its name.
"""

import json
import os
from collections.abc import Mapping
from typing import ClassVar

from holdfast.text import untrusted
from holdfast_models.cli.model import SYSTEM_FILE, CliModel, Start
from holdfast_models.cli.programs import Ended, number, rows, string
from holdfast_models.retry import Completion

_ARGUMENTS = (
    "exec", "--json", "--ephemeral", "--skip-git-repo-check", "--ignore-rules", "--sandbox", "read-only",
    "--color", "never",
)  # fmt: skip
#: Features that give the model a tool, start something, or run hooks.
_FEATURES = (
    "hooks", "shell_tool", "unified_exec", "apps", "plugins", "remote_plugin", "multi_agent", "goals", "view_image",
    "image_generation", "skill_search", "tool_suggest", "memories", "browser_use", "browser_use_external",
    "computer_use", "in_app_browser", "sleep_tool", "code_mode_host", "shell_snapshot",
    "skill_mcp_dependency_install", "daemon_auto_start",
)  # fmt: skip
_SETTINGS = (
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
    program: ClassVar[str] = "codex"
    session_variables: ClassVar[tuple[str, ...]] = (
        "CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"
    )  # fmt: skip

    def start(self, program: str, folder: str, system: str, env: Mapping[str, str]) -> Start:
        settings = [*_SETTINGS, f"model_instructions_file={json.dumps(os.path.join(folder, SYSTEM_FILE))}"]
        settings += [f"features.{name}=false" for name in _FEATURES]
        settings += [f"mcp_servers.{_key(name)}.enabled=false" for name in _servers(env)]
        switches = [word for setting in settings for word in ("-c", setting)]
        return (*_ARGUMENTS, *switches, *self.model_arguments, "-"), {}

    def parse(self, ended: Ended) -> Completion:
        events = rows(ended.stdout)
        failures = [row for row in events if row.get("type") in ("turn.failed", "error")]
        done = [row for row in events if row.get("type") == "turn.completed"]
        if ended.code or not done:
            report = " ".join(string(row, "error", "message") or string(row, "message") for row in failures[-1:])
            raise self.failed(report or ended.said, code=ended.code)
        items = [row.get("item") for row in events if row.get("type") == "item.completed"]
        answers = [string(item, "text") for item in items if string(item, "type") == "agent_message"]
        return self.completion(
            content=answers[-1] if answers else "",
            sent=number(done[-1], "usage", "input_tokens"),
            received=number(done[-1], "usage", "output_tokens"),
        )


def _servers(env: Mapping[str, str]) -> list[str]:
    """MCP server names from the user's settings; none for unreadable settings, because codex then fails, too."""
    home = env.get("CODEX_HOME") or os.path.join(os.path.expanduser("~"), ".codex")
    try:
        with open(os.path.join(home, "config.toml"), encoding="utf-8") as file:
            servers = untrusted.from_toml(file.read()).get("mcp_servers")
    except (OSError, ValueError):
        return []
    return list(servers) if isinstance(servers, dict) else []


def _key(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else json.dumps(name)
