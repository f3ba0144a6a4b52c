"""The settings in force. The project file's permitted settings override the user's file, and the environment overrides
both.

A project's setting beyond the limits of :mod:`holdfast.config.values` counts only when the user trusts the project for
exactly these settings (:mod:`holdfast_app.project_settings.trust`). Until then it is *withheld*: it counts as not set,
and storage that depends on it is refused, because memory must not silently go elsewhere. Agents' hooks use this at
every event, so the settings' classes are imported only when a project sets one of their keys.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from holdfast.config import settings
from holdfast.errors import ConfigError, HoldfastError, NotTrusted
from holdfast.plugin import discovery
from holdfast_app.project_settings import files, statefolder, trust

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.config.fields import About, Users
    from holdfast.config.values import Config

_PLUGINS = "plugins"
#: Maximum number of withheld keys named on one line.
_MOST_KEYS = 3
#: Sections read at every agent event.
_HOT = ("layout", _PLUGINS, "session", "extract")
#: Settings that decide where memory is stored.
_PLACES = ("storage", "layout")
_PRESET = "layout.preset"


class Resolved(NamedTuple):
    """``data`` holds the settings in force as nested tables; ``source`` names the project's file.

    ``user`` are the user file's tables, ``written`` the project file's, and ``project`` the part of the
    latter in force. ``withheld`` maps dotted keys to values for project settings that need trust but lack it;
    ``trusted`` does so for those with trust. ``strange`` are unknown dotted keys in the project's file. ``foreign``
    names another user's settings file, which holdfast ignores. ``former`` is the preset in force instead of the one
    that is set (:mod:`holdfast_app.project_settings.statefolder`), usually empty.
    ``root`` is the project.
    """

    root: str
    data: dict[str, Any]
    source: str
    user: Mapping[str, Any]
    written: Mapping[str, Any]
    project: Mapping[str, Any]
    withheld: Mapping[str, object]
    trusted: Mapping[str, object]
    strange: tuple[str, ...]
    foreign: str
    former: str


def resolve(root: str, *, lenient: bool = False, obey_others: bool = False) -> Resolved:
    """Read the project's settings from ``root``.

    Unknown keys stay in ``data``, so that converting it to values reports them; ``lenient`` leaves them out.
    ``obey_others`` also reads another user's file, to show the effect of trusting it. Raises: ConfigError when a file
    cannot be read as TOML, or a variable of the environment cannot be used.
    """
    written, source = files.raw(root, obey_others=obey_others)
    outside, user = _outside()
    preset, former = _presets(root, written, outside)
    parted = part(written, outside, former)
    withheld, project = parted.asked, parted.allowed
    trusted: dict[str, object] = {}
    if withheld and trust.are_trusted(root, withheld, lambda: part(written, {}).asked):
        withheld, trusted = trusted, withheld
        project = _merged(project, parted.asking)
    strange = tuple(key for key, _ in leaves(parted.strange))
    data = _in_force(user, project if lenient else _merged(project, parted.strange), former)
    if former:
        withheld = {**withheld, _PRESET: preset}
    foreign = "" if written and not obey_others else files.foreign_file(root)
    return Resolved(root, data, source, user, written, project, withheld, trusted, strange, foreign, former)


def _presets(root: str, written: Mapping[str, Any], outside: Mapping[str, Any]) -> tuple[str, str]:
    """The preset that the settings name, and the one in force instead, if any."""
    named = settings.preset(outside)
    if _PRESET not in settings.overrides():
        named = settings.preset(written, named)
    return named, statefolder.former(root, named)


def _in_force(user: Mapping[str, Any], project: Mapping[str, Any], former: str) -> dict[str, Any]:
    data = _merged(user, project)
    settings.apply_overrides(data)
    return _merged(data, {"layout": {"preset": former}}) if former else data


def hot(root: str, *, alone: bool = False) -> dict[str, Any]:
    """The settings in force for hooks that journal; of the tables only ``layout``, ``plugins``, ``session`` and
    ``extract`` are complete.

    ``alone`` ignores the project's file. Raises: ConfigError.
    """
    written = {} if alone else files.raw(root)[0]
    outside, user = _outside()
    former = _presets(root, written, outside)[1]
    parted = part({key: written[key] for key in _HOT if key in written}, outside, former)
    if parted.asking:  # the others matter too, because trust covers all of them together
        return resolve(root, lenient=True).data
    return _in_force(user, parted.allowed, former)


def load(root: str, *, lenient: bool = False) -> Config:
    """The configuration in force for a project. Settings in its file that need the user's trust count only with it.

    ``lenient`` leaves out unusable settings in the project's file. Raises: ConfigError naming file and key.
    """
    return structured(resolve(root, lenient=lenient), lenient=lenient)


def structured(merged: Resolved, *, lenient: bool = False) -> Config:
    """The settings in force as values. Raises: ConfigError, unless ``lenient`` also for settings not in force."""
    from holdfast.config.serde import config_from

    variables = [f"HOLDFAST_{path.upper().replace('.', '__')}" for path in settings.overrides()]
    if outside := _outside()[0]:
        config_from(outside, " with ".join([files.user_file_shown()] * bool(merged.user) + variables))
    try:
        if merged.withheld and not lenient:
            made = config_from(merged.written, merged.source)
            if made.storage.options:
                own = [entry for entry in discovery.scan() if entry.distribution == discovery.OWN]
                for entry in own:  # no other is imported for a backend that the user has not chosen
                    if (entry.group, entry.name) == (discovery.BACKENDS, made.storage.backend):
                        discovery.check_storage(discovery.import_object(entry), made.storage.options, own)
        return config_from(merged.data, " with ".join([merged.source, *variables]))
    except ConfigError as error:
        line = files.line_of(merged.root, error.message)
        detail = f"Line {line}: {error}" if line else str(error)
        raise files.mistake(merged.source, "bad-value", detail, line=line) from None


def portable(root: str) -> dict[str, object]:
    """The project's settings that need trust if the user has set nothing, which are the same on every machine.

    Raises: ConfigError.
    """
    return part(files.raw(root)[0], {}).asked


def needs_trust(key: str, value: object) -> bool:
    """Whether a project may set the dotted ``key`` to ``value`` only with the user's trust."""
    written: dict[str, Any] = {}
    settings.put(written, key.split("."), value)
    return bool(part(written, _outside()[0]).asked)


