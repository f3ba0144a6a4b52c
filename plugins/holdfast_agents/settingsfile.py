"""Reads a client's settings file, which a clone may have brought."""

from __future__ import annotations

import os
from typing import Final

from holdfast.fs import safeopen

#: Larger files are not settings.
_MAX_BYTES: Final = 16 << 20


def read(path: str) -> bytes:
    """The file's bytes. Links are followed, because users keep their settings elsewhere, but only to a regular file of
    at most 16 MiB: a clone's settings may be a pipe, or a link to a device. Raises: OSError."""
    return safeopen.read(os.path.realpath(path), _MAX_BYTES, private=False)
