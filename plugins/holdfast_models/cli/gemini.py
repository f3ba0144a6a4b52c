"""``gemini`` as a model. Run with Gemini CLI 0.61.0.

Settings in its own folder override the user's and disable hooks, MCP servers, skills and tools. It records each
session in the user's folder. The plugin removes the record after the call.
"""

import json
import os
import shutil
from collections.abc import Mapping
from typing import ClassVar

from holdfast_models.cli.model import SYSTEM_FILE, CliModel, Start
from holdfast_models.cli.programs import Ended, number, part, string, whole
from holdfast_models.retry import Completion

#: A name that no MCP server and no extension has.
_NONE = "holdfast-allows-none"
_POLICY = "policy.toml"
_SETTINGS = {
    "hooksConfig": {"enabled": False},
    "mcp": {"allowed": [_NONE]},
    "tools": {"core": []},
    "skills": {"enabled": False},
    "experimental": {"enableAgents": False},
    "context": {"fileName": ["holdfast-reads-none.md"], "includeDirectoryTree": False},
    "ide": {"enabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
}
_DENY_ALL = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'
_ARGUMENTS = (
    "--output-format", "json", "--extensions", "none", "--allowed-mcp-server-names", _NONE, "--admin-policy", _POLICY
)  # fmt: skip


class GeminiCli(CliModel):
    program: ClassVar[str] = "gemini"
    session_variables: ClassVar[tuple[str, ...]] = (
        "GEMINI_CLI", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR", "GEMINI_CWD"
    )  # fmt: skip

    def start(self, program: str, folder: str, system: str, env: Mapping[str, str]) -> Start:
        os.mkdir(os.path.join(folder, ".gemini"), 0o700)
        for name, text in ((".gemini/settings.json", json.dumps(_SETTINGS)), (_POLICY, _DENY_ALL)):
            with open(os.path.join(folder, *name.split("/")), "w", encoding="utf-8") as file:
                file.write(text)
        more = {
            "GEMINI_SYSTEM_MD": os.path.join(folder, SYSTEM_FILE),
            "GEMINI_CLI_TRUST_WORKSPACE": "true",  # the folder is ours, and its settings must count
            "GEMINI_CLI_NO_RELAUNCH": "1",
        }
        return (*_ARGUMENTS, *self.model_arguments), more

    def parse(self, ended: Ended) -> Completion:
        answer = whole(ended.stdout)
        if ended.code or answer is None or (answer.get("error") and not string(answer, "response")):
            error = answer or whole(ended.stderr) or {}
            report = f"{string(error, 'error', 'type')} {string(error, 'error', 'message')}".strip() or ended.said
            raise self.failed(report, 401 if ended.code == 41 else None, code=ended.code)
        models = part(answer, "stats", "models")
        used = list(models.values()) if isinstance(models, dict) else []
        return self.completion(
            content=string(answer, "response"),
            sent=sum(number(model, "tokens", "prompt") for model in used),
            received=sum(number(model, "tokens", "candidates") for model in used),
        )

    def clean(self, folder: str, env: Mapping[str, str]) -> None:
        home = env.get("GEMINI_CLI_HOME") or os.path.expanduser("~")
        for kind in ("tmp", "history"):
            path = os.path.join(home, ".gemini", kind, os.path.basename(folder))
            if not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
