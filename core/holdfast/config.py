"""The settings, as values with defaults. Reading them from files is :mod:`holdfast.settings`."""

from __future__ import annotations

import zoneinfo
from collections.abc import Mapping
from datetime import tzinfo

from attrs import Attribute, field, frozen, validators

from holdfast.layout import Layout
from holdfast.settings import DEFAULT_PLUGINS


@frozen(kw_only=True)
class StorageConfig:
    """``backend`` names an entry point; ``path`` is its folder under the project; ``facts`` its facts file.

    ``options`` holds whatever else the ``[storage]`` table says, for the backend to read.
    """

    backend: str = "file"
    path: str = ".holdfast"
    facts: str = "facts.jsonl"
    options: Mapping[str, object] = field(factory=dict)


@frozen(kw_only=True)
class PluginConfig:
    """A ``[plugins.NAME]`` table. Being there enables the plugin unless ``enabled = false``.

    ``deadline_s`` bounds one call of a hook, in seconds. ``settings`` is the rest, for the plugin to read.
    """

    enabled: bool = True
    deadline_s: float | None = field(default=None, validator=validators.optional(validators.gt(0)))
    settings: Mapping[str, object] = field(factory=dict)


@frozen(kw_only=True)
class FlushConfig:
    """``policy`` lenient: a missing payload is derived. Strict: it blocks, at most ``strict_blocks`` times."""

    policy: str = field(default="lenient", validator=validators.in_(("lenient", "strict")))
    strict_blocks: int = field(default=3, validator=validators.ge(1))


@frozen(kw_only=True)
class SessionConfig:
    """``keep_last`` messages stay after a trim; ``idle_minutes`` without a turn counts as the session's end."""

    keep_last: int = field(default=4, validator=validators.ge(0))
    idle_minutes: float = field(default=120.0, validator=validators.gt(0))


@frozen(kw_only=True)
class FactsConfig:
    """Rules of the fact store. Source: R040, R058."""

    max_facts: int = field(default=500, validator=validators.ge(1))
    threshold: float = field(default=0.5, validator=[validators.ge(0.0), validators.le(1.0)])


def _check_zone(_: object, __: Attribute[str], value: str) -> None:
    if value != "local":
        try:
            zoneinfo.ZoneInfo(value)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(
                f"{value!r} is not a time zone; use `local`, `UTC` or a name like `Europe/Berlin`"
            ) from error


@frozen(kw_only=True)
class Config:
    """Everything holdfast.toml can say."""

    zone: str = field(default="local", validator=_check_zone)
    layout: Layout = field(factory=Layout)
    storage: StorageConfig = field(factory=StorageConfig)
    plugins: Mapping[str, PluginConfig] = field(factory=dict)
    flush: FlushConfig = field(factory=FlushConfig)
    session: SessionConfig = field(factory=SessionConfig)
    facts: FactsConfig = field(factory=FactsConfig)

    def plugin(self, name: str) -> PluginConfig:
        """The settings of a plugin; the default ones of this distribution are on without a table."""
        return self.plugins.get(name, PluginConfig(enabled=name in DEFAULT_PLUGINS))

    @property
    def enabled_plugins(self) -> tuple[str, ...]:
        """Names of the plugins to load, sorted."""
        return tuple(sorted(n for n in {*self.plugins, *DEFAULT_PLUGINS} if self.plugin(n).enabled))

    @property
    def tz(self) -> tzinfo | None:
        """The zone that file names and headers follow; None is the system's."""
        return None if self.zone == "local" else zoneinfo.ZoneInfo(self.zone)
