"""The settings, as values with defaults. Reading them from files is :mod:`holdfast.config.settings`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import time, tzinfo

from attrs import Attribute, field, frozen, validators

from holdfast.config.layout import Layout
from holdfast.models.value import Value
from holdfast.plugin import discovery


@frozen(kw_only=True, eq=False, repr=False)
class StorageConfig(Value):
    """``backend`` names an entry point; ``path`` is its folder under the project; ``facts`` its facts file.

    With ``spool`` a flush that the store's server does not take is kept on this machine and written later.

    ``options`` holds the other keys of the ``[storage]`` table, for the backend to read.
    """

    backend: str = "file"
    path: str = ".holdfast"
    facts: str = "facts.jsonl"
    spool: bool = field(default=False, repr=False)  # not part of which store it is
    options: Mapping[str, object] = field(factory=dict)


@frozen(kw_only=True, eq=False, repr=False)
class PluginConfig(Value):
    """A ``[plugins.NAME]`` table. Its presence enables the plugin unless ``enabled = false``.

    ``deadline_s`` bounds one call of a hook, in seconds. ``settings`` is the rest, for the plugin to read.
    """

    enabled: bool = True
    deadline_s: float | None = field(default=None, validator=validators.optional(validators.gt(0)))
    settings: Mapping[str, object] = field(factory=dict)


@frozen(kw_only=True, eq=False, repr=False)
class FlushConfig(Value):
    """With ``policy`` lenient, a missing payload is derived. With strict, it blocks, at most ``strict_blocks``
    times."""

    policy: str = field(default="lenient", validator=validators.in_(("lenient", "strict")))
    strict_blocks: int = field(default=3, validator=validators.ge(1))


@frozen(kw_only=True, eq=False, repr=False)
class IdentityConfig(Value):
    """With ``record`` each flush and fact names ``person`` and ``machine``: by default the login and the host name.
    When it is not set, it is on where machines share the store: on a server."""

    record: bool | None = None
    person: str = ""
    machine: str = ""


def _check_share(_: object, __: Attribute[float], value: float) -> None:
    if value != 0 and not 0.3 <= value <= 1:
        raise ValueError(f"{value} is not 0 and not from 0.3 to 1")


@frozen(kw_only=True, eq=False, repr=False)
class SessionConfig(Value):
    """``keep_last`` messages stay after a trim; ``idle_minutes`` without a turn counts as the session's end.

    Above ``ask_at``, a share of the context window, a client's prompt hook asks the agent once to flush; 0 never asks.
    ``context_window`` is the window in tokens for clients that do not report it; 0 means the client's usual one.
    """

    keep_last: int = field(default=4, validator=validators.ge(0))
    idle_minutes: float = field(default=120.0, validator=validators.gt(0))
    ask_at: float = field(default=0.7, validator=_check_share)
    context_window: int = field(default=0, validator=validators.ge(0))


@frozen(kw_only=True, eq=False, repr=False)
class FactsConfig(Value):
    """Rules of the fact store. Source: R040, R058; the options, all off, are those of readings A01, A05 and A08.

    ``rank_union``: at the cap, a new fact weaker than all stored facts is rejected. ``reserved_corrections``: this many
    of the newest corrections, including an arriving one, are never evicted. ``supersede``: an evicted or overwritten
    fact keeps its content in the audit trail. ``strict``: creating a duplicate raises. ``bad_category``: the handling
    of an extracted fact with an unknown category: ``drop``, or ``context``, which files it there.
    """

    max_facts: int = field(default=500, validator=validators.ge(1))
    threshold: float = field(default=0.5, validator=[validators.ge(0.0), validators.le(1.0)])
    rank_union: bool = False
    reserved_corrections: int = field(default=0, validator=validators.ge(0))
    supersede: bool = False
    strict: bool = False
    bad_category: str = field(default="drop", validator=validators.in_(("drop", "context")))


@frozen(kw_only=True, eq=False, repr=False)
class ExtractConfig(Value):
    """When turns are extracted, and how failed extractions are retried.

    ``when``: ``flush``, or ``turn``, which extracts each ended turn in a separate process. A failed extraction is
    retried, with at most ``max_attempts`` attempts in all, first after ``backoff_minutes``, doubling each time, and
    abandoned after ``max_wait_hours``. Source: R033, reading A19.
    """

    when: str = field(default="flush", validator=validators.in_(("flush", "turn")))
    max_attempts: int = field(default=5, validator=validators.ge(1))
    backoff_minutes: float = field(default=1.0, validator=validators.ge(0))
    max_wait_hours: float = field(default=72.0, validator=validators.gt(0))


def _nonblank(_: object, __: Attribute[str], value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r} is not a command")


def _commands(value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise TypeError("expected a list of commands")
    return tuple(value)


@frozen(kw_only=True, eq=False, repr=False)
class WorkflowConfig(Value):
    """Workflows over the three files. ``automatic``: clients' hooks end a workflow whose condition they observed, and
    record failed checks when a session ends. ``tests`` are prefixes of additional test commands, besides those that
    holdfast knows."""

    automatic: bool = True
    tests: tuple[str, ...] = field(default=(), converter=_commands, validator=validators.deep_iterable(_nonblank))


@frozen(kw_only=True, eq=False, repr=False)
class PromptConfig(Value):
    """``max_tokens`` bounds the prompt block (R067); ``counter`` counts them: ``estimate``, or ``tiktoken:ENCODING``
    with the extra ``holdfast[tiktoken]`` (reading A17)."""

    max_tokens: int = field(default=2000, validator=validators.ge(0))
    counter: str = "estimate"


def _days(default: int) -> int:
    made: int = field(default=default, validator=validators.ge(0))
    return made


@frozen(kw_only=True, eq=False, repr=False)
class RetentionConfig(Value):
    """Retention in days for each kind of data, counted from its own date; 0 keeps it indefinitely. Source: R244.

    Written or flushed data is kept unless a limit is set here. By default only private leftovers are limited:
    ``journal`` is for messages of ended and flushed sessions, which ``turns = "forever"`` keeps compressed in an
    archive (:mod:`holdfast.journal.archive`) instead of removing them; ``damaged`` is a journal put aside by a repair;
    ``backup`` a copy of overwritten data; ``log`` the lines of private logs. Only ``holdfast retention run`` removes
    data.
    """

    daily: int = _days(0)
    diary: int = _days(0)
    trail: int = _days(0)
    report: int = _days(0)
    heartbeat: int = _days(0)
    briefing: int = _days(0)
    journal: int = _days(30)
    damaged: int = _days(90)
    backup: int = _days(90)
    log: int = _days(365)
    turns: str = field(default="journal", validator=validators.in_(("journal", "forever")))

    @property
    def of_turns(self) -> str:
        """A sentence for people: how long turns are kept."""
        if self.turns == "forever" or not self.journal:
            return "Turns are kept indefinitely."
        days = "1 day" if self.journal == 1 else f"{self.journal} days"
        return f"Turns are kept for {days} after a session's last turn (`[retention] journal`)."


def _check_time(_: object, __: Attribute[str], value: str) -> None:
    try:
        fits = len(value) == 5 and time.fromisoformat(value) is not None
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{value!r} is not a time of day; write it like `03:30`")


@frozen(kw_only=True, eq=False, repr=False)
class DreamConfig(Value):
    """When and how the daily notes are consolidated into MEMORY.md.

    A dream reads ``lookback_days`` calendar days including today and is due ``every_hours`` after the last. ``at`` is
    the local time for scheduled dreams. ``apply``: ``auto``, or ``propose``, which leaves the result for review.
    ``plugin`` names the dream plugin; by default a plugin enabled by a table (a model) precedes those on by default.
    ``judge`` names the model plugin that checks lines without verbatim proof; by default there is none. Notes with
    fewer characters than ``min_chars`` do not start a dream; if notes and MEMORY.md exceed ``max_chars``, the oldest
    notes are left out. Items beyond ``max_items`` or ``max_memory_chars`` go to the archive, the least confirmed and
    oldest first. ``backups`` is the number of backups kept.
    """

    lookback_days: int = field(default=3, validator=validators.ge(0))
    every_hours: float = field(default=24.0, validator=validators.gt(0))
    at: str = field(default="03:30", validator=_check_time)
    apply: str = field(default="auto", validator=validators.in_(("auto", "propose")))
    plugin: str = ""
    judge: str = ""
    min_chars: int = field(default=1, validator=validators.ge(1))
    max_chars: int = field(default=200_000, validator=validators.ge(1))
    max_memory_chars: int = field(default=50_000, validator=validators.ge(1))
    max_items: int = field(default=200, validator=validators.ge(1))
    backups: int = field(default=30, validator=validators.ge(1))


def _check_zone(_: object, __: Attribute[str], value: str) -> None:
    if value != "local":
        import zoneinfo

        try:
            zoneinfo.ZoneInfo(value)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(
                f"{value!r} is not a time zone; use `local`, `UTC` or a name like `Europe/Berlin`"
            ) from error


@frozen(kw_only=True, eq=False, repr=False)
class Config(Value):
    """All settings of holdfast.toml."""

    zone: str = field(default="local", validator=_check_zone)
    layout: Layout = field(factory=Layout)
    storage: StorageConfig = field(factory=StorageConfig)
    plugins: Mapping[str, PluginConfig] = field(factory=dict)
    flush: FlushConfig = field(factory=FlushConfig)
    session: SessionConfig = field(factory=SessionConfig)
    facts: FactsConfig = field(factory=FactsConfig)
    extract: ExtractConfig = field(factory=ExtractConfig)
    prompt: PromptConfig = field(factory=PromptConfig)
    dream: DreamConfig = field(factory=DreamConfig)
    workflow: WorkflowConfig = field(factory=WorkflowConfig)
    retention: RetentionConfig = field(factory=RetentionConfig)
    identity: IdentityConfig = field(factory=IdentityConfig)

    def plugin(self, name: str) -> PluginConfig:
        """A plugin's settings; plugins on by default need no table."""
        return self.plugins.get(name) or PluginConfig(enabled=name in discovery.defaults())

    @property
    def enabled_plugins(self) -> tuple[str, ...]:
        """Names of the plugins to load, sorted."""
        unmentioned = set(discovery.defaults()) - self.plugins.keys()
        return tuple(sorted({*unmentioned, *(name for name, plugin in self.plugins.items() if plugin.enabled)}))

    @property
    def tz(self) -> tzinfo | None:
        """The time zone for file names and headers; None means the system's."""
        if self.zone == "local":
            return None
        import zoneinfo

        return zoneinfo.ZoneInfo(self.zone)
