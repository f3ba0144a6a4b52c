"""The clients with hooks in Claude Code's form themselves, where they are installed. deepagents-code refuses a
compaction while the store is broken. The others compact, which is told."""

import json
from typing import Any

import pytest
from tests.plugins.agents.hooking import on_page
from tests.plugins.agents.test_real_clients import PROMPT, Real, model, real, spoil

from holdfast_agents.setup.clients import CLIENTS

__all__ = ["model"]
_LIMITS = ("--model-params", '{"use_responses_api": false}', "--profile-override", '{"max_input_tokens": 40000}')
_TRUSTING = ("--trust-project-hooks", "--no-mcp", "--no-tracing", "--shell-allow-list", "all", "-M", "openai:gpt-5.5")
_OPENAI = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "URL/v1", "OPENAI_MODEL": "fake"}
#: Client -> its words before a prompt, those that continue, its environment, and a compaction as prompt, tokens and
#: commands.
FACTS: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, str], tuple[str, int, list[str]]]] = {
    "deepagents": (
        (*_TRUSTING, *_LIMITS, "-n"), (), _OPENAI, ("Count", 1_000, ["seq 1 9000"] * 6),
    ),
    "qwen": (
        ("--auth-type", "openai", "--approval-mode", "yolo", "-p"), ("--continue",), _OPENAI, ("/compress", 1_000, []),
    ),
    "gemini": (
        ("--yolo", "-m", "gemini-2.5-pro", "-p"), ("-r", "latest"),
        {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "URL", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        ("Count", 900_000, ["echo one", "echo two"]),
    ),
    "copilot": (
        ("--allow-all", "-p"), ("--continue",),
        {"COPILOT_PROVIDER_BASE_URL": "URL/v1", "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "fake",
         "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false", "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS": "true"},
        ("/compact", 1_000, []),
    ),
    "kimi": (("-p",), ("-c",), {}, ("Count", 95_000, ["echo one", "echo two"])),
}  # fmt: skip
_KIMI = """default_model = "fake"
[providers.fake]
type = "openai"
base_url = "URL/v1"
api_key = "none"
[models.fake]
provider = "fake"
model = "fake"
max_context_size = 100000
"""


class Shaped(Real):
    more: tuple[str, ...] = ()

    def start(self) -> None:
        own = FACTS[self.name][2]
        self.environment |= {name: value.replace("URL", self.model.url) for name, value in own.items()}
        (self.home / ".gemini").mkdir()
        auth: dict[str, Any] = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        (self.home / ".gemini/settings.json").write_text(json.dumps(auth))
        if self.name == "kimi":
            file = self.home / ".kimi-code/config.toml"
            file.write_text(_KIMI.replace("URL", self.model.url) + file.read_text())

    def say(self, text: str) -> str:
        words, again, *_ = FACTS[self.name]
        done = self.run(self.program, *self.more, *words, text)
        self.more = again
        return done.stdout + done.stderr

    def compact(self) -> None:
        text, self.model.tokens, commands = FACTS[self.name][3]
        self.model.commands = list(commands)
        self.say(text)
        self.model.tokens = 1_000


@pytest.mark.req("R184", "R166")
@pytest.mark.parametrize("name", FACTS)
def test_compaction__store_broken_then_repaired__is_refused_or_told_and_then_saved_and_restored(
    name, project, tmp_path, model
):
    kind = type(name, (Shaped,), {"name": name, "program": CLIENTS[name].program})
    client = real(kind, project, tmp_path, model)
    client.start()
    model.commands = ["echo one"]
    client.say(PROMPT)
    mend = spoil(project)
    client.compact()
    row = f"{CLIENTS[name].shown} {CLIENTS[name].seen}"
    on_page(row, "store broken", "compacts, told" if model.summaries else "blocked")
    assert "UNSAFE" in client.holdfast("status")
    mend()
    client.say("Go on.")
    before = model.summaries
    client.compact()
    notes = "".join(path.read_text() for path in (project / ".holdfast/memory").glob("*.md"))
    assert "the clock is injected" in notes
    assert model.summaries > before
    client.say("Where were we?")
    assert "Where to resume" in model.asked[-1]
    assert "UNSAFE" not in client.holdfast("status")
