"""Settings that a project may set without the user's trust, each with its bounds.

A cloned project may be hostile. A setting is harmless if no value within its bounds sends data anywhere, writes outside
the layout preset's folders, loads anything not on by default, weakens redaction or the flush gate, deletes data, or
spends money. Every other setting belongs to the user: see docs/trust.md. Each key of
:class:`holdfast.config.values.Config` is in :data:`CORE`; a test holds the two together. Plugins declare their own
keys, see :func:`of_plugin`. This is read at agent events, so it imports nothing heavy.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    #: Whether a value is harmless. The second argument maps dotted keys to their values in force without the project.
    Check: TypeAlias = Callable[[object, Mapping[str, Any]], bool]

#: Each layout preset's store folder and facts file, as in :data:`holdfast.config.layout.PRESETS`.
_STORES = {
    "default": (".holdfast", "facts.jsonl"),
    "timmy": (".", "timmy-config/memories/facts.jsonl"),
    "opencode": (".opencode", "holdfast/facts.jsonl"),
}
#: Maximum times that a project may let strict flushes block before holdfast derives missing fields.
MAX_STRICT_BLOCKS = 3


def _users(value: object, base: Mapping[str, Any]) -> bool:
    """No value is harmless."""
    return False


def _one_of(*allowed: object) -> Check:
    return lambda value, base: type(value) in {type(a) for a in allowed} and value in allowed


def _flag(value: object, base: Mapping[str, Any]) -> bool:
    return isinstance(value, bool)


def _between(least: float, most: float, *, whole: bool = True) -> Check:
    """From ``least`` to ``most``, both included."""

    def check(value: object, base: Mapping[str, Any]) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            return False
        return least <= value <= most

    return check


def _off(value: object, base: Mapping[str, Any]) -> bool:
    return not isinstance(value, bool) and value == 0


def _window(value: object, base: Mapping[str, Any]) -> bool:
    return _between(0, 0)(value, base) or _between(10_000, 100_000_000)(value, base)


def _at_least_in_force(key: str, default: int, most: int) -> Check:
    """At least the value in force without the project, because a lower value deletes data."""

    def check(value: object, base: Mapping[str, Any]) -> bool:
        if isinstance(value, bool) or not isinstance(value, int):
            return False
        return bool(max(default, base.get(key, default)) <= value <= most)

    return check


def _zone(value: object, base: Mapping[str, Any]) -> bool:
    if value in ("local", "UTC"):
        return True
    if not isinstance(value, str):
        return False
    import zoneinfo

    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _declared(key: str) -> tuple[str, ...]:
    """Values of ``key`` that this distribution declares as harmless: backends that write only in the layout preset's
    folder, and dream plugins that send nothing."""
    from holdfast.plugin import discovery

    prefix = f"{key}."
    names = discovery.declared("harmless")
    return tuple(name.removeprefix(prefix) for name in names if name.startswith(prefix))


def _backend(value: object, base: Mapping[str, Any]) -> bool:
    # A clone must not move a user's memory from elsewhere into the project's folder.
    local = _declared("storage.backend")
    return value in local and base.get("storage.backend", "file") in local


def _own(key: str, index: int) -> Check:
    """The preset's own value, unless the user keeps the store elsewhere."""

    def check(value: object, base: Mapping[str, Any]) -> bool:
        preset = base.get("layout.preset", "default")
        return key not in base and isinstance(preset, str) and preset in _STORES and value == _STORES[preset][index]

    return check


def _policy(value: object, base: Mapping[str, Any]) -> bool:
    return value == "strict" or (value == "lenient" and base.get("flush.policy", "lenient") == "lenient")


def _blocks(value: object, base: Mapping[str, Any]) -> bool:
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    of_user = base.get("flush.strict_blocks", MAX_STRICT_BLOCKS) if base.get("flush.policy") == "strict" else 1
    return of_user <= value <= MAX_STRICT_BLOCKS


def _supersede(value: object, base: Mapping[str, Any]) -> bool:
    return value is True or (value is False and base.get("facts.supersede", False) is False)


