"""Extraction by any model at an OpenAI-compatible endpoint (Chat Completions), as an ``on_extract`` plugin.

Off until ``[plugins.openai]`` is in holdfast.toml. Settings are those of :class:`holdfast_models.base.ModelPlugin`;
``base_url`` is for compatible servers (llama.cpp, Ollama, vLLM, a gateway), which may need no key. Needs
the extra ``openai``.
"""

from typing import ClassVar

from holdfast_models.base import ModelPlugin
from holdfast_models.retry import Completion


class OpenAIModel(ModelPlugin):
    """The plugin."""

    provider: ClassVar[str] = "openai"
    address: ClassVar[str] = "https://api.openai.com/v1"

    def complete(self, system: str, user: str, *, max_tokens: int, timeout_s: float) -> Completion:
        """One Chat Completion, not streamed. Raises: ModelFailed."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        body = {"model": self.settings.model, "messages": messages, "max_completion_tokens": max_tokens}
        answer = self.post("/chat/completions", body, {"Authorization": f"Bearer {self.key()}"}, timeout_s)
        with self.follows_api():
            choice, used = answer["choices"][0], answer.get("usage") or {}
            return self.completion(
                choice["message"]["content"],
                used.get("prompt_tokens"),
                used.get("completion_tokens"),
                choice.get("finish_reason"),
            )
