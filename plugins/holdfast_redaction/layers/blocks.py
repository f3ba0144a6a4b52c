"""Secrets of several lines: private keys in PEM and OpenPGP armour, and columns under a secret's name.

A key is found whole, also without its first or last line. A table is in Markdown, or has cells between commas,
semicolons or tabs.
"""

import re
from collections.abc import Iterator

from holdfast.text.lazy import Lazy
from holdfast_redaction.layers import names, prose, values
from holdfast_redaction.patterns import Hit

#: Ranks before all formats in the table, because everything in a key block is part of it.
RANK = -1
#: Ranks like a value next to its name.
COLUMN = 10_000
_BEGIN = "-----BEGIN "
_END = "-----END "
#: An RSA key of 16,384 bits takes some 12,000 characters, and an armoured OpenPGP key ring can be larger.
_MAX_BLOCK = 100_000

_HEADER = Lazy(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
_FOOTER = Lazy(r"-----END [A-Z0-9 ]{0,60}-----", re.ASCII)
_PRIVATE = Lazy(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
#: Lines of a block without an end: base64 and headers such as ``Proc-Type: 4,ENCRYPTED``.
_BODY = Lazy(
    r"(?:[\s\"'+,>|\\]{0,80}(?:[A-Za-z0-9+/=]{12,}|(?:Proc-Type|DEK-Info|Comment|Version|Charset):[^\n\\]{0,200}))+",
    re.ASCII,
)
#: Content of a real key, however its lines are broken. Code that names header and footer does not match.
_MATERIAL = Lazy(r"[A-Za-z0-9+/]{16}")
_LAST = Lazy(r"\s{0,8}[A-Za-z0-9+/]{2,}={0,2}(?=\s|\\|\"|'|$)", re.ASCII)
#: How a private key of RSA, EC or Ed25519 begins. Source: RFC 5958.
_FIRST = Lazy(
    r"\bM(?:I[A-Za-z0-9+/]{2,6}IB(?:ADANBgkqhkiG9w0BAQEFAASC|AAK[BC])|HcCAQEEI|C4CAQAwBQYDK2VwBCIEI|IGHAgEAMBMGByqGSM49AgEG)",
    re.ASCII,
)
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")

_NAME = Lazy(r"\w[\w .()/-]{0,38}")
#: The longest row.
_MAX_LINE = 2_000


def find(text: str, heads: list[int]) -> list[Hit]:
    """All private keys, and the columns under a name in ``heads``."""
    return [*_keys(text), *_columns(text, heads)]


def _keys(text: str) -> Iterator[Hit]:
    """A header with nothing after it is a mention, not a key."""
    at = text.find(_BEGIN)
    footer, through = -1, 0
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
                yield Hit(at, end, "private-key", RANK)
                after = end
        at = text.find(_BEGIN, after)
    for closing in _PRIVATE.finditer(text) if text.find(_END) >= 0 else ():
        start = _body_start(text, closing.start(), through)
        if start < closing.start():
            yield Hit(start, closing.end(), "private-key", RANK)
        through = closing.end()
    through = 0
    for opening in _FIRST.finditer(text):
        body = _BODY.match(text, opening.start()) if opening.start() >= through else None
        if body:
            through = body.end()
            yield Hit(opening.start(), through, "private-key", RANK)


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


def _body_start(text: str, end: int, first: int) -> int:
    """Where the lines of base64 before the footer at ``end`` begin; ``end`` if there are none."""
    start = at = end
    while at > first and end - at < _MAX_BLOCK:
        line = max(text.rfind("\n", first, at - 1) + 1, first)
        content = text[line:at].strip(" \t\r\n\"'+,>|\\")
        word = content.rpartition('"')[2].rpartition(" ")[2]
        if content and (len(word) < (16 if start < end else 4) or not _BASE64.issuperset(word)):
            break
        start = line + text[line:at].find(word) if content else start
        if word != content:
            break
        at = line
    return start


def _columns(text: str, heads: list[int]) -> Iterator[Hit]:
    """The values in a table's columns with a secret's name. Each line is read once as a header and once as a row."""
    at = 0
    for head in sorted(heads):
        if head < at:
            continue
        first = text.rfind("\n", max(0, head - _MAX_LINE), head) + 1
        line, at = _line(text, first) if first or head < _MAX_LINE else ("", at)
        separator, count, strengths = _header(line) or ("", 0, [])
        while count and at < len(text):
            line, after = _line(text, at)
            cells = _cells(line, separator)
            if not line.strip(" \t\r|+-:"):  # below the header
                at = after
                continue
            if len(cells) != count:
                break
            for index, strength in strengths:
                start, end = cells[index]
                value, is_password = line[start:end], strength == values.PASSWORD
                if prose.stands_out(value, strength) or (
                    is_password and separator != "|" and value and values.can_be_secret(value, strength, quoted=False)
                ):
                    yield Hit(at + start, at + end, "password" if is_password else "secret", COLUMN)
            at = after


def _line(text: str, at: int) -> tuple[str, int]:
    """The line from ``at`` on, and where the next one begins."""
    end = text.find("\n", at)
    end = end if end >= 0 else len(text)
    return text[at : min(end, at + _MAX_LINE)], end + 1


def _header(line: str) -> tuple[str, int, list[tuple[int, int]]] | None:
    """A table's separator, its number of cells, and the columns of secrets with their names' strength."""
    separator = next((s for s in ("|", "\t", ";", ",") if s in line), "")
    if not separator or len(line) >= _MAX_LINE:
        return None
    cells = [line[start:end] for start, end in _cells(line, separator)]
    if len(list(filter(None, cells))) < 2 or not all(_NAME.fullmatch(cell) for cell in cells if cell):
        return None
    strengths = [(index, s) for index, cell in enumerate(cells) if (s := names.strength(cell))]
    return (separator, len(cells), strengths) if strengths else None


def _cells(line: str, separator: str) -> list[tuple[int, int]]:
    """Each cell's span without blanks and quotes."""
    spans, start = [], 0
    for part in line.split(separator):
        inner = part.strip(" \t\r\"'`*")
        left = start + part.find(inner) if inner else start
        spans.append((left, left + len(inner)))
        start += len(part) + 1
    return spans
