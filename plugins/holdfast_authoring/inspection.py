"""Checks an installed distribution. Each entry point is examined in its own process, in an empty folder.

Importing and calling other people's code may hang, print or end the process; here it cannot disturb the caller.
"""

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from keyword import iskeyword
from typing import Any, Final, NamedTuple

from holdfast.api import (
    ConfigError,
    Holdfast,
    HoldfastError,
    PluginError,
    PluginNotFound,
    StorageConfig,
    ValidationRequest,
)
from holdfast.plugin import discovery
from holdfast.plugin.calls import OF_PLUGINS
from holdfast.plugin.discovery import Found
from holdfast.plugin.manager import PluginManager, PluginSettings, made
from holdfast.text.humanize import nearest

#: What was checked, the outcome, and the message.
Checked = tuple[str, str, str]
_COMMAND = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")

#: The groups in which other distributions offer something.
_GROUPS: Final = (discovery.PLUGINS, discovery.BACKENDS, discovery.METHODS, discovery.COMMANDS, discovery.CHECKS)
#: Seconds for one entry point: its import and all calls.
LIMIT_S: Final = 60.0


class Row(NamedTuple):
    """One comparison with the specifications. ``entry`` is the entry point, like ``plugin acme``. ``outcome`` is ok,
    fail or note, which is worth knowing and is not a failure."""

    entry: str
    check: str
    outcome: str
    message: str


def inspected(distribution: str, *, settings_file: str = "") -> list[Row]:
    """Check every entry point of an installed distribution, in order of group and name.

    ``settings_file`` is a TOML file with keys for the plugin's settings table. Raises: PluginNotFound when no such
    distribution offers anything to holdfast; ConfigError for an unusable file.
    """
    wanted = _normal(distribution)
    every = discovery.scan()
    entries = [entry for entry in every if _normal(entry.distribution) == wanted]
    if not entries:
        raise PluginNotFound(
            f"No installed distribution {distribution!r} has an entry point for holdfast.",
            next_step="Install it, or correct the name. If it is installed, add a table like "
            '`[project.entry-points."holdfast.plugins"]` to its pyproject.toml and reinstall it.',
        )
    settings: dict[str, Any] = {}
    if settings_file:
        try:
            with open(settings_file, "rb") as file:
                settings = tomllib.load(file)
        except (OSError, ValueError) as error:
            step = "Pass a file with keys for the plugin's table."
            raise ConfigError(f"{settings_file!r} cannot be read as TOML: {error}.", next_step=step) from error
    rows: list[Row] = []
    for entry in entries:
        rows += _names(entry, every)
        rows += [Row(label(entry), *row) for row in _probed(entry, settings)]
    return rows


def label(entry: Found) -> str:
    """``plugin acme`` for the entry point ``acme`` in the group ``holdfast.plugins``."""
    return f"{entry.group.removeprefix('holdfast.').removesuffix('s')} {entry.name}"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).casefold()


def _names(entry: Found, every: Sequence[Found]) -> list[Row]:
    """Whether the entry point is in force: its name is free, and its group counts for this distribution."""
    group, name, _, distribution, _ = entry
    if distribution == discovery.OWN:
        return []
    taken = {f.name for f in every if (f.group, f.distribution) == (group, discovery.OWN)}
    if group == discovery.METHODS:
        taken = {*dir(Holdfast), "services"}
    others = {f.distribution for f in every if (f.group, f.name) == (group, name)} - {distribution, discovery.OWN}
    plugins = {f.name for f in every if (f.group, f.distribution) == (discovery.PLUGINS, distribution)}
    problem = ""
    if group not in _GROUPS:
        problem = f"{group} is not for other distributions, did you mean {nearest(group, _GROUPS)}"
    elif group == discovery.COMMANDS and not _COMMAND.fullmatch(name):
        problem = "is not lower-case letters, digits and hyphens"
    elif group == discovery.METHODS and (not name.isidentifier() or iskeyword(name) or name.startswith("_")):
        problem = "never runs: use a Python identifier without a leading underscore"
    elif name in taken or (group, name) == (discovery.COMMANDS, "help"):
        problem = "never runs, because holdfast has this name"
    elif others:
        problem = f"also offered by {', '.join(sorted(others))}"
    elif group == discovery.CHECKS and name not in plugins:
        problem = "never runs, because no plugin here has this name"
    return [Row(label(entry), "name", "fail", problem)] if problem else []


def _probed(entry: Found, settings: dict[str, Any]) -> list[Checked]:
    """The checks of :func:`examine`, in a process of its own, which runs this module."""
    if entry.group not in _GROUPS:  # a default is a plugin once more
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
                [sys.executable, "-m", "holdfast_authoring.inspection"],
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
            return [("call", "fail", f"took longer than {LIMIT_S:g} s")]
        try:
            with open(answer, encoding="utf-8") as file:
                rows = [(check, outcome, message) for check, outcome, message in json.load(file)]
        except (OSError, ValueError):
            last = (done.stderr.strip().splitlines() or ["without a message"])[-1]
            return [("call", "fail", f"ended the process with exit code {done.returncode}: {last}")]
        if done.stdout.strip():
            rows.append(("stdout", "note", "prints; commands send this to stderr, programs do not"))
        return rows


# --- in the process of one entry point

#: An import slower than this many milliseconds is felt at every event of an agent.
SLOW_MS: Final = 50.0
_MEANINGS: Final = {
    "on_validate": "a failure refuses the write",
    "on_extract": "a failure is a warning, and the turns wait",
    "on_flush": "a failure fails the flush, and the session is UNSAFE",
    "on_dream": "a failure is recorded and changes nothing",
}
_SAMPLES: Final = ("", "all quiet", "# Heading\n\n- item\n" * 50, "a\u202eb \U0001f600 \0 end", "x" * 100_000)


