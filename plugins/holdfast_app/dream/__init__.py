"""The dream: consolidates daily notes into MEMORY.md, with every line traced to its sources.

The methods are ``memory.deep_dream()``, ``undo_dream()``, ``dream_due()`` and ``dreams()``, the command ``holdfast
dream``. This module is the plugin ``grounding``, which refuses lines of curated memory without a source.

It checks the surfaces ``memory``, ``user`` and ``profile``, and only documents that come with their sources (those of a
dream), because text written by a user needs no source. Setting, in ``[plugins.grounding]``: ``strict``
(default false; true also refuses lines with less than half of their words in the sources). The rules are in
:mod:`holdfast_app.dream.grounding`.

This module runs at every agent event, usually only to skip a document, so everything else is imported when needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from holdfast.hooks import hookimpl

if TYPE_CHECKING:
    from holdfast.models import Finding
    from holdfast.plugin.discovery import PluginContext
    from holdfast.validation import ValidationRequest


class Grounding:
    """The plugin. Raises: ConfigError for an unusable setting."""

    known_settings: ClassVar[tuple[str, ...]] = ("strict",)
    #: A project may only make it stricter.
    project_settings: ClassVar[Mapping[str, Callable[[object, object], bool]]] = {
        "strict": lambda value, own: value is True or (value is False and not own)
    }

    def __init__(self, *, context: PluginContext) -> None:
        strict = context.settings.get("strict", False)
        if not isinstance(strict, bool):
            from holdfast.errors import ConfigError

            raise ConfigError(f"plugins.grounding.strict cannot be {strict!r}.", next_step="It is true or false.")
        self.strict = strict

    @hookimpl
    def on_validate(self, request: ValidationRequest) -> Sequence[Finding]:
        """One finding for each line with an invention, in line order. Text without sources has none."""
        if not request.sources or request.surface not in ("memory", "user", "profile"):
            return ()
        from holdfast_app.dream.grounding.check import findings

        return findings(request, strict=self.strict)
