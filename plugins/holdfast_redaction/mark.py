"""The placeholder ``[REDACTED:rule:xxxx]``. Equal secrets in a store share a placeholder, which does not reveal them.

``xxxx`` is a shortened hash with a key from the store's private folder. With a plain hash, any reader of the memory
could test a guess.
"""

import os

from holdfast_redaction.patterns import RedactionFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import blake2s

KEY_FILE = "redaction.key"
KEY_BYTES = 32


class Marker:
    """Creates placeholders. The key is read or created when the first secret is found.

    ``folder`` is the store's private folder. Without one the key lives as long as this object.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._folder = folder
        self._keyed: blake2s | None = None

    def placeholder(self, rule: str, secret: str) -> str:
        """The placeholder for ``secret``. Raises: OSError, Unavailable when the key cannot be read or created."""
        if self._keyed is None:
            from hashlib import blake2s

            key = os.urandom(KEY_BYTES) if self._folder is None else _shared_key(os.fspath(self._folder))
            self._keyed = blake2s(key=key, digest_size=2)
        digest = self._keyed.copy()
        digest.update(secret.encode("utf-8", "surrogatepass"))
        return f"[REDACTED:{rule}:{digest.hexdigest()}]"


def _shared_key(folder: str) -> bytes:
    """The store's key. If two processes need one at the same time, one creates it and both use it."""
    path = os.path.join(folder, KEY_FILE)
    key = _read_key(path)
    if key:
        return key
    from holdfast.fs import durable, private  # not needed without secrets

    private.make(folder)  # before the key: git must not take it in
    with durable.lock(f"{path}.lock"):
        if not _read_key(path):
            durable.replace(path, os.urandom(KEY_BYTES))
    return _read_key(path) or _damaged(path)


def _read_key(path: str) -> bytes:
    from holdfast.fs import safeopen

    try:
        with safeopen.reader(path) as file:
            key = file.read(KEY_BYTES + 1)
    except FileNotFoundError:
        return b""
    return key if len(key) == KEY_BYTES else _damaged(path)


def _damaged(path: str) -> bytes:
    raise RedactionFailed(
        f"The key file {os.path.basename(path)} for redaction placeholders is damaged.",
        next_step="Delete it from the private state folder. A new one is created, and secrets get new placeholders.",
    )
