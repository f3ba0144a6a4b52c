"""Finding the program: on the user's PATH or where the user's own settings say, never inside the project."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from holdfast.errors import ModelFailed

if TYPE_CHECKING:
    from collections.abc import Mapping


def find(name: str, plugin: str, wanted: str, root: str, env: Mapping[str, str]) -> str:
    """The absolute path of the program ``name`` for ``plugin``.

    ``wanted`` is the setting ``program``: an absolute path, or empty to search PATH. ``root`` is the project folder,
    empty for none. Raises: ModelFailed.
    """
    if wanted:
        return _chosen(wanted, plugin, root)
    found = shutil.which(name, path=safe_path(env.get("PATH", ""), root))
    if found is None or inside(found, root):
        raise ModelFailed(
            f"The program `{name}` was not found on PATH; folders inside the project are not searched.",
            next_step=f"Install it outside of the project, or set its absolute path: "
            f"`holdfast config --user plugins.{plugin}.program PATH`.",
        )
    return found


def safe_path(path: str, root: str) -> str:
    """PATH without relative folders and without those inside the project, because a clone can put programs there."""
    folders = path.split(os.pathsep)
    return os.pathsep.join(one for one in folders if os.path.isabs(one) and not inside(one, root))


def users_program(plugin: str, env: Mapping[str, str]) -> str:
    """The setting ``program`` in the user's own file or environment, empty when it is not set. A project's file is not
    read: not even a trusted project may name a program. Raises: ConfigError."""
    from holdfast.config import settings

    named = env.get(f"HOLDFAST_PLUGINS__{plugin.upper()}__PROGRAM")
    if named is not None:
        return named
    plugins = settings.user_raw(env)[0].get("plugins")
    table = plugins.get(plugin) if isinstance(plugins, dict) else None
    value = table.get("program", "") if isinstance(table, dict) else ""
    return value if isinstance(value, str) else ""


def _chosen(wanted: str, plugin: str, root: str) -> str:
    step = f"Set another path: `holdfast config --user plugins.{plugin}.program PATH`."
    if not os.path.isabs(wanted):
        raise ModelFailed(f"plugins.{plugin}.program is not an absolute path.", next_step=step)
    if inside(wanted, root):
        raise ModelFailed(f"plugins.{plugin}.program is inside the project, so it is not run.", next_step=step)
    if not (os.path.isfile(wanted) and os.access(wanted, os.X_OK)):
        raise ModelFailed(f"plugins.{plugin}.program is not an executable file.", next_step=step)
    return wanted


def inside(path: str, root: str) -> bool:
    """Whether ``path``, or the file that it links to, is in the folder ``root``."""
    if not root:
        return False
    folder = os.path.normcase(os.path.realpath(root))
    for one in (os.path.abspath(path), os.path.realpath(path)):
        parent = os.path.realpath(os.path.dirname(one))
        full = os.path.normcase(os.path.join(parent, os.path.basename(one)))
        if full == folder or full.startswith(folder.rstrip(os.sep) + os.sep):
            return True
    return False
