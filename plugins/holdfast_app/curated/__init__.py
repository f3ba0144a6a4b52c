"""Keeps curated memory curated: sparse, durable, no diary. An ``on_validate`` plugin for MEMORY.md and USER.md.

Settings, in ``[plugins.curated]``: ``bullets`` (true: only ``- `` items under headings), ``max_items`` (200) and
``max_chars`` (500 characters per item). :mod:`holdfast_app.curated.check` lists the errors and warnings.

This module runs at every agent event, mostly to ignore other surfaces. The rest is imported when there is something to
check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from holdfast.hooks import LimitsItems, hookimpl
from holdfast_app.curated import limits

if TYPE_CHECKING:
    from holdfast.models import Finding
    from holdfast.plugin.discovery import PluginContext
    from holdfast.validation import ValidationRequest


class CuratedMemory(LimitsItems):
    """The plugin. Raises: ConfigError for an unknown or invalid setting."""

    known_settings: ClassVar[tuple[str, ...]] = limits.Limits._fields
    #: A project may only make the limits stricter, and not so strict that every write is refused.
    project_settings: ClassVar[Mapping[str, Callable[[object, object], bool]]] = {
        "bullets": lambda value, own: value is True or (value is False and own is False),
        "max_items": lambda value, own: _fits(value, own, 50, limits.Limits().max_items),
        "max_chars": lambda value, own: _fits(value, own, 100, limits.Limits().max_chars),
    }

    def __init__(self, *, context: PluginContext) -> None:
        self.limits = limits.of(context.settings)
        self.max_items = self.limits.max_items

    @hookimpl
    def on_validate(self, request: ValidationRequest) -> Sequence[Finding]:
        """Findings for the curated surfaces, in line order. Empty for other surfaces."""
        if request.surface not in ("memory", "user") or request.outgoing:  # it masks nothing
            return ()
        from holdfast_app.curated.check import check

        return check(request, self.limits)


def _fits(value: object, own: object, least: int, default: int) -> bool:
    """Whether a project may lower the user's ``own`` limit, or the default one, to ``value``."""
    return type(value) is int and least <= value <= (own if isinstance(own, int) else default)
