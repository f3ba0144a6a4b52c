"""What is kept of prompts, tool calls and tool results, told alike by whoever hears of them first: a client's hook or
its transcript. Functions of text only; part of the hot path, so no attrs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

MAX_RESULT_CHARS: Final = 4_000
"""What is kept of one tool result: its head and its tail, since the verdict of a test run stands at the end."""

MAX_CALL_CHARS: Final = 400
"""What is kept of the one line that says which call was made."""

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


def clip(text: str) -> str:
    """``text``, or its head and tail around a marker that says how many characters are left out."""
    if len(text) <= MAX_RESULT_CHARS:
        return text
    half = MAX_RESULT_CHARS // 2 - 40  # leaves room for the marker
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out …]\n{text[-half:]}"


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
    line = " ".join(clean(_told(arguments)).split())
    if len(cwd) > 1:
        line = line.replace(cwd.rstrip("/\\") + "/", "")
    text = f"{tool}: {line}" if line else tool
    return text if len(text) <= MAX_CALL_CHARS else text[: MAX_CALL_CHARS - 1] + "…"


def result_text(text: str) -> str:
    """A tool's output as it is kept: clipped, and never blank. The first line's indent means something and stays."""
    return clip(clean(text).strip("\r\n").rstrip()) or NO_OUTPUT


def _told(arguments: object) -> str:
    """The one argument that tells most, else all of them."""
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, dict):
        return ""
    for name in _TELLING_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, list):  # an argument vector
            value = " ".join(part for part in value if isinstance(part, str))
        if isinstance(value, str) and value.strip():
            return value
    return ", ".join(f"{name}={value}" for name, value in arguments.items() if isinstance(value, str | int | float))
