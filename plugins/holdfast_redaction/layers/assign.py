"""Layer three, assignments: finds the value assigned to a name in any notation.

``name = value``, ``name: value``, ``"name": "value"``, ``name => value``, ``environ["NAME"] = value``,
``name ::= value``, ``var name string = value``,
``define("NAME", "value")``, ``setName("value")``, ``<name>value</name>``, ``--name value``,
``name: NAME`` next to ``value: value``, and a row of a Markdown table. A parser instead of an expression, because it
reads each character once and cannot run away.
"""

import re
from collections import namedtuple

from holdfast.text.lazy import Lazy

#: Maximum length of a value. A private key is longer, but found by its own format.
MAX_VALUE = 4096
_QUOTES, _ESCAPED = "\"'`", ('\\"', "\\'")
_PREFIX = Lazy(r"[bBrRfFuUN@]{1,2}(?=[\"'`])")
_BLANKS = " \t"

#: Characters allowed between a name and its value. Any other character means no assignment.
_MAY_FOLLOW = frozenset(" \t\"'`\\)]?!*(=:>|,-+<→")

#: An assignment sign, possibly followed by Markdown: "**Password:** value".
_SIGN = Lazy(r"([=!]==?|=>|=|:{1,3}=|::|:|[?+.]=|\|\|=?|->|→|<-)\**")
_TYPED = Lazy(r"[A-Za-z_&][\w.\[\]&' |]{0,60}?[ \t]{0,4}=[ \t]{0,4}(?![=>])", re.ASCII)
#: A type after the name, as in Go.
_DECLARED = Lazy(
    r"[ \t][*&]?(?:string|str|char|byte|rune|text|varchar|nsstring)[\w()\[\]*]{0,20}[ \t]{0,8}:?=[ \t]{0,8}(?![=>~])",
    re.ASCII | re.IGNORECASE,
)
#: A property, as in C#.
_PROPERTY = Lazy(r"[ \t]\{[ \t]?get;[^{}\n]{0,40}\}[ \t]{0,4}=[ \t]{0,4}")
#: Attributes of an element.
_ATTRIBUTES = Lazy(r"(?:\s{1,9}[\w:-]{1,40}\s?=\s?\"[^\"<>]{0,80}\"){1,5}\s{0,9}>", re.ASCII)
#: A variable's block, as in Terraform.
_DEFAULT = Lazy(r"[\"']\s{0,4}\{[^{}]{0,80}?default\s{0,4}=\s{0,4}")
_PAIRED = Lazy(r"[\"']?\s{0,40},?\s{0,40}(?:-\s)?[\"']?[vV]alue[\"']?[ \t]{0,4}[:=][ \t]{0,4}", re.ASCII)
#: A literal passed to its type's constructor.
_WRAPPED = Lazy(
    r"(?:(?:\[\](?:byte|rune)|[Ss]tr(?:ing)?(?:::from|::new)?|bytes|Buffer\.from|Secret(?:Str|String)?(?:::new|::from)?)\("
    r"|ConvertTo-SecureString[ \t]{1,4}(?:-String[ \t]{1,4})?)(?=[\"'`])"
)
_WRAPS = frozenset("[sSbBC")
#: Maximum length of a value without quotes, which bounds the work on hostile text. Longer ones have known formats.
_BARE = Lazy(r"[^\s\"'`<>]{1,512}")
_WHOLE = Lazy(r"\S{1,512}")
_CUT = Lazy(r"&[A-Za-z_]\w{0,40}=|;|,[A-Za-z_\"'{\[][\w \"']{0,40}[=:]|\\[\"']|\*\*|\|(?=\s|$)|\]\(", re.ASCII)
#: A script without blanks that follows a value.
SCRIPT = Lazy(r"(?<=[!-~])[\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
#: First characters of ``_DECLARED`` after its blank.
_TYPE = frozenset("sScCbBrRtTvVnN*&")

#: A value's position. ``sep`` is its assignment sign: ``=``, ``:``, ``,``, ``(``, ``<``, ``|``, a blank, or ``?`` for a
#: comparison or an arrow.
Value = namedtuple("Value", "start end sep quoted")  # noqa: PYI024


def value_of(text: str, start: int, end: int, *, flag: bool) -> Value | None:
    """The value assigned to the name at ``text[start:end]``. ``flag``: the name is an option such as ``--token``."""
    apart = _apart(text, start, end)
    if apart:
        return apart
    if text[end : end + 1] not in _MAY_FOLLOW:
        return None
    if not flag and text[end] == " " and (text[end + 1 : end + 2].isalnum() or text[end + 1 : end + 2] in _TYPE):
        # By far the most frequent case is another word, which is not a value unless it is a type.
        declared = _DECLARED.match(text, end) if text[end + 1] in _TYPE and text.find("=", end, end + 60) > 0 else None
        return _read(text, declared.end(), "=", whole=False) if declared else None
    at = end + (2 if text[end : end + 2] in _ESCAPED else text[end] in _QUOTES)
    quoted_name = at > end
    default = _DEFAULT.match(text, end) if quoted_name else None
    if default:
        return _read(text, default.end(), "=", whole=False)
    while text[at : at + 1] and text[at] in ")]?!*" and at - end < 6:
        at += 1
    made = _PROPERTY.match(text, end) if text.startswith(" {", end) else None
    if made:
        return _read_quoted(text, made.end(), "=")
    called = at == end and text[at : at + 1] == "("
    sign = _skip_blanks(text, at)
    mark = text[sign : sign + 1]
    if called:
        return _read_quoted(text, _skip_blanks(text, sign + 1), "(")
    if mark == "," and (quoted_name or ("_" in text[start:end] and text[start:end].isupper())):
        return _read_quoted(text, _skip_blanks(text, sign + 1), ",")
    if (
        mark == ">"
        and start
        and (text[start - 1] == "<" or (quoted_name and text.rfind("<", max(0, start - 80), start) >= 0))
    ):
        return _in_element(text, sign + 1)
    if mark == "|" and _in_table(text, start):
        stop = text.find("|", sign + 1, sign + MAX_VALUE)
        return _trimmed(text, sign + 1, stop, "|") if stop > 0 else None
    if mark in ("-", "\u2013", "\u2014") and sign > at and text[sign + 1 : sign + 2] == " ":
        return _read_quoted(text, sign + 2, "=")
    if flag and sign > at and mark and mark not in "=:-|&>":
        return _read(text, sign, " ", whole=False)
    return _behind_sign(text, start, end, sign)


def _apart(text: str, start: int, end: int) -> Value | None:
    """The value in a pair of ``name`` and ``value``, or behind an element's attributes."""
    paired = _PAIRED.match(text, end) if "alue" in text[end : end + 60] else None
    if paired:
        return _read(text, paired.end(), "=", whole=False)
    attributes = _ATTRIBUTES.match(text, end) if text[start - 1 : start] == "<" else None
    return _in_element(text, attributes.end()) if attributes else None


def _in_element(text: str, start: int) -> Value | None:
    """An element's content that begins at ``start``; of several words the last, as in ``{deploy x}``."""
    stop = text.find("<", start, start + MAX_VALUE)
    *before, last = text[start:stop].rstrip(" \t\r\n}").split() or [""]
    if not before:
        return Value(start, stop, "<", quoted=True) if stop > start else None
    at = text.rfind(last, start, stop)
    return Value(at, at + len(last), "(", quoted=False)


def _behind_sign(text: str, start: int, end: int, sign: int) -> Value | None:
    """The value after the sign at ``sign``, for the name at ``text[start:end]``."""
    mark, match = text[sign : sign + 1], _SIGN.match(text, sign)
    if not match or match[1] == "::" or (match[1] == "=" and text[sign + 1 : sign + 2] == "~"):
        return None
    value = _skip_blanks(text, match.end())
    if mark == ":":
        typed = _TYPED.match(text, value)
        if typed:
            value = typed.end()
    sep = "?" if text.startswith(("==", "!=", "->", "→", "<-", "||"), sign) else ":" if mark == ":" else "="
    if mark == "|":  # a default value, either a literal or code
        return _read_quoted(text, value, sep)
    return _read(text, value, sep, whole=mark == "=" and sign == end and _opens_line(text, start))


def _read(text: str, at: int, sep: str, *, whole: bool) -> Value | None:
    wrapped = _WRAPPED.match(text, at) if text[at : at + 1] in _WRAPS else None
    quoted = _read_quoted(text, wrapped.end() if wrapped else at, sep)
    if quoted:
        return quoted
    if text[at : at + 1] in ("", "\n", "\r") or text[at] in _QUOTES:
        return None
    match = (_WHOLE if whole else _BARE).match(text, at)
    if not match:
        return None
    end = match.end()
    if not whole:
        for pattern in (_CUT, SCRIPT):
            cut = pattern.search(text, at, end)
            if cut and cut.start() > at:
                end = cut.start()
    return _trimmed(text, at, end, sep)


def _read_quoted(text: str, at: int, sep: str) -> Value | None:
    """A quoted value, up to the closing quote on the same line. A prefix such as ``b"`` is part of the notation."""
    prefix = _PREFIX.match(text, at)
    at = prefix.end() if prefix else at
    quote = text[at : at + 1]
    if text[at : at + 2] in _ESCAPED:
        quote = text[at : at + 2]
    elif not quote or quote not in _QUOTES:
        return None
    elif text[at : at + 3] == quote * 3:
        quote *= 3
    begin = at + len(quote)
    limit = begin + MAX_VALUE
    if len(quote) < 3:
        line = text.find("\n", begin, limit)
        limit = line if line >= 0 else limit
    stop = text.find(quote, begin, limit)
    while len(quote) == 1 and stop > begin and text[stop - 1] == "\\":
        stop = text.find(quote, stop + 1, limit)
    return Value(begin, stop, sep, quoted=True) if stop > begin else None


def _trimmed(text: str, start: int, end: int, sep: str) -> Value | None:
    """The value's span without surrounding blanks and trailing punctuation."""
    while start < end and text[start] in _BLANKS:
        start += 1
    while end > start:
        last = text[end - 1]
        if last in ",; \t" or (
            last in ")]}" and text.count("([{"[")]}".index(last)], start, end) < text.count(last, start, end)
        ):
            end -= 1
        else:
            break
    return Value(start, end, sep, quoted=False) if end > start else None


def _skip_blanks(text: str, at: int) -> int:
    near = text[at : at + 40]
    return at + len(near) - len(near.lstrip(_BLANKS))


def _opens_line(text: str, start: int) -> bool:
    """Whether the name starts its line, apart from ``export`` and the like. Then the value is the remaining line."""
    line = max(text.rfind("\n", max(0, start - 40), start) + 1, start - 40, 0)
    return text[line:start].strip() in ("", "export", "set", "-", "- export", "$env:", "declare -x", "ENV", "+", "-e")


def _in_table(text: str, start: int) -> bool:
    return text[text.rfind("\n", max(0, start - 200), start) + 1 : start].lstrip().startswith("|")
