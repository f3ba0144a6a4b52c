"""Examines one entry point. :mod:`holdfast_authoring.inspection` runs it in its own process.

Reads ``{"entry", "settings", "answer"}`` as JSON on stdin and writes a list of ``[check, outcome, message]`` to the
file ``answer``.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from holdfast import Holdfast
from holdfast.api import ValidationRequest
from holdfast.config.values import StorageConfig
from holdfast.errors import ConfigError, HoldfastError, PluginError, PluginLoadFailed
from holdfast.plugin import discovery
from holdfast.plugin.discovery import Found, PluginContext
from holdfast.plugin.manager import PluginManager

if TYPE_CHECKING:
    Row = tuple[str, str, str]

#: An import slower than this many milliseconds is felt at every event of an agent.
SLOW_MS: Final = 50.0
_MEANINGS: Final = {
    "on_validate": "a failure refuses the write",
    "on_extract": "a failure is a warning, and the turns wait",
    "on_flush": "a failure fails the flush, and the session is UNSAFE",
    "on_dream": "a failure is recorded and changes nothing",
    "storage_backend": "a failure stops everything",
}
_SAMPLES: Final = ("", "all quiet", "# Heading\n\n- item\n" * 50, "a\u202eb \U0001f600 \0 end", "x" * 100_000)


def examine(entry: Found, settings: Mapping[str, object]) -> Iterator[Row]:
    """Rows for one entry point, up to an error."""
    began = time.perf_counter()
    try:
        found = discovery.import_object(entry)
    except PluginError as error:
        yield "import", "fail", str(error)
        return
    spent_ms = (time.perf_counter() - began) * 1000
    at_start = entry.group in (discovery.PLUGINS, discovery.BACKENDS)
    slow = f"; over {SLOW_MS:g} ms, import heavy modules inside the calls" if at_start and spent_ms > SLOW_MS else ""
    yield "import time", "note", f"{spent_ms:.0f} ms{slow}"
    if entry.group == discovery.PLUGINS:
        yield _declared(found, "known_settings")
        yield from _plugin(entry, found, settings)
    elif entry.group == discovery.BACKENDS:
        yield _declared(found, "known_options")
        yield from _backend(entry, found, settings)
    elif entry.group == discovery.COMMANDS:
        yield _command(found)
    else:
        yield _function(found)


def _declared(found: object, attribute: str) -> Row:
    names = getattr(found, attribute, None)
    if names is None:
        return "settings", "note", f"{attribute} is not declared, so holdfast cannot report a misspelt key"
    return "settings", "ok", f"declared: {', '.join(names) or 'none'}"


def _plugin(entry: Found, plugin: object, settings: Mapping[str, object]) -> Iterator[Row]:
    """Register the plugin as holdfast does, and call the hook that does nothing outside."""
    if isinstance(plugin, type):
        context = PluginContext(entry.name, settings, os.getcwd(), os.path.join(os.getcwd(), ".state"))
        try:
            plugin = plugin(context=context)
        except ConfigError as error:
            needed = f"needs settings; pass them with --settings. {error.message}"
            yield "settings", "fail" if settings else "note", str(error) if settings else needed
            return
        except Exception as error:  # noqa: BLE001 - anything may be raised by other people's code
            yield "settings", "fail", f"raised {type(error).__name__} instead of ConfigError: {error}"
            return
    with Holdfast.open(os.getcwd()) as memory:
        manager = memory.services.plugins
        try:
            implemented = manager.register(plugin, entry.name, f"{entry.distribution} {entry.version}")
        except PluginError as error:
            yield "hooks", "fail", str(error)
            return
        for hook in implemented:
            yield hook, "ok", _MEANINGS[hook]
            if hook == "on_validate":
                yield _validates(manager)
            else:
                yield hook, "note", "not called, because it may publish or ask a model; its own tests have to"


def _validates(manager: PluginManager) -> Row:
    """Call the validator on a few samples, through the guard that holdfast uses."""
    began = time.perf_counter()
    for sample in _SAMPLES:
        try:
            findings = manager.on_validate(ValidationRequest("daily", "memory/2026-11-21.md", sample))
        except HoldfastError as error:
            return "on_validate", "fail", error.message
        for one in findings:
            if one.span is not None and not 0 <= one.span[0] <= one.span[1] <= len(sample):
                return "on_validate", "fail", f"a finding of rule {one.rule!r} has the span {one.span} outside the text"
    spent_ms = (time.perf_counter() - began) * 1000
    return "on_validate", "ok", f"answers {len(_SAMPLES)} samples as specified, in {spent_ms:.0f} ms"


def _backend(entry: Found, found: object, settings: Mapping[str, object]) -> Iterator[Row]:
    """Open the backend in the working directory. Only missing settings or a missing server may stop it."""
    manager = PluginManager()
    try:
        manager.register_backend(found, entry)
        store = manager.storage_backend(StorageConfig(backend=entry.name, options=dict(settings)), os.getcwd())
    except HoldfastError as error:
        outcome = "fail" if settings or isinstance(error, PluginLoadFailed) else "note"
        yield "storage_backend", outcome, f"did not open in an empty folder: {error}"
        return
    yield "storage_backend", "ok", f"provides {type(store).__name__}"
    store.close()
    yield "contract", "note", "run holdfast.testing.StorageContract for every clause"


def _command(command: Any) -> Row:
    missing = [name for name in ("configure", "run") if not callable(getattr(command, name, None))]
    if missing:
        return "command", "fail", f"has no function {' and no function '.join(missing)}"
    parser = ArgumentParser()
    try:
        command.configure(parser)
        for option in ("--root", "--debug"):  # holdfast adds them to every command
            parser.add_argument(option)
    except Exception as error:  # noqa: BLE001 - anything may be raised by other people's code
        return "command", "fail", f"configure(parser) raised {type(error).__name__}: {error}"
    summary = getattr(command, "SUMMARY", "")
    return "command", "ok" if summary else "note", summary or "SUMMARY is missing, so `holdfast --help` cannot say more"


def _function(function: object) -> Row:
    """A method or a check, which is a function whose first argument is the opened project."""
    if not callable(function):
        return "signature", "fail", "is not a function"
    signature = inspect.signature(function)
    first = next(iter(signature.parameters.values()), None)
    if first is None or first.kind not in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        return "signature", "fail", "does not take the opened project as its first argument"
    return "signature", "ok", f"{getattr(function, '__name__', 'function')}{signature}"


def main() -> None:
    """Examine what stdin asks for."""
    question: dict[str, Any] = json.load(sys.stdin)
    rows = list(examine(Found(*question["entry"]), question["settings"]))
    with open(question["answer"], "w", encoding="utf-8") as file:
        json.dump(rows, file, ensure_ascii=True)


if __name__ == "__main__":
    main()
    # Threads of a plugin must not keep the process.
    sys.stdout.flush()
    os._exit(0)