def _apply(value: object, base: Mapping[str, Any]) -> bool:
    return value == "propose" or (value == "auto" and base.get("dream.apply", "auto") == "auto")


def _judge(value: object, base: Mapping[str, Any]) -> bool:
    return value == "" and base.get("dream.judge", "") == ""


def _time(value: object, base: Mapping[str, Any]) -> bool:
    if not isinstance(value, str) or len(value) != 5 or value[2] != ":":
        return False
    hour, minute = value[:2], value[3:]
    return hour.isdigit() and minute.isdigit() and value.isascii() and int(hour) < 24 and int(minute) < 60


#: Dotted key -> whether a value is harmless. A table passed on as a whole (``layout.documents``) is one key.
CORE: Mapping[str, Check] = {
    "zone": _zone,
    "layout.preset": _one_of(*_STORES),
    "layout.roots": _users,
    "layout.documents": _users,
    "storage.backend": _backend,
    "storage.path": _own("storage.path", 0),
    "storage.facts": _own("storage.facts", 1),
    "storage.spool": _users,  # weakens the gate
    "flush.policy": _policy,
    "flush.strict_blocks": _blocks,
    "session.keep_last": _between(0, 1_000),
    "session.idle_minutes": _between(5, 10_080, whole=False),
    "session.ask_at": lambda value, base: _off(value, base) or _between(0.3, 1, whole=False)(value, base),
    "session.context_window": _window,
    "facts.max_facts": _at_least_in_force("facts.max_facts", 500, 100_000),
    "facts.threshold": _between(0.0, 0.8, whole=False),
    "facts.rank_union": _flag,
    "facts.reserved_corrections": _between(0, 50),
    "facts.supersede": _supersede,
    "facts.strict": _flag,
    "facts.bad_category": _one_of("drop", "context"),
    # Each attempt may call a paid model.
    "extract.when": _one_of("flush"),
    "extract.max_attempts": _between(1, 5),
    "extract.backoff_minutes": _between(1, 1_440, whole=False),
    "extract.max_wait_hours": _between(1, 720, whole=False),
    "prompt.max_tokens": _between(0, 8_000),
    "prompt.counter": _one_of("estimate"),  # others fetch their vocabulary from a server
    "dream.lookback_days": _between(0, 31),
    "dream.every_hours": _between(12, 8_760, whole=False),
    "dream.at": _time,
    "dream.apply": _apply,
    "dream.plugin": lambda value, base: value in _declared("dream.plugin"),
    "dream.judge": _judge,
    "dream.min_chars": _between(1, 10_000),
    "dream.max_chars": _between(1_000, 200_000),
    "dream.max_memory_chars": _between(10_000, 200_000),
    "dream.max_items": _between(50, 1_000),
    "dream.backups": _at_least_in_force("dream.backups", 30, 1_000),
    "retention.daily": _users,
    "retention.diary": _users,
    "retention.trail": _users,
    "retention.report": _users,
    "retention.heartbeat": _users,
    "retention.briefing": _users,
    "retention.journal": _users,
    "retention.damaged": _users,
    "retention.backup": _users,
    "retention.log": _users,
    "retention.turns": _users,
    "identity.record": _users,
    "identity.person": _users,
    "identity.machine": _users,
    "trust.authors": _users,
}


def of_plugin(plugin: object, key: str, value: object, base: object) -> bool:
    """Whether a project may set ``key`` of this plugin's table to ``value``, by the plugin's own declaration.

    The attribute ``project_settings`` of a plugin (a module, class or object) maps the keys that a project may set to
    None, for any value, or to a function of the value and the user's own value (None when there is none) that returns
    whether the value is harmless. Without the attribute no key may be set. A function that raises counts as refusal.
    """
    declared = getattr(plugin, "project_settings", None)
    try:
        if not declared or key not in declared:
            return False
        check = declared[key]
        return check is None or bool(check(value, base))
    except Exception:  # noqa: BLE001 - the value comes from a stranger and the function from a plugin
        return False
