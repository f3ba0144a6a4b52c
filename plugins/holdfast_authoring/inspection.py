"""Checks an installed distribution. Each entry point is examined in its own process, in an empty folder.

Importing and calling other people's code may hang, print or end the process; here it cannot disturb the caller.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Any, Final, NamedTuple

from holdfast.errors import ConfigError, PluginNotFound
from holdfast.plugin import discovery
from holdfast.plugin.discovery import Found

_COMMAND = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")

#: Seconds for one entry point: its import and all calls.
LIMIT_S: Final = 60.0


class Outcome(StrEnum):
    """NOTE is worth knowing and is not a failure."""

    OK = "ok"
    NOTE = "note"
    FAIL = "fail"


class Row(NamedTuple):
    """One comparison with the specifications. ``entry`` is the entry point, like ``plugin acme``."""

    entry: str
    check: str
    outcome: Outcome
    message: str


def inspect(distribution: str, *, settings_file: str = "") -> list[Row]:
    """Check every entry point of an installed distribution, in order of group and name.

    ``settings_file`` is a TOML file with keys for the plugin's settings table. Raises: PluginNotFound when no such
    distribution offers anything to holdfast; ConfigError for an unusable file.
    """
    wanted = _normal(distribution)
    every = discovery.scan()
    entries = [found for found in every if _normal(found.distribution) == wanted]
    if not entries:
        raise PluginNotFound(
            f"No installed distribution {distribution!r} has an entry point for holdfast.",
            next_step="Install it, or correct the name. If it is installed, add a table like "
            '`[project.entry-points."holdfast.plugins"]` to its pyproject.toml and reinstall it.',
        )
    settings = _settings(settings_file)

    def examined(entry: Found) -> list[Row]:
        return _names(entry, every) + [Row(label(entry), *row) for row in _probed(entry, settings)]

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return [row for rows in pool.map(examined, entries) for row in rows]


def label(entry: Found) -> str:
    """``plugin acme`` for the entry point ``acme`` in the group ``holdfast.plugins``."""
    return f"{entry.group.removeprefix('holdfast.').removesuffix('s')} {entry.name}"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).casefold()


def _settings(path: str) -> dict[str, Any]:
    if not path:
        return {}
    import tomllib

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path!r} cannot be read as TOML: {error}.", next_step="Pass a file with keys for the plugin's table."
        ) from error


def _names(entry: Found, every: Sequence[Found]) -> list[Row]:
    """Whether the entry point is in force: its name is free, and its group counts for this distribution."""
    group, name, _, distribution, _ = entry
    if distribution == discovery.OWN:
        return []
    taken = {f.name for f in every if (f.group, f.distribution) == (group, discovery.OWN)}
    others = {f.distribution for f in every if (f.group, f.name) == (group, name)} - {distribution, discovery.OWN}
    plugins = {f.name for f in every if (f.group, f.distribution) == (discovery.PLUGINS, distribution)}
    problem = ""
    if group == discovery.DEFAULTS:
        return [Row(label(entry), "group", Outcome.NOTE, "ignored, because only holdfast enables plugins by default")]
    if group == discovery.COMMANDS and not _COMMAND.fullmatch(name):
        problem = "never runs: use lower-case letters, digits and hyphens"
    elif name in taken or (group, name) == (discovery.COMMANDS, "help"):
        problem = "never runs, because holdfast has this name"
    elif others:
        problem = f"also offered by {', '.join(sorted(others))}"
    elif group == discovery.CHECKS and name not in plugins:
        problem = "never runs, because no plugin here has this name"
    return [Row(label(entry), "name", Outcome.FAIL, problem)] if problem else []


def _probed(entry: Found, settings: dict[str, Any]) -> list[tuple[str, Outcome, str]]:
    """Rows from :mod:`holdfast_authoring.probe`, run in a process of its own."""
    if entry.group in (discovery.DEFAULTS, discovery.APPLICATION):  # a plugin once more; classes of holdfast alone
        return []
    keep = {k: v for k, v in os.environ.items() if not k.startswith("HOLDFAST_")}
    # Only the examined plugin answers a hook, none of those that are on by default.
    alone = {f"HOLDFAST_PLUGINS__{name.upper()}__ENABLED": "false" for name in discovery.defaults()}
    with tempfile.TemporaryDirectory(prefix="holdfast-check-", ignore_cleanup_errors=True) as folder:
        answer = os.path.join(folder, "answer.json")
        project = os.path.join(folder, "project")
        os.mkdir(project)
        paths = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
        question = json.dumps({"entry": list(entry), "settings": settings, "answer": answer}, default=str)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "holdfast_authoring.probe"],
                input=question,
                cwd=project,
                env={**keep, **alone, "PYTHONPATH": paths, "HOME": folder, "USERPROFILE": folder},
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return [("call", Outcome.FAIL, f"took longer than {LIMIT_S:g} s")]
        try:
            with open(answer, encoding="utf-8") as file:
                rows = [(check, Outcome(outcome), message) for check, outcome, message in json.load(file)]
            if done.stdout.strip():
                rows.append(("stdout", Outcome.NOTE, "prints; commands send this to stderr, programs do not"))
            return rows
        except (OSError, ValueError):
            last = (done.stderr.strip().splitlines() or ["without a message"])[-1]
            return [("call", Outcome.FAIL, f"ended the process with exit code {done.returncode}: {last}")]
