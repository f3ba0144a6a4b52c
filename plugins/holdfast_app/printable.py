"""Third-party text as it may be shown in a terminal, a line or JSON, and sizes for people."""

import re
from collections.abc import Sequence

from holdfast.text.plain import clip

#: ZERO WIDTH NON-JOINER and JOINER: Persian, Indic scripts and emoji need them, and they reorder nothing.
JOINERS = "\u200c\u200d"
#: Variation selectors. A row of them is invisible and can spell words.
_SELECTOR = "[\ufe00-\ufe0f\U000e0100-\U000e01ef]"

#: Letters and marks that count as printable but are invisible.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0")


def printable(text: str) -> str:
    """``text`` made safe for a terminal: printable characters, line ends and tabs.

    Everything else becomes a visible escape like ``\\x1b``, ``\\u202e`` or ``\\U000e0041``: control characters (C0,
    DEL, C1), bidirectional and other invisible format characters, line and paragraph separators, lone surrogates,
    private use. Joiners stay between two characters beyond ASCII, and one variation selector after a character.
    ``\\r\\n`` is a line end.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    text = text.translate(_SHOWN)
    if JOINERS[0] in text or JOINERS[1] in text:
        other = rf"[^\x00-\x7f{JOINERS}]"
        text = re.sub(rf"(?<!{other})[{JOINERS}]|[{JOINERS}](?!{other})", _escaped, text)
    if not text.isascii():
        text = re.sub(f"(?<={_SELECTOR}){_SELECTOR}", _escaped, text)
    return text


def in_one_line(text: str) -> str:
    """:func:`printable` with line ends and tabs as blanks, so the text cannot start a new line."""
    return text if text.isascii() and text.isprintable() else printable(text).translate(_BLANKS)


def json_safe(text: str) -> str:
    """The JSON ``text`` with unprintable characters as JSON escapes."""
    return text if text.isascii() and text.isprintable() else text.translate(_IN_JSON)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class _Shown(dict[int, str]):
    """Filled on demand."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        harmless = (char.isprintable() and char not in _BLANK) or char in "\n\t" or char in JOINERS
        if not harmless and char.isspace() and code not in (0x85, 0x2028, 0x2029) and code > 0x9F:
            harmless = True  # blanks of other widths
        form = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        self[code] = char if harmless else form
        return self[code]


class _InJson(dict[int, str]):
    """Filled on demand. JSON's layout line ends stay; those in strings are already escaped."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        pair = char.encode("utf-16-be", "surrogatepass")
        form = "".join(f"\\u{pair[at : at + 2].hex()}" for at in range(0, len(pair), 2))
        self[code] = char if (char.isprintable() and char not in _BLANK) or char == "\n" else form
        return self[code]


_SHOWN, _IN_JSON = _Shown(), _InJson()

_BLANKS = {ord("\n"): " ", ord("\t"): " "}


def some(names: Sequence[str], most: int = 5) -> str:
    """``names`` with commas, and of a long list the first ``most`` only: ``a, b, c, d, e and 4,995 more``."""
    more = len(names) - most
    return ", ".join(map(in_one_line, names[:most])) + (f" and {more:,} more" if more > 0 else "")


def cut(text: str, limit: int) -> str:
    """``text`` on one line of at most ``limit`` characters, cut at a word and ended with an ellipsis."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    head = text[: limit - 1].rpartition(" ")[0] or text[: limit - 1]
    return head.rstrip(" ,;:") + "…"


def first_line(text: str, limit: int) -> str:
    """The first non-blank line, clipped to ``limit`` characters."""
    return clip(next(filter(None, map(str.strip, text.splitlines())), ""), limit)


def size(number: int) -> str:
    """Bytes as ``744 B``, ``12.3 kB``, ``4.1 MB`` (powers of 1000)."""
    if number < 1000:
        return f"{number} B"
    value = number / 1000
    for unit in ("kB", "MB"):
        if value < 999.95:
            return f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
