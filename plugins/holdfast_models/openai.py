"""Extraction by any model at an OpenAI-compatible endpoint (Chat Completions), as an ``on_extract`` plugin.

Off until ``[plugins.openai]`` is in holdfast.toml. Settings are those of :class:`holdfast_models.base.ModelPlugin`;
``base_url`` is for compatible servers (llama.cpp, Ollama, vLLM, a gateway), which may need no key. Needs
the extra ``openai``; the SDK is imported in the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast_models.base import ModelPlugin

if TYPE_CHECKING:
    from typing import ClassVar

    from holdfast_models.retry import Completion


class OpenAIModel(ModelPlugin):
    """The plugin."""

    provider: ClassVar[str] = "openai"
    address: ClassVar[str] = "https://api.openai.com/v1"

    def complete(self, system: str, user: str, *, max_tokens: int, timeout_s: float) -> Completion:
        """One Chat Completion, not streamed. Raises: ModelFailed."""
        from holdfast_models import retry

        try:
            import openai
        except ImportError as error:
            raise retry.not_installed(self.provider) from error
        with self.sdk_client(openai, openai.OpenAI, timeout_s) as client:
            answer = client.chat.completions.create(
                model=self.settings.model,
                messages=[{"role": "system", "content": system}, {"role": "user", "content": user}],
                max_completion_tokens=max_tokens,
            )
            choice = next(iter(answer.choices), None)
            return retry.Completion(
                text=(choice.message.content or "") if choice else "",
                input_tokens=answer.usage.prompt_tokens if answer.usage else 0,
                output_tokens=answer.usage.completion_tokens if answer.usage else 0,
                stop=(choice.finish_reason or "") if choice else "",
            )
