"""The settings, as values with defaults. Reading them from files is :mod:`holdfast.config.settings`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import time, tzinfo

from holdfast.config.layout import Layout
from holdfast.config.section import Section, at_least, more_than, one_of, setting
from holdfast.plugin import discovery


class StorageConfig(Section):
    """``backend`` names an entry point; ``path`` is its folder under the project; ``facts`` its facts file.

    With ``spool`` a flush that the store's server does not take is kept on this machine and written later.

    ``options`` holds the other keys of the ``[storage]`` table, for the backend to read.
    """

    backend: str = "file"
    path: str = ".holdfast"
    facts: str = "facts.jsonl"
    spool: bool = False
    options: Mapping[str, object] = {}

    @property
    def place(self) -> str:
        """Identifies the store. ``spool`` is not part of it."""
        named = ", ".join(f"{key}={getattr(self, key)!r}" for key in ("backend", "path", "facts", "options"))
        return f"StorageConfig({named})"


def _check_deadline(value: float | None) -> None:
    if value is not None:
        more_than(0)(value)


class PluginConfig(Section):
    """A ``[plugins.NAME]`` table. Its presence enables the plugin unless ``enabled = false``.

    ``deadline_s`` bounds one call of a hook, in seconds. ``settings`` is the rest, for the plugin to read.
    """

    enabled: bool = True
    deadline_s: float | None = setting(default=None, check=_check_deadline)
    settings: Mapping[str, object] = {}


class FlushConfig(Section):
    """With ``policy`` lenient, a missing payload is derived. With strict, it blocks, at most ``strict_blocks``
    times."""

    policy: str = setting(default="lenient", check=one_of("lenient", "strict"))
    strict_blocks: int = setting(default=3, check=at_least(1))


class IdentityConfig(Section):
    """With ``record`` each flush and fact names ``person`` and ``machine``: by default the login and the host name.
    When it is not set, it is on where machines share the store: on a server."""

    record: bool | None = None
    person: str = ""
    machine: str = ""


class TrustConfig(Section):
    """Commits by these ``authors`` count as seen by the user: e-mail addresses, or fingerprints of signing keys. Only
    the user's own file can set them."""

    authors: tuple[str, ...] = ()


def _check_share(value: float) -> None:
    if value != 0 and not 0.3 <= value <= 1:
        raise ValueError(f"{value} is not 0 and not from 0.3 to 1")


class SessionConfig(Section):
    """``keep_last`` messages stay after a trim; ``idle_minutes`` without a turn counts as the session's end.

    Above ``ask_at``, a share of the context window, a client's prompt hook asks the agent once to flush; 0 never asks.
    ``context_window`` is the window in tokens for clients that do not report it; 0 means the client's usual one.
    """

    keep_last: int = setting(default=4, check=at_least(0))
    idle_minutes: float = setting(default=120.0, check=more_than(0))
    ask_at: float = setting(default=0.7, check=_check_share)
    context_window: int = setting(default=0, check=at_least(0))


def _check_confidence(value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"must be from 0 to 1, not {value!r}")


class FactsConfig(Section):
    """Rules of the fact store. Source: R040, R058; the options, all off, are those of readings A01, A05 and A08.

    ``rank_union``: at the cap, a new fact weaker than all stored facts is rejected. ``reserved_corrections``: this many
    of the newest corrections, including an arriving one, are never evicted. ``supersede``: an evicted or overwritten
    fact keeps its content in the audit trail. ``strict``: creating a duplicate raises. ``bad_category``: the handling
    of an extracted fact with an unknown category: ``drop``, or ``context``, which files it there.
    """

    max_facts: int = setting(default=500, check=at_least(1))
    threshold: float = setting(default=0.5, check=_check_confidence)
    rank_union: bool = False
    reserved_corrections: int = setting(default=0, check=at_least(0))
    supersede: bool = False
    strict: bool = False
    bad_category: str = setting(default="drop", check=one_of("drop", "context"))


class ExtractConfig(Section):
    """When turns are extracted, and how failed extractions are retried.

    ``when``: ``flush``, or ``turn``, which extracts each ended turn in a separate process. A failed extraction is
    retried, with at most ``max_attempts`` attempts in all, first after ``backoff_minutes``, doubling each time, and
    abandoned after ``max_wait_hours``. Source: R033, reading A19.
    """

    when: str = setting(default="flush", check=one_of("flush", "turn"))
    max_attempts: int = setting(default=5, check=at_least(1))
    backoff_minutes: float = setting(default=1.0, check=at_least(0))
    max_wait_hours: float = setting(default=72.0, check=more_than(0))


