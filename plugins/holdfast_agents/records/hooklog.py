"""``state/hook.log``: errors in hooks that must not reach the client. Bounded in size, without memory text."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from holdfast.errors import HoldfastError
from holdfast.fs import durable, private
from holdfast.fs.safeopen import Folder

_MAX_BYTES = 256 * 1024
_MAX_LINE = 500
_WAIT_S = 0.5


def log(state: str, client: str, kind: str, problem: str) -> None:
    """Add a line. An unwritable log is not an error."""
    line = " ".join(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {client} {kind}: {problem}".split())[:_MAX_LINE]
    try:
        path = os.path.join(private.make(state), "hook.log")
        with private.lock(path, timeout_s=_WAIT_S), Folder(os.path.dirname(path)) as folder:
            try:
                if folder.stat("hook.log").st_size > _MAX_BYTES:
                    folder.replace("hook.log", "hook.log.1")
            except FileNotFoundError:
                pass
            durable.append(path, f"{line}\n".encode(), flush=False)
    except (OSError, HoldfastError):
        return
