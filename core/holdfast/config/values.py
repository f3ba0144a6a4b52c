"""The kernel's settings: each key's default, check and meaning, and the values that a project may set.

Reading them from files is :mod:`holdfast.config.settings`. docs/configuration.md lists them; after a change
``python -m tests.support.settings_page`` writes its table.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, tzinfo
from typing import Any

from attrs import field, frozen

from holdfast.clock import local_now
from holdfast.config import settings
from holdfast.config.fields import (
    ANYTHING,
    NOTHING,
    Allowed,
    Users,
    at_least,
    between,
    more_than,
    one_of,
    others,
    setting,
    stricter,
)
from holdfast.config.layout import PRESETS, Layout
from holdfast.errors import HoldfastError
from holdfast.plugin import discovery

#: Backends that write only in the folder that the layout names.
_IN_PROJECT = ("file", "sqlite")


def _keeps_in_project(value: str, users: Users) -> bool:
    # A clone must not move a user's memory from elsewhere into the project's folder.
    return value in _IN_PROJECT and users.get("storage.backend", "file") in _IN_PROJECT


def _presets_own(key: str) -> Allowed:
    """The preset's own value, unless the user keeps the store elsewhere."""

    def fits(value: str, users: Users) -> bool:
        preset = users.get("layout.preset", "default")
        if key in users or preset not in PRESETS:
            return False
        layout = Layout(preset=preset)
        return value == (layout.base.path if key == "storage.path" else layout.facts)

    return Allowed("the preset's own value", fits)


def _check_path(value: str) -> None:
    if "\0" in value:
        raise ValueError("must not hold a NUL character")


@frozen(kw_only=True)
class StorageConfig:
    """``[storage]``: the store. ``options`` holds the table's other keys, for the backend to read."""

    backend: str = setting(
        "file",
        "Backend name, from the entry-point group `holdfast.backends`.",
        project=Allowed("`file` or `sqlite`, unless your own file names another backend", _keeps_in_project),
    )
    path: str = setting(
        ".holdfast",
        "The store's folder under the project. Follows from the layout when not set.",
        check=_check_path,
        project=_presets_own("storage.path"),
    )
    facts: str = setting(
        "facts.jsonl",
        "The facts file, for backends that keep one. Follows from the layout when not set.",
        check=_check_path,
        project=_presets_own("storage.facts"),
    )
    spool: bool = setting(
        False, "Keep a flush on this machine while the store's server is away, and write it later: [spool](spool.md)."
    )
    options: Mapping[str, object] = others()


def _check_deadline(value: float | None) -> None:
    if value is not None:
        more_than(0)(value)


@frozen(kw_only=True)
class PluginConfig:
    """A ``[plugins.NAME]`` table. ``settings`` holds its other keys, for the plugin to read."""

    enabled: bool = setting(
        True,
        "A `[plugins.NAME]` table enables the plugin unless it says `false` here.",
        project=Allowed("`true` where the plugin is on anyway", NOTHING.fits),  # the resolver knows which are on
    )
    deadline_s: float | None = setting(
        None,
        "Seconds that one call may take. Not set: 10 for `on_validate`, 60 for `on_extract` and `on_flush`, 600 for "
        "`on_dream`.",
        check=_check_deadline,
    )
    settings: Mapping[str, object] = others()


#: Maximum times that a project may let strict flushes block before holdfast derives missing fields.
MAX_STRICT_BLOCKS = 3


def _blocks(value: int, users: Users) -> bool:
    is_strict = users.get("flush.policy") == "strict"
    least = users.get("flush.strict_blocks", MAX_STRICT_BLOCKS) if is_strict else 1
    return bool(least <= value <= MAX_STRICT_BLOCKS)


@frozen(kw_only=True)
class FlushConfig:
    """``[flush]``: the treatment of missing payload fields."""

    policy: str = setting(
        "lenient",
        "`lenient`: missing payload fields are derived. `strict`: they block, a limited number of times.",
        check=one_of("lenient", "strict"),
        project=stricter("flush.policy", "strict", "lenient"),
    )
    strict_blocks: int = setting(
        3,
        "Number of refusals before `strict` derives the missing fields after all. At least 1.",
        check=at_least(1),
        project=Allowed(f"1 to {MAX_STRICT_BLOCKS}, not below your own value when your policy is `strict`", _blocks),
    )


@frozen(kw_only=True)
class SessionConfig:
    """``[session]``: when a session is trimmed, or ends."""

    keep_last: int = setting(
        4, "Messages that `compact` keeps by default.", check=at_least(0), project=between(0, 1_000)
    )
    idle_minutes: float = setting(
        120.0,
        "A session without a turn for this long counts as ended. The next session start of an agent, `holdfast flush`, "
        "`holdfast end` or `Holdfast.begin` flushes it.",
        check=more_than(0),
        project=between(5, 10_080),
    )


def _check_zone(value: str) -> None:
    if value != "local":
        import zoneinfo

        try:
            zoneinfo.ZoneInfo(value)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(
                f"{value!r} is not a time zone; use `local`, `UTC` or a name like `Europe/Berlin`"
            ) from error


@frozen(kw_only=True)
class Config:
    """The kernel's settings. An application extends the class, see :func:`config_type`."""

    zone: str = setting(
        "local",
        "Time zone of file names and headings: `local`, `UTC` or a name like `Europe/Berlin`.",
        check=_check_zone,
        project=Allowed("any time zone", ANYTHING.fits),
    )
    layout: Layout = Layout()
    storage: StorageConfig = StorageConfig()
    plugins: Mapping[str, PluginConfig] = field(factory=dict)
    flush: FlushConfig = FlushConfig()
    session: SessionConfig = SessionConfig()

    @classmethod
    def tables_of(cls, root: str) -> tuple[Sequence[Mapping[str, Any]], Mapping[str, Any]]:
        """The tables of settings by which the user answers for the project at ``root``, the one that counts most first,
        and the project's own as written. The kernel reads no project's file. Unreadable files count as empty."""
        tables: list[Mapping[str, Any]] = [settings.overrides()]
        with suppress(HoldfastError):
            tables.append(settings.user_raw()[0])
        return tables, {}

    def plugin(self, name: str) -> PluginConfig:
        """A plugin's settings; plugins on by default need no table."""
        return self.plugins.get(name) or PluginConfig(enabled=name in discovery.defaults())

    @property
    def enabled_plugins(self) -> tuple[str, ...]:
        unmentioned = set(discovery.defaults()) - self.plugins.keys()
        return tuple(sorted({*unmentioned, *(name for name, plugin in self.plugins.items() if plugin.enabled)}))

    @property
    def tz(self) -> tzinfo | None:
        """The time zone for file names and headers; None means the system's."""
        if self.zone == "local":
            return UTC if local_now().tzinfo is UTC else None
        import zoneinfo

        return zoneinfo.ZoneInfo(self.zone)


def config_type() -> type[Config]:
    """The class of all settings in holdfast.toml, the application's or otherwise the kernel's."""
    return discovery.declared("Config") or Config
