"""Excerpts of prompts, tool calls and tool results, identical from a client's hook and its transcript. Pure functions
of strings. Part of the hot path, so it does not import attrs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

MAX_RESULT_CHARS: Final = 4_000
"""Maximum length, in characters, of a string kept whole in tool calls, results and unknown blocks. A longer string
keeps its head, its tail (a test run's verdict is at the end), its length and its digest."""

MAX_SAID_CHARS: Final = 10_000_000
"""Maximum length of a prompt or answer kept whole, in characters. A hook has 8 s to redact and write it."""

MAX_CALL_CHARS: Final = 400
"""Maximum length of a tool call's first line, in characters. Arguments that it cuts follow on their own lines."""

NO_OUTPUT: Final = "(no output)"
BACKGROUND: Final = "background"
"""The tool name for results of :func:`background_result`."""

#: Characters between words: blanks, quotes, brackets and separators, also of JSON on one line.
_BETWEEN: Final = frozenset(" \t\r\n\"'`<>(){}[],;|")
_MAX_WORD: Final = 1_000

_TELLING_ARGUMENTS: Final = (
    "command",
    "cmd",
    "file_path",
    "filePath",
    "notebook_path",
    "pattern",
    "path",
    "query",
    "url",
    "description",
    "prompt",
)


def clean(value: object) -> str:
    """``value`` if it is a string, made safe for UTF-8 files: lone surrogates become U+FFFD, and NUL is removed."""
    if not isinstance(value, str):
        return ""
    if value.isascii():
        return value.replace("\0", "")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        value = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in value)
    return value.replace("\0", "")


def clip(text: str, limit: int = MAX_RESULT_CHARS) -> str:
    """``text``, or its head and tail around a marker, at most ``limit`` characters. The marker gives the number of
    characters left out, the full length and the digest. No word is cut, because no rule knows half a secret."""
    if len(text) <= limit:
        return text
    half = limit // 2 - 80  # leaves room for the marker
    head, tail = text[: _border(text, half, -1)], text[_border(text, len(text) - half, 1) :]
    left_out = f"{len(text) - len(head) - len(tail):,} of {len(text):,} characters left out"
    return f"{head}\n[… {left_out}; {digest_of(text)} …]\n{tail}"


def _border(text: str, at: int, step: int) -> int:
    """The word's border from ``at`` in the direction ``step``. ``at`` itself inside a very long word."""
    if text[at - 1] in _BETWEEN or text[at] in _BETWEEN:
        return at
    start = end = at
    while start > 0 and text[start - 1] not in _BETWEEN and at - start < _MAX_WORD:
        start -= 1
    while end < len(text) and text[end] not in _BETWEEN and end - at < _MAX_WORD:
        end += 1
    if max(at - start, end - at) >= _MAX_WORD:
        return at
    return start if step < 0 else end


def digest_of(text: str) -> str:
    """``sha256 HEX`` of the UTF-8 text."""
    from hashlib import sha256

    return f"sha256 {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def without_injected(text: str) -> str:
    """``text`` without the ``<system-reminder>`` blocks that a client puts into prompts and results."""
    kept: list[str] = []
    rest = text
    while "<system-reminder>" in rest:
        before, _, after = rest.partition("<system-reminder>")
        _, closed, tail = after.partition("</system-reminder>")
        if not closed:  # an unclosed tag is ordinary text
            break
        kept.append(before)
        rest = tail
    return "".join(kept) + rest


def background_result(text: str) -> str | None:
    """A sub-agent's or background command's result, from the message with which Claude Code reports its end to the
    model. The user did not write that message. Empty without a result, None when ``text`` is another kind of
    message."""
    if not text.lstrip().startswith("<task-notification>"):
        return None
    found = text.partition("<result>")[2].rpartition("</result>")[0] or text.partition("<summary>")[2]
    return found.partition("</summary>")[0].strip()


def call_line(tool: str, shown: str, cwd: str = "") -> str:
    """A tool call as one line, like ``Bash: pytest -q``, with paths relative to the working directory. ``shown`` is
    from :func:`telling`."""
    line = shortened(" ".join(clean(shown).split()), cwd)
    text = f"{tool}: {line}" if line else tool
    return text if len(text) <= MAX_CALL_CHARS else text[: _border(text, MAX_CALL_CHARS - 1, -1)] + "…"


def shortened(text: str, cwd: str) -> str:
    """``text`` with its paths relative to ``cwd``."""
    return text.replace(cwd.rstrip("/\\") + "/", "") if len(cwd) > 1 else text


def telling(arguments: object) -> tuple[str, tuple[str, ...]]:
    """A call's most informative argument, otherwise all of them as text, and their names. The name of a value that
    is the whole argument is empty."""
    if isinstance(arguments, str):
        return arguments, ("",)
    if not isinstance(arguments, dict):
        return "", ()
    for name in _TELLING_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, list):  # an argument vector
            value = " ".join(part for part in value if isinstance(part, str))
        if isinstance(value, str) and value.strip():
            return value, (name,)
    names = tuple(name for name, value in arguments.items() if isinstance(value, str | int | float))
    return ", ".join(f"{name}={arguments[name]}" for name in names), names