def examine(entry: Found, settings: Mapping[str, object]) -> Iterator[Checked]:
    """Rows for one entry point, up to an error."""
    began = time.perf_counter()
    try:
        target = discovery.import_object(entry)
    except PluginError as error:
        yield "import", "fail", str(error)
        return
    spent_ms = (time.perf_counter() - began) * 1000
    at_start = entry.group in (discovery.PLUGINS, discovery.BACKENDS)
    slow = f"; over {SLOW_MS:g} ms, import heavy modules inside the calls" if at_start and spent_ms > SLOW_MS else ""
    yield "import time", "note", f"{spent_ms:.0f} ms{slow}"
    if entry.group == discovery.PLUGINS:
        yield _declared(target, "known_settings")
        yield from _plugin(entry, settings)
    elif entry.group == discovery.BACKENDS:
        yield _declared(target, "known_options")
        yield from _backend(entry, target, settings)
    elif entry.group == discovery.COMMANDS:
        yield _command(target)
    else:
        yield _function(target)


def _declared(target: object, attribute: str) -> Checked:
    names = discovery.keys_of(target, attribute)
    if names is None:
        return "settings", "note", f"{attribute} is not declared, so holdfast cannot report a misspelt key"
    return "settings", "ok", f"declared: {', '.join(names) or 'none'}"


def _plugin(entry: Found, settings: Mapping[str, object]) -> Iterator[Checked]:
    """Make and register the plugin as holdfast does, and call the hook that does nothing outside."""
    own = {key: value for key, value in settings.items() if key not in discovery.PLUGIN_KEYS}
    try:
        plugin = made(entry, PluginSettings(entry.name, None, own), os.getcwd(), os.path.join(os.getcwd(), ".state"))
    except PluginError as error:
        needs = isinstance(error.__cause__, ConfigError) and not settings
        needed = f"needs settings, so no hook was compared; pass them with --settings. {error.message}"
        yield "settings", "note" if needs else "fail", needed if needs else error.message
        return
    with Holdfast.open(os.getcwd()) as memory:
        manager, source = memory.services.plugins, f"{entry.distribution} {entry.version}"
        try:
            implemented = manager.register(plugin, entry.name, source, allowed=OF_PLUGINS)
        except PluginError as error:
            yield "hooks", "fail", str(error)
            return
        for hook in implemented:
            yield hook, "ok", _MEANINGS[hook]
            if hook == "on_validate":
                yield _validates(manager)
            else:
                yield hook, "note", "not called, because it may publish or ask a model; its own tests have to"


def _validates(manager: PluginManager) -> Checked:
    """Call the validator on a few samples, through the guard that holdfast uses."""
    began = time.perf_counter()
    for sample in _SAMPLES:
        try:
            findings = manager.on_validate(ValidationRequest("daily", "memory/2026-11-21.md", sample))
        except HoldfastError as error:
            return "on_validate", "fail", error.message
        for finding in findings:
            if (span := finding.span) is not None and not 0 <= span[0] <= span[1] <= len(sample):
                return "on_validate", "fail", f"a finding of rule {finding.rule!r} has the span {span} outside the text"
    spent_ms = (time.perf_counter() - began) * 1000
    return "on_validate", "ok", f"answers {len(_SAMPLES)} samples as specified, in {spent_ms:.0f} ms"


def _backend(entry: Found, target: object, settings: Mapping[str, object]) -> Iterator[Checked]:
    """Open the backend in the working directory. Only missing settings may stop it."""
    manager = PluginManager()
    masking = map(PluginSettings, discovery.defaults())
    manager.load(masking, discovery.scan(), root=os.getcwd(), state=os.path.join(os.getcwd(), ".state"))
    try:
        manager.register_backend(target, entry)
        store = manager.storage_backend(StorageConfig(backend=entry.name, options=dict(settings)), os.getcwd())
    except HoldfastError as error:
        outcome = "note" if isinstance(error, ConfigError) and not settings else "fail"
        yield "storage_backend", outcome, f"did not open in an empty folder: {error}"
        return
    yield "storage_backend", "ok", f"provides {type(store).__name__}"
    store.close()
    yield "contract", "note", "run holdfast.testing.StorageContract for every clause"


def _command(command: Any) -> Checked:
    if not (callable(getattr(command, "configure", None)) and callable(getattr(command, "run", None))):
        return "command", "fail", "has no functions configure(parser) and run(args)"
    parser = ArgumentParser()
    try:
        command.configure(parser)
        for option in ("--root", "--debug"):  # holdfast adds them to every command
            parser.add_argument(option)
    except Exception as error:  # noqa: BLE001 - anything may be raised by other people's code
        return "command", "fail", f"configure(parser) raised {type(error).__name__}: {error}"
    summary = getattr(command, "SUMMARY", "")
    return "command", "ok" if summary else "note", summary or "SUMMARY is missing, so `holdfast --help` cannot say more"


def _function(function: object) -> Checked:
    """A method or a check, which is a function whose first argument is the opened project."""
    if not callable(function):
        return "signature", "fail", "is not a function"
    signature = inspect.signature(function)
    first = next(iter(signature.parameters.values()), None)
    if first is None or first.kind not in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        return "signature", "fail", "does not take the opened project as its first argument"
    return "signature", "ok", f"{getattr(function, '__name__', 'function')}{signature}"


if __name__ == "__main__":
    asked: dict[str, Any] = json.load(sys.stdin)
    found = list(examine(Found(*asked["entry"]), asked["settings"]))
    with open(asked["answer"], "w", encoding="utf-8") as file:
        json.dump(found, file)
    sys.stdout.flush()
    os._exit(0)  # threads of a plugin must not keep the process
