"""Extraction by a Claude model through Anthropic's Messages API: an ``on_extract`` plugin.

Off until ``[plugins.anthropic]`` is in holdfast.toml. Settings are those of :class:`holdfast_models.base.ModelPlugin`.
Needs the extra ``anthropic``; the SDK is imported in the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast_models.base import ModelPlugin

if TYPE_CHECKING:
    from typing import ClassVar

    from holdfast_models.retry import Completion


class AnthropicModel(ModelPlugin):
    """The plugin."""

    provider: ClassVar[str] = "anthropic"
    address: ClassVar[str] = "https://api.anthropic.com"

    def complete(self, system: str, user: str, *, max_tokens: int, timeout_s: float) -> Completion:
        """One message, not streamed. Raises: ModelFailed."""
        from holdfast_models import retry
        from holdfast_models.answers import text_of

        try:
            import anthropic
        except ImportError as error:
            raise retry.not_installed(self.provider) from error
        with self.sdk_client(anthropic, anthropic.Anthropic, timeout_s) as client:
            answer = client.messages.create(
                model=self.settings.model,
                system=system,
                messages=[{"role": "user", "content": user}],
                max_tokens=max_tokens,
            )
            return retry.Completion(
                text=text_of([block.model_dump() for block in answer.content]),
                input_tokens=answer.usage.input_tokens,
                output_tokens=answer.usage.output_tokens,
                stop=answer.stop_reason or "",
            )