def require_places(merged: Resolved) -> None:
    """Refuse to open a store that untrusted settings would move. Raises: NotTrusted."""
    fine = ("storage.spool", _PRESET if merged.former else "")  # with the former preset memory stays where it is
    if moved := [key for key in merged.withheld if key.partition(".")[0] in _PLACES and key not in fine]:
        known = [key for key in moved if key in _table()]  # another key may be a sentence for the agent
        raise NotTrusted(
            f"{merged.source} decides where memory is stored{_shown(known)}, and the project is not trusted.",
            next_step="Run `holdfast trust` to see and accept it. Until then only the journal is written.",
            detail=f"{merged.source} decides where memory is stored{_shown(moved)}.",
        )


def _shown(keys: Collection[str]) -> str:
    """Keys of an untrusted file in brackets, on one line: printable, short, and limited in number."""
    shown = ["".join(c if c.isprintable() else "?" for c in key)[:60] for key in list(keys)[:_MOST_KEYS]]
    more = f" and {len(keys) - _MOST_KEYS:,} more" if len(keys) > _MOST_KEYS else ""
    return f" ({', '.join(f'`{key}`' for key in shown)}{more})" if keys else ""


def notices(merged: Resolved, *, names: bool = True) -> list[tuple[str, str]]:
    """A sentence and its next step for each kind of setting not in force.

    Without ``names`` it contains no string from the project's file, because agents read the brief, and a key can hold a
    sentence.
    """
    lines = []
    if merged.former:
        reason = f"the private state is in {settings.STATE_FOLDERS[merged.former]}, so {merged.former!r} stays in force"
        step = "Run `holdfast trust` to accept the change and move the state."
        lines.append((f"The layout's preset was changed, but {reason}.", step))
    if asked := [key for key in merged.withheld if key != _PRESET or not merged.former]:
        what, them = ("1 setting", "it") if len(asked) == 1 else (f"{len(asked):,} settings", "them")
        are = "is" if len(asked) == 1 else "are"
        what += f" of this project's file{_shown(asked) if names else ''} {are} not in force"
        step = f"Run `holdfast trust` to see and accept {them}."
        lines.append((f"{what}: its user has not trusted the project.", step))
    if merged.strange:
        what = f"This project's file has unknown settings{_shown(merged.strange) if names else ''}; they are ignored."
        lines.append((what, "Run `holdfast config` to see the mistake."))
    if merged.foreign:
        which = f"{merged.foreign!r}" if names else "A settings file or private folder at or above this project"
        step = "Run `holdfast trust` in its folder to use it anyway."
        lines.append((f"{which} belongs to another user, so it is ignored.", step))
    return lines


def sentences(merged: Resolved) -> tuple[str, ...]:
    """The notices as sentences that an agent may read."""
    return tuple(" ".join(notice) for notice in notices(merged, names=False))


def misspelt() -> Iterator[tuple[str, str]]:
    """A sentence and its next step for each variable of the environment that is nearly a setting's."""
    from holdfast.text.humanize import nearest

    known = [f"HOLDFAST_{key.upper().replace('.', '__')}" for key in _table()]
    for name in sorted(os.environ):
        near = nearest(name, known, 0.9) if name.startswith("HOLDFAST_") and "__" not in name else ""
        if near not in ("", name):
            yield f"The variable {name} is not known, so it is ignored.", f"Did you mean {near}?"


class Parted(NamedTuple):
    """A project's file split by trust, as nested tables: ``allowed``, ``asking`` and ``strange``."""

    allowed: dict[str, Any]
    asking: dict[str, Any]
    strange: dict[str, Any]

    @property
    def asked(self) -> dict[str, object]:
        """The settings that need trust, as dotted keys and values."""
        return dict(leaves(self.asking))


