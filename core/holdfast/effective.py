"""The settings in force, each with where it comes from; and changing one without touching anything else in the file."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from holdfast import durable, settings
from holdfast.errors import ConfigError, Refused
from holdfast.serde import unstructure

HEADER = (
    "# holdfast: what an agent must not forget survives compaction, provider swaps, restarts and session ends.\n"
    "# Only what differs from the defaults stands here. `holdfast config` shows every setting that is in force;\n"
    "# docs/configuration.md says what each means.\n"
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@frozen(kw_only=True)
class Setting:
    """One effective setting. ``source`` is a file's name, an environment variable or ``default``."""

    key: str
    value: object
    source: str


def effective(root: str, env: Mapping[str, str] | None = None) -> list[Setting]:
    """Every setting, in the order of :class:`holdfast.config.Config`. Raises: ConfigError when one is not valid."""
    config = settings.load(root, env)
    written, source = settings.raw(root)
    in_file = dict(_leaves(written))
    in_env = settings.overrides(env)
    table = unstructure(config)
    table["storage"].update(table["storage"].pop("options"))
    table["plugins"] = {
        name: {"enabled": p.enabled, **({"deadline_s": p.deadline_s} if p.deadline_s is not None else {}), **p.settings}
        for name in sorted({*config.plugins, *settings.DEFAULT_PLUGINS})
        for p in (config.plugin(name),)
    }
    found = []
    for key, value in _leaves(table):
        if key in in_env:
            where = "HOLDFAST_" + key.upper().replace(".", "__")
        else:
            where = source if key in in_file else "default"
        found.append(Setting(key=key, value=value, source=where))
    return found


def _leaves(table: Mapping[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        here = f"{path}.{key}" if path else key
        if isinstance(value, Mapping):
            yield from _leaves(value, here)
        else:
            yield here, value


def parse_value(text: str) -> object:
    """A TOML value when ``text`` is one (``3``, ``true``, ``["a"]``), else ``text`` itself."""
    import tomllib

    try:
        table = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return table["value"] if set(table) == {"value"} else text


def change(root: str, key: str, value: object) -> str:
    """Set ``key`` to ``value`` in the project's settings file and return the file's name.

    Every other byte of the file stays, comments included. The file is made when there is none. What is written was
    parsed first and says exactly what was wished for. Raises: ConfigError when the key or the value is not valid;
    Refused, with the line to add by hand, when the file is written in a way that cannot be changed safely.
    """
    from holdfast.serde import config_from

    path = settings.config_file(root)
    if path is None:  # the environment may name the layout, or this very change
        intended: dict[str, Any] = {}
        settings.apply_overrides(intended)
        if key == "layout.preset":
            intended = {"layout": {"preset": value}}
        name = settings.new_config_file(intended)
    else:
        name = os.path.relpath(path, root).replace(os.sep, "/")
    keys = key.split(".")
    if not all(_BARE_KEY.fullmatch(part) for part in keys):
        raise ConfigError(f"{key!r} is not a key.", next_step="`holdfast config` lists the keys.")
    if isinstance(value, Mapping):
        raise ConfigError(f"{key} cannot be set to a table.", next_step="Set its keys one by one.")
    wish = copy.deepcopy(settings.raw(root)[0])
    _put(wish, keys, value)
    config_from(wish, f"{key} = {_toml(value)}")
    old = HEADER if path is None else _read(path, name)
    full = ["tool", "holdfast", *keys] if name == "pyproject.toml" else keys
    new = _edited(old, full, value)
    if new is None:
        raise Refused(
            f"{name} is written in a way that cannot be changed without touching other parts of it.",
            next_step=f"Add this line under `[{'.'.join(full[:-1])}]` yourself: {full[-1]} = {_toml(value)}"
            if len(full) > 1
            else f"Add this line at the top yourself: {full[-1]} = {_toml(value)}",
        )
    if new != old or path is None:
        target = os.path.join(root, name)
        if not os.path.isdir(os.path.dirname(target)):
            durable.make_private_dir(os.path.dirname(target))
        durable.replace(target, new.encode("utf-8"), mode=0o644 if path is None else os.stat(target).st_mode & 0o777)
    return name


def _edited(text: str, keys: list[str], value: object) -> str | None:
    """``text`` with the key set, or None when no way of writing it leads to exactly that."""
    import tomllib

    wish = tomllib.loads(text)
    _put(wish, keys, value)
    for candidate in _candidates(text, keys, _toml(value)):
        try:
            if tomllib.loads(candidate) == wish:
                return candidate
        except tomllib.TOMLDecodeError:
            continue
    return None


def _candidates(text: str, keys: list[str], shown: str) -> Iterator[str]:
    """Ways to write it, the least change first. Each is parsed before it counts, so a guess may be wrong."""
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    *section, key = keys
    setting = f"{key} = {shown}{newline}"
    assignment = re.compile(rf"(\s*{re.escape(key)}\s*=\s*)(.*?)(\s*)$", re.DOTALL)
    headers = [i for i, line in enumerate(lines) if line.lstrip().startswith("[")]
    first = headers[0] if headers else len(lines)
    ranges = [(-1, first)] if not section else []
    for at, begin in enumerate(headers):
        if re.fullmatch(rf"\s*\[\s*{re.escape('.'.join(section))}\s*\]\s*(#.*)?", lines[begin].rstrip("\r\n")):
            ranges.append((begin, headers[at + 1] if at + 1 < len(headers) else len(lines)))
    for begin, end in ranges:
        for i in range(begin + 1, end):
            if match := assignment.fullmatch(lines[i]):
                yield "".join([*lines[:i], match[1] + shown + _comment(match[2]) + match[3], *lines[i + 1 :]])
    for begin, end in ranges:
        at = max((i + 1 for i in range(begin + 1, end) if lines[i].strip()), default=begin + 1)
        ended = lines[:at]
        if ended and not ended[-1].endswith("\n"):
            ended[-1] += newline
        yield "".join([*ended, setting, *lines[at:]])
    if section:
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        yield f"{text}{gap}[{'.'.join(section)}]{newline}{setting}"


def _comment(rest: str) -> str:
    """The comment after a value, with the space before it: from the first ``#`` at which the value is whole."""
    import tomllib

    for at, char in enumerate(rest):
        if char == "#":
            try:
                tomllib.loads(f"v = {rest[:at]}")
            except tomllib.TOMLDecodeError:
                continue
            return rest[len(rest[:at].rstrip()) :]
    return ""


def _toml(value: object) -> str:
    import tomli_w

    if isinstance(value, list):  # tomli_w spreads lists over several lines
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return tomli_w.dumps({"v": value}).removeprefix("v = ").rstrip("\n")


def _put(data: dict[str, Any], keys: list[str], value: object) -> None:
    for key in keys[:-1]:
        data = data.setdefault(key, {})
        if not isinstance(data, dict):
            raise ConfigError(
                f"{'.'.join(keys)} names a key inside a value.", next_step="`holdfast config` lists the keys."
            )
    data[keys[-1]] = value


def _read(path: str, name: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}.", next_step="Check that it is a file.") from error
