"""List the settings in force with their sources, change a setting without touching other lines of the file, and set
up a project with a small settings file and the private folder.
"""

import copy
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w
from attrs import frozen

from holdfast import Holdfast
from holdfast.config import settings
from holdfast.config.serde import config_from, unstructure
from holdfast.config.values import StorageConfig
from holdfast.errors import ConfigError, NotTrusted, PluginNotFound, Refused
from holdfast.fs import durable, private
from holdfast.plugin import discovery
from holdfast.text import untrusted
from holdfast_app.project_settings import files, resolved
from holdfast_app.trust import provenance, statefolders, trusting

HEADER = (
    "# holdfast: an agent's memory survives compaction, provider swaps, restarts and session ends.\n"
    "# This file holds only changes from the defaults. `holdfast config` shows every setting in force;\n"
    "# docs/configuration.md explains each one.\n"
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@frozen(kw_only=True)
class Setting:
    """One setting. ``source`` is a file's name, an environment variable or ``default``.

    ``in_force`` is false for a value in the project's file that has no effect until the user trusts the project.
    """

    key: str
    value: object
    source: str
    in_force: bool = True


def effective(root: str) -> list[Setting]:
    """Every setting in force, in the order of :class:`holdfast.config.values.Config`, then the project file's settings
    that are not in force. Raises: ConfigError when a setting is invalid."""
    merged = resolved.resolve(root)
    config = resolved.structured(merged)
    table = unstructure(config)
    table["storage"].update(table["storage"].pop("options"))
    table["plugins"] = {}
    for name in sorted({*config.plugins, *discovery.defaults()}):
        plugin = config.plugin(name)
        deadline = {} if plugin.deadline_s is None else {"deadline_s": plugin.deadline_s}
        table["plugins"][name] = {"enabled": plugin.enabled, **deadline, **plugin.settings}
    sources = dict.fromkeys(dict(resolved.leaves(merged.user)), files.user_file_shown())
    sources |= dict.fromkeys(dict(resolved.leaves(merged.project)), merged.source)
    sources |= {key: "HOLDFAST_" + key.upper().replace(".", "__") for key in settings.overrides()}
    made = [Setting(key=k, value=v, source=sources.get(k, "default")) for k, v in resolved.leaves(table) if v != {}]
    made += [Setting(key=k, value=v, source=merged.source, in_force=False) for k, v in merged.withheld.items()]
    return made


def change(root: str, key: str, value: object, *, user: bool = False) -> str:
    """Set ``key`` to ``value`` in the project's settings file, or in the user's own, and return the file's name.

    Every other byte of the file stays, including comments. A missing file is created. The new content is parsed first
    and must give exactly the requested settings. A project setting that needs the user's trust becomes trusted; other
    settings that came with the project do not. Raises: ConfigError when the key or value is invalid; PluginNotFound
    when a backend or plugin is not installed; Refused, with the line to add manually, when the file's style cannot be
    changed safely.
    """
    target, name = (settings.user_raw()[1], files.user_file_shown()) if user else _file_of(root, key, value)
    keys = key.split(".")
    if not all(_BARE_KEY.fullmatch(part) for part in keys):
        raise ConfigError(f"{key!r} is not a key.", next_step="`holdfast config` lists the keys.")
    if isinstance(value, Mapping):
        raise ConfigError(f"{key} cannot be set to a table.", next_step="Set its keys one by one.")
    before = None if user else resolved.resolve(root, lenient=True)
    if before is not None and before.foreign == target:
        raise NotTrusted(
            f"{name} belongs to another user.",
            next_step="Run `holdfast trust` first, or change the file's owner to you.",
        )
    wish = copy.deepcopy(settings.user_raw()[0] if before is None else dict(before.written))
    settings.put(wish, keys, value)
    config_from(wish, f"{key} = {_toml(value)}")
    _check_names(wish, keys, value, {} if before is None else before.withheld)
    there = os.path.lexists(target)
    old = Path(target).read_bytes().decode("utf-8") if there else HEADER
    new = _edited(old, ["tool", "holdfast", *keys] if name.endswith("pyproject.toml") else keys, value)
    if new is None:
        table, _, last = key.rpartition(".")
        where = f"under `[{table}]`" if table else "at the top"
        raise Refused(
            f"{name} cannot be changed without touching other parts of it.",
            next_step=f"Add this line {where} yourself: {last} = {_toml(value)}",
        )
    if new != old or not there:
        if not os.path.isdir(os.path.dirname(target)):
            durable.make_private_dir(os.path.dirname(target))
        fresh = 0o600 if user else 0o644
        durable.replace(target, new.encode("utf-8"), mode=os.stat(target).st_mode & 0o777 if there else fresh)
    if key == "layout.preset" and not user:
        statefolders.take_along(root, str(value))
    if before is not None:
        _trust_change(root, before)
    return name


def _new_file(data: Mapping[str, Any]) -> str:
    """The relative path for a new settings file. ``opencode`` must keep all inside its folder (R230)."""
    return ".opencode/holdfast.toml" if settings.preset(data) == "opencode" else "holdfast.toml"


def _file_of(root: str, key: str, value: object) -> tuple[str, str]:
    """Path and name of the project's settings file, which may not exist yet."""
    path = files.config_file(root)
    if path is None:
        intended = {"layout": {"preset": value}} if key == "layout.preset" else resolved.resolve(root).data
        path = os.path.join(root, *_new_file(intended).split("/"))
    return path, os.path.relpath(path, root).replace(os.sep, "/")


def _check_names(wish: Mapping[str, Any], keys: list[str], value: object, withheld: Mapping[str, object]) -> None:
    """Refuse a missing backend or plugin, and a key that it does not accept. What only a project that is not trusted
    chose is not imported."""
    entries = discovery.scan()
    if keys[0] == "storage":
        storage = wish["storage"]
        backend = storage.get("backend", StorageConfig().backend)
        if keys[1:] == ["backend"] or (keys[1] not in discovery.STORAGE_KEYS and "storage.backend" not in withheld):
            module = discovery.import_object(discovery.choose(entries, discovery.BACKENDS, str(backend)))
            discovery.check_storage(module, [k for k in storage if k not in discovery.STORAGE_KEYS], entries)
    elif keys[0] == "plugins" and len(keys) > 2 and not (keys[2] == "enabled" and value is False):
        entry = discovery.choose(entries, discovery.PLUGINS, keys[1])
        if keys[2] not in discovery.PLUGIN_KEYS and f"plugins.{keys[1]}.enabled" not in withheld:
            discovery.check_plugin(discovery.import_object(entry), keys[1], keys[2:3])


def _trust_change(root: str, before: resolved.Resolved) -> None:
    """Trust this change in addition to the settings already in force, and nothing else."""
    after = resolved.resolve(root, lenient=True)
    asked = {**after.withheld, **after.trusted}
    if not asked and not before.trusted:
        return
    counted = dict(resolved.leaves(before.project))
    there = {**dict(resolved.leaves(before.written)), **before.withheld, **before.trusted}
    trusting.record(
        root,
        settings={
            key: value
            for key, value in asked.items()
            if (key in counted and counted[key] == value) or key not in there or there[key] != value
        },
    )


def _edited(text: str, keys: list[str], value: object) -> str | None:
    """``text`` with the key set, or None when the result would not be exactly that."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    wish = untrusted.from_toml(text)
    settings.put(wish, keys, value)
    try:
        document = tomlkit.parse(text)
        table: Any = document
        for key in keys[:-1]:
            table = table.setdefault(key, tomlkit.table(is_super_table=key != keys[-2]))
        table[keys[-1]] = value
        new = tomlkit.dumps(document)
        if "\r\n" in text:
            new = new.replace("\r\n", "\n").replace("\n", "\r\n")
        return new if untrusted.from_toml(new) == wish else None
    except (TOMLKitError, ValueError):  # a ValueError is tomllib's answer to broken TOML
        return None


def _toml(value: object) -> str:
    if isinstance(value, list):  # tomli_w spreads lists over several lines
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return tomli_w.dumps({"v": value}).removeprefix("v = ").rstrip("\n")


@frozen(kw_only=True)
class Done:
    """``made`` and ``kept`` name the created and the existing files, relative to ``root``. ``notices`` are a sentence
    and its next step for each item that came with the project and needs the user's trust."""

    root: str
    made: tuple[str, ...]
    kept: tuple[str, ...]
    notices: tuple[tuple[str, str], ...] = ()


def place(named: str | None) -> str:
    """The folder to set up. That is the given folder (or ``HOLDFAST_ROOT``), otherwise the nearest with ``.git``, or
    otherwise the working directory. Raises: ConfigError when the given folder does not exist; Refused for the home
    folder, unless it is given, because it would become the project of the folders below it."""
    if named or os.environ.get("HOLDFAST_ROOT"):
        return files.find_root(named)
    here = os.path.realpath(os.getcwd())
    root = files.repository(here) or here
    if root == os.path.realpath(os.path.expanduser("~")):
        step = "Change to a project's folder, or name the home folder: `holdfast --root ~ init`."
        raise Refused("This is the home folder, and every folder below it would share its memory.", next_step=step)
    return root


def set_up(root: str, *, layout: str = "default", zone: str = "local", strict: bool = False) -> Done:
    """Write the settings file with changes from the defaults, and create the private folder.

    Raises: ConfigError for an unknown layout or zone; Refused when the project is already set up differently;
    Unavailable. Existing settings are never changed.
    """
    wanted: dict[str, Any] = {}
    if zone != "local":
        wanted["zone"] = zone
    if layout != "default":
        wanted["layout"] = {"preset": layout}
    if strict:
        wanted["flush"] = {"policy": "strict"}
    config_from(wanted, "The requested setup")
    made, kept = [], []
    existing = files.config_file(root)
    notices = begin(root) if existing is not None else ()
    if existing is None:
        settled: Mapping[str, Any] = wanted
        body = ("\n" + tomli_w.dumps(wanted)) if wanted else ""
        name = _new_file(wanted)
        path = os.path.join(root, *name.split("/"))
        if not os.path.isdir(os.path.dirname(path)):
            durable.make_private_dir(os.path.dirname(path))
        durable.replace(path, (HEADER + body).encode("utf-8"), mode=0o644)
        made.append(name)
        notices = begin(root)
    else:
        resolved.load(root)  # an invalid file is reported, not extended
        settled = resolved.resolve(root).data
        there = dict(resolved.leaves(settled))
        for key, value in resolved.leaves(wanted):
            if there.get(key) != value:
                raise Refused(
                    f"The project is already set up, and its {key} is {there.get(key) or 'the default'}, not {value}.",
                    next_step=f"Change it with `holdfast config {key} {value}`.",
                )
        kept.append(os.path.relpath(existing, root).replace(os.sep, "/"))
    statefolders.take_along(root, settings.preset(settled))
    state = settings.state_folder(root, settings.preset(settled))
    folder = os.path.relpath(state, root).replace(os.sep, "/")
    private.check(state)
    (kept if os.path.isdir(state) and private.ignores_itself(state) else made).append(folder + "/")
    private.make(state)
    return Done(root=root, made=tuple(made), kept=tuple(kept), notices=notices)


def begin(root: str) -> tuple[tuple[str, str], ...]:
    """Record the project's present content, so that this machine's additions count as the user's own, and return a
    sentence and its next step for each item that needs the user's trust. Raises: ConfigError; Corrupt, Unavailable."""
    notices = resolved.notices(resolved.resolve(root))
    try:
        with Holdfast.open(root, lenient=True) as memory:
            store = memory.store
            sentence = provenance.sentence(store.withheld(), facts=len(store.withheld_facts()), names=True)
    except (NotTrusted, PluginNotFound):
        return tuple(notices)  # the notices include the store's place
    return (*notices, (sentence, provenance.NEXT_STEP)) if sentence else tuple(notices)
