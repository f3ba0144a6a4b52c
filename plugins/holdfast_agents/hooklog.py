"""``state/hook.log``: what went wrong in hooks where a client must hear nothing. Bounded in size, no memory text."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from holdfast import private
from holdfast.errors import HoldfastError

_MAX_BYTES = 256 * 1024
_MAX_LINE = 500


def log(state: str, client: str, kind: str, problem: str) -> None:
    """Add a line; a log that cannot be written is no reason to fail."""
    line = " ".join(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {client} {kind}: {problem}".split())[:_MAX_LINE]
    try:
        path = os.path.join(private.make(state), "hook.log")
        if os.path.exists(path) and os.path.getsize(path) > _MAX_BYTES:
            os.replace(path, f"{path}.1")
        with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    except (OSError, HoldfastError):
        return
