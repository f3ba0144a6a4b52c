"""Private keys in PEM and OpenPGP armour. Finds the whole block, even without its end or escaped in JSON."""

from __future__ import annotations

import re

from holdfast.text.lazy import Lazy
from holdfast_redaction.patterns import Hit

#: Ranks before all formats in the table, because everything in a key block is part of it.
RANK = -1
_BEGIN = "-----BEGIN "
_END = "-----END "
#: An RSA key of 16,384 bits takes some 12,000 characters, and an armoured OpenPGP key ring can be larger.
_MAX_BLOCK = 100_000

_HEADER = Lazy(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
_FOOTER = Lazy(r"-----END [A-Z0-9 ]{0,60}-----", re.ASCII)
#: Lines of a block without an end: base64 and headers such as ``Proc-Type: 4,ENCRYPTED``.
_BODY = Lazy(
    r"(?:(?:\s|\\[nrt]|[\"'+,>|\\]){0,80}(?:[A-Za-z0-9+/=]{12,}|(?:Proc-Type|DEK-Info|Comment|Version|Charset):[^\n\\]{0,200}))+",
    re.ASCII,
)
#: Content of a real key, however its lines are broken. Code that names header and footer does not match.
_MATERIAL = Lazy(r"[A-Za-z0-9+/]{16}")
_LAST = Lazy(r"(?:\s|\\[nrt]){0,8}[A-Za-z0-9+/]{2,}={0,2}(?=\s|\\|\"|'|$)", re.ASCII)


def find(text: str) -> list[Hit]:
    """All private key blocks, in text order. A header with nothing after it is a mention, not a key."""
    hits: list[Hit] = []
    at = text.find(_BEGIN)
    footer = -1
    while at >= 0:
        header = _HEADER.match(text, at)
        after = at + len(_BEGIN)
        if header:
            if footer < header.end():
                footer = text.find(_END, header.end())
                footer = footer if footer >= 0 else len(text) + 1
            following = text.find(_BEGIN, header.end(), min(footer, header.end() + _MAX_BLOCK))
            end = _block_end(text, header.end(), footer, following)
            if end:
                hits.append(Hit(at, end, "private-key", RANK))
                after = end
        at = text.find(_BEGIN, after)
    return hits


def _block_end(text: str, start: int, footer: int, following: int) -> int:
    body = _BODY.match(text, start)
    if footer <= len(text) and following < 0 and footer - start <= _MAX_BLOCK:
        closing = _FOOTER.match(text, footer)
        if closing and (body or _MATERIAL.search(text, start, footer)):
            return closing.end()
    if not body:
        return 0
    last = _LAST.match(text, body.end())
    return last.end() if last else body.end()
