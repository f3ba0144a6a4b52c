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

from holdfast import Holdfast, models
from holdfast.errors import ConfigError, HoldfastError, PluginError
from holdfast.plugin import discovery
from holdfast.plugin.discovery import Found, PluginContext
from holdfast.validation import ValidationRequest
from holdfast_authoring import backends

if TYPE_CHECKING:
    from holdfast.plugin.manager import PluginManager

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
    """Rows for one entry point."""
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
        yield from _plugin(entry, found, settings)
    elif entry.group == discovery.BACKENDS:
        yield from backends.examine(entry, found, settings)
    elif entry.group == discovery.COMMANDS:
        yield from _command(found)
    else:
        yield from _function(found)


def _plugin(entry: Found, found: object, settings: Mapping[str, object]) -> Iterator[Row]:
    if getattr(found, "known_settings", None) is None:
        yield "settings", "note", "known_settings is not declared, so holdfast cannot report a misspelt key"
    else:
        yield "settings", "ok", f"declared: {', '.join(found.known_settings) or 'none'}"  # type: ignore[attr-defined]
    plugin = found
    if isinstance(found, type):
        context = PluginContext(entry.name, settings, os.getcwd(), os.path.join(os.getcwd(), ".state"))
        try:
            plugin = found(context=context)
        except ConfigError as error:
            if settings:
                yield "settings", "fail", str(error)
                return
            yield "settings", "note", f"needs settings; pass them with --settings. {error.message}"
            return
        except Exception as error:  # noqa: BLE001 - anything may be raised by other people's code
            yield "settings", "fail", f"raised {type(error).__name__} instead of ConfigError: {error}"
            return
    with Holdfast.open(os.getcwd()) as memory:
        yield from _hooks(entry, plugin, memory.services.plugins)


def _hooks(entry: Found, plugin: object, manager: PluginManager) -> Iterator[Row]:
    """Register the plugin as holdfast does, and call the hooks that do nothing outside."""
    try:
        implemented = manager.register(plugin, entry.name, f"{entry.distribution} {entry.version}")
    except PluginError as error:
        yield "hooks", "fail", str(error)
        return
    for hook in implemented:
        yield hook, "ok", _MEANINGS[hook]
    if "on_validate" in implemented:
        yield from _validates(manager)
    if "on_extract" in implemented:
        yield from _extracts(manager, plugin)
    for hook in ("on_flush", "on_dream"):
        if hook in implemented:
            yield hook, "note", "not called, because it may publish or ask a model; its own tests have to"


def _validates(manager: PluginManager) -> Iterator[Row]:
    """Call the validator on a few samples, through the guard that holdfast uses."""
    began = time.perf_counter()
    for sample in _SAMPLES:
        try:
            found = manager.on_validate(ValidationRequest("daily", "memory/2026-11-21.md", sample))
        except HoldfastError as error:
            yield "on_validate", "fail", error.message
            return
        for one in found:
            if one.span is not None and not 0 <= one.span[0] <= one.span[1] <= len(sample):
                yield "on_validate", "fail", f"a finding of rule {one.rule!r} has the span {one.span} outside the text"
                return
    spent_ms = (time.perf_counter() - began) * 1000
    yield "on_validate", "ok", f"answers {len(_SAMPLES)} samples as specified, in {spent_ms:.0f} ms"


def _extracts(manager: PluginManager, plugin: object) -> Iterator[Row]:
    if getattr(plugin, "EXTRACTS_AT_ONCE", False) is not True:
        yield "on_extract", "note", "not called: without EXTRACTS_AT_ONCE it may ask a model; its own tests have to"
        return
    from datetime import UTC, datetime

    said = models.Message(role="user", text="Fix the login. \U0001f600", at=datetime(2026, 11, 21, tzinfo=UTC), id="m1")
    for turns in ((), (models.Turn(messages=[said]),)):
        _, failures = manager.on_extract(turns)
        if failures:
            yield "on_extract", "fail", failures[0].message
            return
    yield "on_extract", "ok", "answers an empty and a short conversation as specified"


def _command(module: object) -> Iterator[Row]:
    missing = [name for name in ("configure", "run") if not callable(getattr(module, name, None))]
    if missing:
        yield "command", "fail", f"the module has no function {' and no function '.join(missing)}"
        return
    parser = ArgumentParser()
    try:
        module.configure(parser)  # type: ignore[attr-defined]
        for option in ("--root", "--debug"):  # holdfast adds them to every command
            parser.add_argument(option)
    except Exception as error:  # noqa: BLE001 - anything may be raised by other people's code
        yield "command", "fail", f"configure(parser) raised {type(error).__name__}: {error}"
        return
    summary = getattr(module, "SUMMARY", "")
    yield "command", "ok" if summary else "note", summary or "SUMMARY is missing, so `holdfast --help` cannot say more"


def _function(function: object) -> Iterator[Row]:
    """A method or a check, which is a function whose first argument is the opened project."""
    if not callable(function):
        yield "signature", "fail", "is not a function"
        return
    parameters = list(inspect.signature(function).parameters.values())
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not parameters or parameters[0].kind not in positional:
        yield "signature", "fail", "does not take the opened project as its first argument"
        return
    yield "signature", "ok", f"{getattr(function, '__name__', 'function')}{inspect.signature(function)}"


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
