"""``opencode run`` as a model. Run with opencode 1.18.33.

The user's settings count, because they name the provider. Settings that win over them make an agent without tools,
and switch off each MCP server by its name: ``opencode debug config`` lists them. The session is kept in memory.
"""

import json
from collections.abc import Mapping
from typing import ClassVar

from holdfast_models.cli import programs
from holdfast_models.cli.model import CliModel, Start
from holdfast_models.cli.programs import Ended, number, part, rows, string, whole
from holdfast_models.retry import Completion

_AGENT = "holdfast-model"
_ARGUMENTS = ("run", "--format", "json", "--pure", "--agent", _AGENT, "--title", "holdfast")
_ENV = {
    "OPENCODE_PURE": "1",  # no plugins
    "OPENCODE_DB": ":memory:",
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
    "OPENCODE_DISABLE_CLAUDE_CODE": "1",  # no CLAUDE.md, no skills of Claude Code
    "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
}
#: Seconds for the list of MCP servers.
_LIST_LIMIT_S = 20.0


class OpencodeCli(CliModel):
    program: ClassVar[str] = "opencode"
    session_variables: ClassVar[tuple[str, ...]] = ("OPENCODE", "OPENCODE_PID", "OPENCODE_CLIENT", "OPENCODE_RUN_ID")

    def start(self, program: str, folder: str, system: str, env: Mapping[str, str]) -> Start:
        settings = {
            "agent": {
                _AGENT: {"mode": "primary", "prompt": system, "tools": {"*": False}, "permission": {"*": "deny"}}
            },
            "mcp": {name: {"enabled": False} for name in self._servers(program, folder, env)},
            "share": "disabled",
            "autoupdate": False,
            "snapshot": False,
        }
        return (*_ARGUMENTS, *self.model_arguments), {**_ENV, "OPENCODE_CONFIG_CONTENT": json.dumps(settings)}

    def parse(self, ended: Ended) -> Completion:
        events = rows(ended.stdout)
        errors = [row for row in events if row.get("type") == "error"]
        steps = [row for row in events if row.get("type") == "step_finish"]
        if ended.code or errors or not steps:
            last = errors[-1] if errors else None
            report = f"{string(last, 'error', 'name')} {string(last, 'error', 'data', 'message')}"
            status = number(last, "error", "data", "statusCode") or None
            raise self.failed(report if last else ended.said, status, code=ended.code)
        return self.completion(
            content="".join(string(row, "part", "text") for row in events if row.get("type") == "text"),
            sent=sum(number(row, "part", "tokens", "input") for row in steps),
            received=sum(number(row, "part", "tokens", "output") for row in steps),
            stop=string(steps[-1], "part", "reason"),
        )

    def _servers(self, program: str, folder: str, env: Mapping[str, str]) -> list[str]:
        """MCP servers that opencode would start, by name. Raises: ModelFailed when it does not list them."""
        listed = programs.run(
            (program, "debug", "config"), "", folder=folder, env={**env, **_ENV}, timeout_s=_LIST_LIMIT_S
        )
        if listed.late:
            raise programs.killed(self.program, _LIST_LIMIT_S)
        settings = whole(listed.stdout)
        if listed.code or settings is None:
            raise self.failed(listed.stderr, code=listed.code)
        servers = part(settings, "mcp")
        return list(servers) if isinstance(servers, dict) else []
