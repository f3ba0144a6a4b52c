"""Checks in ``holdfast doctor`` for each model's calls in this project and the last failure."""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from holdfast.api import Check, ConfigError, Holdfast, ModelFailed
from holdfast.config.serde import moment
from holdfast.fs import private
from holdfast.text.humanize import ago, count
from holdfast_models.cli.programs import find, number, rows
from holdfast_models.retry import USAGE_FILE

PROGRAMS = {"claude_cli": "claude", "codex_cli": "codex", "opencode_cli": "opencode", "gemini_cli": "gemini"}
#: Maximum part of the record to read, from its end, in bytes.
_MAX_BYTES = 4_000_000


def checks(memory: Holdfast) -> Iterator[Check]:
    """One line for each enabled model's program, and one for each model plugin's calls."""
    for plugin, program in PROGRAMS.items():
        if not memory.config.plugin(plugin).enabled:
            continue
        try:
            path = find(program, plugin, memory.services.root)
        except (ModelFailed, ConfigError) as error:
            yield Check.warn(error.message, error.next_step, "models")
        else:
            yield Check.good(f"{plugin} runs {path}", "models")
    used: dict[str, list[dict[str, object]]] = {}
    record = private.read(os.path.join(memory.services.state, USAGE_FILE)) or b""
    for row in rows(record[-_MAX_BYTES:].decode("utf-8", "replace")):
        if row.get("plugin"):
            used.setdefault(str(row["plugin"]), []).append(row)
    yield from (_calls(plugin, its, memory.services.now()) for plugin, its in sorted(used.items()))


def _calls(plugin: str, its: list[dict[str, object]], now: datetime) -> Check:
    failed = [row for row in its if "failed" in row]
    made = [row for row in its if not row.get("answered")]  # an unusable answer has its own line
    tokens = sum(number(row, key) for row in its for key in ("input_tokens", "output_tokens"))
    message = f"{plugin}: {count(len(made), 'call')}, {tokens:,} tokens, {len(failed)} failed"
    if failed:
        when = ""
        with suppress(ValueError):
            when = f" ({ago(moment(str(failed[-1].get('at'))), now)})"
        message += f"; the last failure{when}: {failed[-1]['failed']}"
    if not failed or its[-1] is not failed[-1]:
        return Check.good(message, "models")
    return Check.warn(message, "`holdfast extract --queued` tries again and shows the next step.", "models")