def part(written: Mapping[str, Any], outside: Mapping[str, Any], former: str = "") -> Parted:
    """Split a project's file into allowed, trust-requiring and unknown settings. ``outside`` is in force without the
    project, and ``former`` is the preset in force instead of the file's.

    A table that would enable a plugin needs trust as ``plugins.NAME.enabled``.
    """
    made = Parted({}, {}, {})
    base = dict(leaves(outside))
    preset = former or settings.preset(written, settings.preset(outside))
    if preset in settings.STATE_FOLDERS:
        base[_PRESET] = preset  # it determines the store's own folder
    for path, value in _entries(written):
        if former and path == ("layout", "preset"):
            continue
        into = made.allowed
        if path[0] == _PLUGINS and len(path) == 3:
            if not _plugin_allows(path[1], path[2], written[_PLUGINS][path[1]], outside.get(_PLUGINS)):
                into = made.asking
        else:
            allowed = _allows(".".join(path), value, base)
            if allowed is None and not (path[0] == "storage" and len(path) == 2):
                into = made.strange
            elif not allowed:
                into = made.asking
        settings.put(into, path, value)
    return made


def leaves(table: Mapping[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    """Dotted keys and values, with parts quoted where TOML requires it. Empty tables below the top are values."""
    for key, value in table.items():
        if not (key.replace("_", "").replace("-", "").isalnum() and key.isascii()):
            import json

            key = json.dumps(key)
        here = f"{path}.{key}" if path else key
        if isinstance(value, dict) and (value or not path):
            yield from leaves(value, here)
        else:
            yield here, value


def _entries(written: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], object]]:
    """A file's settings, each with its key path. A table passed on as a whole is one setting."""
    for section, table in written.items():
        if not isinstance(table, dict) or not table:
            yield (section,), table
        elif section != _PLUGINS:
            yield from (((section, key), value) for key, value in table.items())
        else:
            for name, plugin in table.items():
                if not isinstance(plugin, dict):
                    yield (section, name), plugin
                    continue
                if "enabled" not in plugin and name not in discovery.defaults():
                    yield (section, name, "enabled"), True  # its table enables it
                yield from (((section, name, key), value) for key, value in plugin.items())


def _plugin_allows(name: str, key: str, asked: Mapping[str, Any], outside: object) -> bool:
    """Whether a project may set ``key`` of ``[plugins.NAME]`` as in ``asked``. ``outside`` are tables without it."""
    table = outside.get(name) if isinstance(outside, dict) else None
    own = table if isinstance(table, dict) else {}
    is_default = name in discovery.defaults()
    on = own.get("enabled", True) is True and (table is not None or is_default)
    if not on and asked.get("enabled") is False:
        return True  # off in both cases
    if key == "enabled":
        return asked.get("enabled", True) is True and (on or is_default)
    if not on or key == "deadline_s":
        return False
    try:
        plugin = discovery.import_object(discovery.choose(discovery.scan(), discovery.PLUGINS, name))
    except HoldfastError:
        return False
    declared = getattr(plugin, "project_settings", None)
    try:  # it maps keys to None, for any value, or to a function of the value and the user's own, None without one
        if not declared or key not in declared:
            return False
        check = declared[key]
        return check is None or bool(check(asked[key], own.get(key)))
    except Exception:  # noqa: BLE001 - the value comes from a stranger and the function from a plugin
        return False


@cache
def _table() -> Mapping[str, About]:
    """Every dotted key outside of ``[plugins]``, described. A table like ``layout.documents`` is one key."""
    from holdfast.config import values

    return described(values.config_type())


def described(cls: Any, path: str = "") -> dict[str, About]:
    """A table's keys with those of its tables, dotted, in order."""
    import attrs

    from holdfast.config import fields

    keys: dict[str, About] = {}
    for field in attrs.fields(cls):
        if fields.ABOUT in field.metadata:
            keys[path + field.name] = field.metadata[fields.ABOUT]
        elif attrs.has(type(field.default)):
            keys.update(described(type(field.default), f"{path}{field.name}."))
    return keys


def _allows(key: str, value: object, users: Users) -> bool | None:
    """Whether a project may set ``key`` to ``value`` without the user's trust; None for an unknown key."""
    about = _table().get(key)
    if about is None:
        return None
    kind = type(about.default)
    if not (type(value) is kind or (kind is float and type(value) is int)):
        return False
    try:
        about.check(value)
        return about.project.fits(value, users)
    except (ValueError, TypeError):  # the user's own values are unchecked here
        return False


def _outside() -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings in force without a project (the user's file, overridden by the environment), then the file's."""
    user = settings.user_raw()[0]
    outside = _merged(user, {})
    settings.apply_overrides(outside)
    return outside, user


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge both into new dicts; ``over`` wins where both set a key."""
    made = {key: _merged(value, {}) if isinstance(value, dict) else value for key, value in under.items()}
    for key, value in over.items():
        below = made.get(key)
        made[key] = _merged(below if isinstance(below, dict) else {}, value) if isinstance(value, dict) else value
    return made