class PromptConfig(Section):
    """``max_tokens`` bounds the prompt block (R067); ``counter`` counts them: ``estimate``, or ``tiktoken:ENCODING``
    with the extra ``tiktoken`` (reading A17)."""

    max_tokens: int = setting(default=2000, check=at_least(0))
    counter: str = "estimate"


class RetentionConfig(Section):
    """Retention in days for each kind of data, counted from its own date; 0 keeps it indefinitely. Source: R244.

    Written or flushed data is kept unless a limit is set here. By default only private leftovers are limited:
    ``journal`` is for messages of ended and flushed sessions, which ``turns = "forever"`` keeps compressed in an
    archive (:mod:`holdfast_app.sessions.archive`) instead of removing them; ``damaged`` is a journal put aside by a
    repair; ``backup`` a copy of overwritten data; ``log`` the lines of private logs. Only ``holdfast retention run``
    removes data.
    """

    daily: int = setting(default=0, check=at_least(0))
    diary: int = setting(default=0, check=at_least(0))
    trail: int = setting(default=0, check=at_least(0))
    report: int = setting(default=0, check=at_least(0))
    heartbeat: int = setting(default=0, check=at_least(0))
    briefing: int = setting(default=0, check=at_least(0))
    journal: int = setting(default=30, check=at_least(0))
    damaged: int = setting(default=90, check=at_least(0))
    backup: int = setting(default=90, check=at_least(0))
    log: int = setting(default=365, check=at_least(0))
    turns: str = setting(default="journal", check=one_of("journal", "forever"))

    @property
    def of_turns(self) -> str:
        """A sentence for people: how long turns are kept."""
        if self.turns == "forever" or not self.journal:
            return "Turns are kept indefinitely."
        days = "1 day" if self.journal == 1 else f"{self.journal} days"
        return f"Turns are kept for {days} after a session's last turn (`[retention] journal`)."


def _check_time(value: str) -> None:
    try:
        fits = len(value) == 5 and time.fromisoformat(value) is not None
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{value!r} is not a time of day; write it like `03:30`")


class DreamConfig(Section):
    """When and how the daily notes are consolidated into MEMORY.md.

    A dream reads ``lookback_days`` calendar days including today and is due ``every_hours`` after the last. ``at`` is
    the local time for scheduled dreams. ``apply``: ``auto``, or ``propose``, which leaves the result for review.
    ``plugin`` names the dream plugin; by default a plugin enabled by a table (a model) precedes those on by default.
    ``judge`` names the model plugin that checks new lines against their sources, or is ``none``; by default the model
    that wrote them does. Notes with fewer characters than ``min_chars`` do not start a dream; if notes and MEMORY.md
    exceed ``max_chars``, the oldest notes are left out. Items beyond ``max_items`` or ``max_memory_chars`` go to the
    archive, the least confirmed and oldest first. ``backups`` is the number of backups kept.
    """

    lookback_days: int = setting(default=3, check=at_least(0))
    every_hours: float = setting(default=24.0, check=more_than(0))
    at: str = setting(default="03:30", check=_check_time)
    apply: str = setting(default="auto", check=one_of("auto", "propose"))
    plugin: str = ""
    judge: str = ""
    min_chars: int = setting(default=1, check=at_least(1))
    max_chars: int = setting(default=200_000, check=at_least(1))
    max_memory_chars: int = setting(default=50_000, check=at_least(1))
    max_items: int = setting(default=200, check=at_least(1))
    backups: int = setting(default=30, check=at_least(1))


def _check_zone(value: str) -> None:
    if value != "local":
        import zoneinfo

        try:
            zoneinfo.ZoneInfo(value)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(
                f"{value!r} is not a time zone; use `local`, `UTC` or a name like `Europe/Berlin`"
            ) from error


class Config(Section):
    """All settings of holdfast.toml."""

    zone: str = setting(default="local", check=_check_zone)
    layout: Layout = Layout()
    storage: StorageConfig = StorageConfig()
    plugins: Mapping[str, PluginConfig] = {}
    flush: FlushConfig = FlushConfig()
    session: SessionConfig = SessionConfig()
    facts: FactsConfig = FactsConfig()
    extract: ExtractConfig = ExtractConfig()
    prompt: PromptConfig = PromptConfig()
    dream: DreamConfig = DreamConfig()
    retention: RetentionConfig = RetentionConfig()
    identity: IdentityConfig = IdentityConfig()
    trust: TrustConfig = TrustConfig()

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
