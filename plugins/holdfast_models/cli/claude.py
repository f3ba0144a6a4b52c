"""``claude -p`` as a model. Run with Claude Code 2.1.330 and 2.1.197.

``--safe-mode`` leaves out hooks, plugins, MCP servers, skills and CLAUDE.md, and keeps the login; ``--bare`` would
not read an OAuth login. ``--tools ""`` leaves out the built-in tools.
"""

from collections.abc import Mapping
from typing import ClassVar

from holdfast_models.cli.model import SYSTEM_FILE, CliModel, Start
from holdfast_models.cli.programs import Ended, number, rows, string
from holdfast_models.retry import Completion

_ARGUMENTS = (
    "-p", "--output-format", "json", "--safe-mode", "--tools", "", "--strict-mcp-config", "--disable-slash-commands",
    "--no-session-persistence", "--system-prompt-file", SYSTEM_FILE,
)  # fmt: skip


class ClaudeCli(CliModel):
    program: ClassVar[str] = "claude"
    session_variables: ClassVar[tuple[str, ...]] = (
        "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_CHILD_SESSION"
    )  # fmt: skip

    def start(self, program: str, folder: str, system: str, env: Mapping[str, str]) -> Start:
        return (*_ARGUMENTS, *self.model_arguments), {}

    def parse(self, ended: Ended) -> Completion:
        results = [row for row in rows(ended.stdout) if row.get("type") == "result"]
        if not results:
            raise self.failed(ended.said, code=ended.code)
        row = results[-1]
        if row.get("is_error") or ended.code:
            raise self.failed(string(row, "result"), number(row, "api_error_status") or None, code=ended.code)
        used = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        return self.completion(
            content=string(row, "result"),
            sent=sum(number(row, "usage", key) for key in used),
            received=number(row, "usage", "output_tokens"),
            stop=string(row, "stop_reason"),
        )
