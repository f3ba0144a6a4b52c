"""Extraction by a Claude model through Anthropic's Messages API: an ``on_extract`` plugin.

Off until ``[plugins.anthropic]`` is in holdfast.toml. Settings are those of :class:`holdfast_models.base.ModelPlugin`.
Needs the extra ``anthropic``.
"""

from typing import ClassVar

from holdfast_models.base import ModelPlugin
from holdfast_models.retry import Completion


class AnthropicModel(ModelPlugin):
    """The plugin."""

    provider: ClassVar[str] = "anthropic"
    address: ClassVar[str] = "https://api.anthropic.com"

    def complete(self, system: str, user: str, *, max_tokens: int, timeout_s: float) -> Completion:
        """One message, not streamed. Raises: ModelFailed."""
        messages = [{"role": "user", "content": user}]
        body = {"model": self.settings.model, "system": system, "messages": messages, "max_tokens": max_tokens}
        headers = {"x-api-key": self.key(), "anthropic-version": "2023-06-01"}
        answer = self.post("/v1/messages", body, headers, timeout_s)
        with self.follows_api():
            used = answer["usage"]
            return self.completion(
                answer["content"], used.get("input_tokens"), used.get("output_tokens"), answer.get("stop_reason")
            )
