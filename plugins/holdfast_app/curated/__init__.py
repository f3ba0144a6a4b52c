"""Keeps curated memory curated: sparse, durable, no diary. An ``on_validate`` plugin for MEMORY.md and USER.md.

Settings, in ``[plugins.curated]``: ``bullets`` (true: only ``- `` items under headings), ``max_items`` (200) and
``max_chars`` (500 characters per item). :mod:`holdfast_app.curated.check` lists the errors and warnings.

This module runs at every agent event, mostly to ignore other surfaces. The rest is imported when there is something to
check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from holdfast.hooks import LimitsItems, hookimpl

if TYPE_CHECKING:
    from holdfast.models import Finding
    from holdfast.validation import ValidationRequest

_SURFACES = ("memory", "user")


class Limits(NamedTuple):
    """The plugin's settings. ``max_chars`` limits one item, without its ``- ``."""

    bullets: bool = True
    max_items: int = 200
    max_chars: int = 500


class _Context(Protocol):
    @property
    def settings(self) -> Mapping[str, object]: ...


class CuratedMemory(LimitsItems):
    """The plugin. Raises: ConfigError for an unknown or invalid setting."""

    known_settings: ClassVar[tuple[str, ...]] = Limits._fields
    #: A project may only make the limits stricter, and not so strict that every write is refused.
    project_settings: ClassVar[Mapping[str, Callable[[object, object], bool]]] = {
        "bullets": lambda value, own: value is True or (value is False and own is False),
        "max_items": lambda value, own: _fits(value, own, 50, Limits().max_items),
        "max_chars": lambda value, own: _fits(value, own, 100, Limits().max_chars),
    }

    def __init__(self, *, context: _Context) -> None:
        self.limits = _limits(context.settings)
        self.max_items = self.limits.max_items

    @hookimpl
    def on_validate(self, request: ValidationRequest) -> Sequence[Finding]:
        """Findings for the curated surfaces, in line order. Empty for other surfaces."""
        if request.surface not in _SURFACES or request.outgoing:  # it masks nothing
            return ()
        from holdfast_app.curated.check import check

        return check(request, self.limits)


def _fits(value: object, own: object, least: int, default: int) -> bool:
    """Whether a project may lower the user's ``own`` limit, or the default one, to ``value``."""
    return type(value) is int and least <= value <= (own if isinstance(own, int) else default)


def _limits(settings: Mapping[str, object]) -> Limits:
    """A table's settings. Raises: ConfigError for an unknown or invalid setting."""
    for name, value in settings.items():
        default = Limits._field_defaults.get(name)
        # type() rather than isinstance: true is not a number of items.
        if default is None or type(value) is not type(default) or (type(value) is int and value < 1):
            from holdfast.errors import ConfigError

            raise ConfigError(
                f"plugins.curated.{name} cannot be {value!r}.",
                next_step="Settings are: bullets (true or false), max_items and max_chars (whole numbers from 1).",
            )
    return Limits(**settings)  # type: ignore[arg-type]
