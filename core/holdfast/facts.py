"""The life of a fact."""

from __future__ import annotations

import unicodedata


def duplicate_key(content: str) -> str:
    """The key under which two facts count as the same: ``casefold(NFC(strip(content)))``.

    NFC, not NFKC: compatibility forms (a ligature, a superscript) are different texts. Inner spaces are kept.
    Source: R052, R056, reading A06.
    """
    return unicodedata.normalize("NFC", content.strip()).casefold()
