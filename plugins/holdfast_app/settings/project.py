"""Set up a project with a small settings file and the private folder. Repeating it changes nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from holdfast.config import resolved, settings, statefolder
from holdfast.errors import NotTrusted, PluginNotFound, Refused
from holdfast.fs import durable, private
from holdfast_app.settings.effective import HEADER
from holdfast_app.trust import provenance


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
    otherwise the working directory. Raises: ConfigError when the given folder does not exist."""
    if named or os.environ.get("HOLDFAST_ROOT"):
        return settings.find_root(named)
    here = os.path.realpath(os.getcwd())
    return settings.repository(here) or here


def set_up(root: str, *, layout: str = "default", zone: str = "local", strict: bool = False) -> Done:
    """Write the settings file with changes from the defaults, and create the private folder.

    Raises: ConfigError for an unknown layout or zone; Refused when the project is already set up differently;
    Unavailable. Existing settings are never changed.
    """
    import tomli_w

    from holdfast.config.serde import config_from

    wanted: dict[str, Any] = {}
    if zone != "local":
        wanted["zone"] = zone
    if layout != "default":
        wanted["layout"] = {"preset": layout}
    if strict:
        wanted["flush"] = {"policy": "strict"}
    config_from(wanted, "The requested setup")
    made, kept = [], []
    existing = settings.config_file(root)
    notices = begin(root) if existing is not None else ()
    if existing is None:
        settled: Mapping[str, Any] = wanted
        body = ("\n" + tomli_w.dumps(wanted)) if wanted else ""
        name = settings.new_config_file(wanted)
        path = os.path.join(root, *name.split("/"))
        if not os.path.isdir(os.path.dirname(path)):
            durable.make_private_dir(os.path.dirname(path))
        durable.replace(path, (HEADER + body).encode("utf-8"), mode=0o644)
        made.append(name)
        notices = begin(root)
    else:
        resolved.load(root)  # an invalid file is reported, not extended
        settled = resolved.resolve(root).data
        _refuse_other(wanted, settled)
        kept.append(os.path.relpath(existing, root).replace(os.sep, "/"))
    statefolder.take_along(root, settings.preset(settled))
    state = statefolder.path(root, settings.preset(settled))
    folder = os.path.relpath(state, root).replace(os.sep, "/")
    private.check(state)
    there = os.path.isdir(state) and private.ignores_itself(state)
    private.make(state)
    (kept if there else made).append(folder + "/")
    return Done(root=root, made=tuple(made), kept=tuple(kept), notices=notices)


def begin(root: str) -> tuple[tuple[str, str], ...]:
    """Record the project's present content, so that this machine's additions count as the user's own, and return a
    sentence and its next step for each item that needs the user's trust. Raises: ConfigError; Corrupt, Unavailable."""
    from holdfast import Holdfast

    notices = resolved.notices(resolved.resolve(root))
    try:
        with Holdfast.open(root, lenient=True) as memory:
            store = memory.store
            told = provenance.sentence(store.withheld(), facts=len(store.withheld_facts()), names=True)
    except (NotTrusted, PluginNotFound):
        return tuple(notices)  # the notices include the store's place
    return (*notices, (told, provenance.NEXT_STEP)) if told else tuple(notices)


def _refuse_other(wanted: Mapping[str, Any], settled: Mapping[str, Any]) -> None:
    for key, value in (
        ("zone", wanted.get("zone")),
        ("layout.preset", wanted.get("layout", {}).get("preset")),
        ("flush.policy", wanted.get("flush", {}).get("policy")),
    ):
        current: Any = settled
        for part in key.split("."):
            current = current.get(part) if isinstance(current, Mapping) else None
        if value is not None and current != value:
            raise Refused(
                f"The project is already set up, and its {key} is {current or 'the default'}, not {value}.",
                next_step=f"Change it with `holdfast config {key} {value}`.",
            )
