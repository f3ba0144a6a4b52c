"""What is kept of prompts, tool calls and tool results, told alike by whoever hears of them first: a client's hook or
its transcript. Functions of text only; part of the hot path, so no attrs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

MAX_RESULT_CHARS: Final = 4_000
"""Longest string kept whole, in characters, in tool calls, results and blocks of unknown form. Of a longer one the head
and the tail are kept, since the verdict of a test run is at the end, with its length and digest."""

MAX_SAID_CHARS: Final = 10_000_000
"""Longest prompt or answer kept whole, in characters. A hook has 8 s to redact and write it."""

MAX_CALL_CHARS: Final = 400
"""Longest first line of a tool call, in characters. Arguments it does not show whole are on lines of their own."""

NO_OUTPUT: Final = "(no output)"
BACKGROUND: Final = "background"
"""The tool's name for what :func:`background_result` gives."""

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
    """``value`` if it is text, without what UTF-8 files cannot hold: lone surrogates become U+FFFD, NUL goes."""
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
    """``text``, or its head and tail, ``limit`` characters at most, around a marker with the number of characters left
    out, the length and the digest of the whole."""
    if len(text) <= limit:
        return text
    half = limit // 2 - 80  # leaves room for the marker
    left_out = f"{len(text) - 2 * half:,} of {len(text):,} characters left out"
    return f"{text[:half]}\n[… {left_out}; {digest_of(text)} …]\n{text[-half:]}"


def digest_of(text: str) -> str:
    """``sha256 HEX`` of the text in UTF-8."""
    from hashlib import sha256

    return f"sha256 {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def without_injected(text: str) -> str:
    """``text`` without the ``<system-reminder>`` blocks that a client puts into prompts and results."""
    kept: list[str] = []
    rest = text
    while "<system-reminder>" in rest:
        before, _, after = rest.partition("<system-reminder>")
        _, closed, tail = after.partition("</system-reminder>")
        if not closed:  # an unclosed tag is somebody's text
            break
        kept.append(before)
        rest = tail
    return "".join(kept) + rest


def background_result(text: str) -> str | None:
    """What a sub-agent or a command in the background gave back, from the message by which Claude Code tells its model
    that it has ended: nobody said that. Empty when it gave nothing back, None when ``text`` is something else."""
    if not text.lstrip().startswith("<task-notification>"):
        return None
    found = text.partition("<result>")[2].rpartition("</result>")[0] or text.partition("<summary>")[2]
    return found.partition("</summary>")[0].strip()


def call_line(tool: str, arguments: object, cwd: str = "") -> str:
    """A tool call as one line, like ``Bash: pytest -q``, with paths relative to the working directory."""
    line = shortened(" ".join(clean(_told(arguments)).split()), cwd)
    text = f"{tool}: {line}" if line else tool
    return text if len(text) <= MAX_CALL_CHARS else text[: MAX_CALL_CHARS - 1] + "…"


def shortened(text: str, cwd: str) -> str:
    """``text`` with the paths in it relative to ``cwd``."""
    return text.replace(cwd.rstrip("/\\") + "/", "") if len(cwd) > 1 else text


def telling(arguments: object) -> tuple[str, ...]:
    """The names of the arguments that :func:`call_line` shows; the empty name when that is the value itself."""
    if not isinstance(arguments, dict):
        return ("",) if isinstance(arguments, str) else ()
    for name in _TELLING_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, list):  # an argument vector
            value = " ".join(part for part in value if isinstance(part, str))
        if isinstance(value, str) and value.strip():
            return (name,)
    return tuple(name for name, value in arguments.items() if isinstance(value, str | int | float))


def _told(arguments: object) -> str:
    """The one argument that says most, otherwise all of them."""
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, dict):
        return ""
    names = telling(arguments)
    if len(names) == 1 and names[0] in _TELLING_ARGUMENTS:
        value = arguments[names[0]]
        return " ".join(part for part in value if isinstance(part, str)) if isinstance(value, list) else str(value)
    return ", ".join(f"{name}={arguments[name]}" for name in names)
