"""SHA-256 without the 5 ms of loading OpenSSL, as :mod:`hashlib` does."""

from __future__ import annotations

try:
    from _sha2 import sha256 as _sha256  # type: ignore[import-not-found,unused-ignore]  # Python 3.12 and later
except ImportError:
    try:
        from _sha256 import sha256 as _sha256  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from hashlib import sha256 as _sha256


def sha256(text: str) -> str:
    """Hex digest of the UTF-8 bytes of ``text``."""
    return sha256_of(text.encode("utf-8"))


def sha256_of(data: bytes) -> str:
    """Hex digest of ``data``."""
    digest: str = _sha256(data).hexdigest()
    return digest
