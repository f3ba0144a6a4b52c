"""Every string in a JSON value, as readable text, so content in unknown formats is not lost; and excerpts of prompts,
tool calls and tool results, identical from a client's hook and its transcript.

A string is kept verbatim. A string longer than :data:`MAX_RESULT_CHARS`, and any base64 data, becomes an excerpt with
its length and SHA-256 digest. Part of the hot path, so without attrs and regular expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final

TYPE_CHECKING = False

if TYPE_CHECKING:
    Change = Callable[[str], str]


MAX_RESULT_CHARS: Final = 4_000
"""Maximum length, in characters, of a string kept whole in tool calls, results and unknown blocks. A longer string
keeps its head, its tail (a test run's verdict is at the end), its length and its digest."""

MAX_OUTSIDE_CHARS: Final = 64_000
"""The same for a result that strangers wrote, because it is the evidence of who said a sentence first."""

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

#: Parts of the names of tools whose results strangers write.
_OUTSIDE: Final = (
    "web", "fetch", "document", "resource", "attach", "search", "browse", "navigate", "http", "curl", "mcp", "issue",
    "pull_request", "mail", "slack", "discord",
)  # fmt: skip
_TELLING_ARGUMENTS: Final = (
    "command", "cmd", "file_path", "filePath", "notebook_path", "pattern", "path", "query", "url", "description",
    "prompt",
)  # fmt: skip


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
    from holdfast.text.digests import sha256_of

    return f"sha256 {sha256_of(text.encode('utf-8', 'surrogatepass'))}"


_REMINDER: Final = "system-reminder>"


def without_injected(text: str, injected: list[str] | None = None) -> str:
    """``text`` without a client's ``<system-reminder>`` blocks, which are added to ``injected``."""
    parts: list[str] = []
    start = at = depth = 0
    while (tag := text.find(_REMINDER, at)) > 0:
        at = tag + len(_REMINDER)
        if text[tag - 1] == "<":
            if not depth:
                parts.append(text[start : tag - 1])
                start = tag - 1
            depth += 1
        elif depth and text[tag - 2 : tag] == "</":
            depth -= 1  # what a reminder quotes cannot close it
            if not depth:
                if injected is not None:
                    injected.append(text[start + 1 + len(_REMINDER) : tag - 2])
                start = at
    return "".join(parts) + text[start:]  # an unclosed tag is ordinary text


def as_typed(text: str) -> str:
    """A prompt without the quotation marks that ``opencode run`` puts around an argument with spaces."""
    inner = text.strip()[1:-1]
    is_quoted = text.strip() == f'"{inner}"' and " " in inner and '"' not in inner.replace('\\"', "")
    return inner.replace('\\"', '"') if is_quoted else text


_FILES: Final = ("\n--- Content from referenced files ---", "\n--- End of content ---")


def without_files(text: str, injected: list[str]) -> str:
    """``text`` without the files that Gemini CLI and Qwen Code put into a prompt for each ``@file``. They are added to
    ``injected``. What a file quotes cannot close them."""
    head, opened, rest = text.partition(_FILES[0])
    if not opened:
        return text
    files, closed, tail = rest.rpartition(_FILES[1])
    injected.append(files if closed else tail)
    return head + (tail if closed else "")


def background_result(text: str) -> str | None:
    """A sub-agent's or background command's result, from the message with which Claude Code reports its end to the
    model. The user did not write that message. Empty without a result, None when ``text`` is another kind of
    message."""
    if not text.lstrip().startswith("<task-notification>"):
        return None
    result = text.partition("<result>")[2].rpartition("</result>")[0] or text.partition("<summary>")[2]
    return result.partition("</summary>")[0].strip()


def shortened(text: str, cwd: str) -> str:
    """``text`` with its paths relative to ``cwd``."""
    return text.replace(cwd.rstrip("/\\") + "/", "") if len(cwd) > 1 else text


def telling(arguments: object) -> tuple[str, tuple[str, ...]]:
    """A call's most informative argument, otherwise all of them as text, and their names. A value that is the
    whole argument has an empty name."""
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


#: Members that link or control blocks, left out unless they contain words (:func:`says`). This includes signatures and
#: encrypted reasoning, which only the provider can read. A known block's other members are content.
STRUCTURE: Final = frozenset({
    "cache_control", "call_id", "encrypted_content", "id", "index", "logprobs", "messageID", "sessionID", "signature",
    "start_timestamp", "status", "stop_timestamp", "synthetic", "thoughtSignature", "time", "tool_use_id", "type",
})  # fmt: skip
#: ``logprobs`` repeats the text in pieces. Other members, and those of tools, may add words.
_LINKS: Final = (STRUCTURE | {"caller", "is_error", "name", "tool_call_id"}) - {"logprobs"}
_TEXT_BLOCK: Final = STRUCTURE | {"text"}
_LABELS: Final = {
    "image": "image", "input_image": "image", "image_url": "image", "document": "file", "file": "file",
    "input_file": "file",
}  # fmt: skip
#: Output members of a tool's structured response.
_OUTPUTS: Final = ("stdout", "stderr", "content", "output", "result", "text", "error", "message")
_EMPTY: Final[tuple[object, ...]] = (None, [], {})
_PICTURES: Final = ("image/", "audio/", "video/", "application/pdf")


def leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """The strings, numbers and booleans in ``value``, in order, each with its dotted path. Null is left out, and a
    list's elements share its path. A key of several words without a value is itself a leaf. Base64 data is replaced by
    its excerpt."""
    waiting = [(name, value)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, dict):
            media = _base64_type(node)
            inner = [(f"{path}.{key}" if path else clean(str(key)), item) for key, item in node.items()]
            if media is not None:
                inner = [
                    (p, _base64(i, media) if p.endswith(("data", "base64")) and isinstance(i, str) else i)
                    for p, i in inner
                ]
            inner += [(path, str(key)) for key, item in node.items() if item in _EMPTY and says(str(key))]
            waiting += reversed(inner)
        elif isinstance(node, list | tuple):
            waiting += [(path, item) for item in reversed(node)]
        elif node is not None:
            yield path, node


def readable(value: object, change: Change = str, *, but: Collection[str] = (), flags: bool = True) -> str:
    """``value`` as text. Strings stay unchanged, objects become ``path: value`` lines. ``change`` is applied to each
    string. Top-level members named in ``but`` are left out, except links with words. Without ``flags``, false booleans
    are left out, too."""
    if isinstance(value, str):
        return leaf_text(change(value))
    if but and isinstance(value, dict):
        value = {key: item for key, item in value.items() if key not in but or (key in _LINKS and says(item))}
        if not value:
            return ""
    return "\n".join(
        _line(path, text)
        for path, leaf in leaves(value)
        if (flags or leaf is not False) and (text := leaf_text(leaf, change)).strip()
    )


def leaf_text(leaf: object, change: Change = str) -> str:
    """The stored form of a string, number or boolean."""
    if isinstance(leaf, str):
        text = clean(change(leaf))
        if text.startswith("data:") and ";base64," in text[:200]:
            return _base64(text, text[5:200].partition(";")[0])
        return clip(text)
    return str(leaf).lower() if isinstance(leaf, bool) else str(leaf)


def content_text(content: object, change: Change = str) -> str:
    """A content value's text (a string, a block or a list of both), without the structure of known blocks."""
    if isinstance(content, list | tuple):
        return "\n".join(filter(None, (content_text(item, change) for item in content)))
    if isinstance(content, dict):
        return "\n".join(filter(None, block_text(content, change)))
    return readable(content, change)


def block_text(block: dict[str, object], change: Change = str) -> tuple[str, str]:
    """A block's text and its remaining content (such as citations), each possibly empty. The text is not clipped. A
    block without text gives its type in brackets and every member."""
    kind, text = clean(block.get("type")), block.get("text")
    if label := _LABELS.get(kind):
        rest = readable(block, change, but=STRUCTURE)
        return f"[{label}]" + (f"\n{rest}" if rest else ""), ""
    if isinstance(text, str):
        return change(clean(text)), readable(block, change, but=_TEXT_BLOCK)
    rest = readable(block, change, but={"type"} if kind else ())
    return "\n".join(filter(None, (f"[{kind}]" if kind else "", rest))), ""


def call_text(tool: str, arguments: object, cwd: str = "") -> str:
    """Format a tool call as one line like ``Bash: pytest -q``, then each argument that the line cuts or omits. Paths
    are relative to the working directory ``cwd``."""
    argument, shown = telling(arguments)
    line = shortened(" ".join(clean(argument).split()), cwd)
    line = f"{tool}: {line}" if line else tool
    if len(line) > MAX_CALL_CHARS:
        line = line[: _border(line, MAX_CALL_CHARS - 1, -1)] + "…"
    more = []
    for path, leaf in leaves(arguments):
        text = shortened(leaf_text(leaf), cwd)
        if text.strip() and not (path in shown and len(line) < MAX_CALL_CHARS and text in line):
            more.append(_line(path, text))
    return "\n".join([line, *more])


def result_text(output: object, change: Change = str, tool: str = "") -> str:
    """The stored form of a ``tool``'s result, never blank. The first line's indent is significant and stays.

    The result is a string, content blocks or a structured response, whose output comes last, where readers expect a
    verdict.
    """
    limit = MAX_OUTSIDE_CHARS if is_outside(tool) or tool in ("Task", "Agent") else MAX_RESULT_CHARS

    def clipped(text: str) -> str:
        return clip(clean(change(text)).strip("\r\n").rstrip(), limit)

    def told(item: object) -> str:
        return clipped(item) if isinstance(item, str) and limit > MAX_RESULT_CHARS else content_text(item, clipped)

    if isinstance(output, dict) and not isinstance(output.get("type"), str):
        main = {name: output[name] for name in _OUTPUTS if name in output}
        rest = readable(output, change, but=main, flags=False)
        text = "\n".join(filter(None, (rest, *map(told, main.values()))))
    else:
        text = told(output)
    return text.strip("\r\n").rstrip() or NO_OUTPUT


def is_outside(tool: str) -> bool:
    """Whether strangers write the results of a tool of this name: pages, searches, servers."""
    return any(part in tool.lower() for part in _OUTSIDE)


def has_words(value: object) -> bool:
    """Whether ``value`` contains a non-blank string."""
    return any(isinstance(leaf, str) and leaf.strip() for _, leaf in leaves(value))


def says(value: object) -> bool:
    """Whether ``value`` has words, not only ids, times and numbers: several in a string or key, or not ASCII."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            if not node.isascii() or len(node.split(None, 1)) > 1:
                return True
        elif isinstance(node, dict):
            waiting += [*map(str, node), *node.values()]
        elif isinstance(node, list | tuple):
            waiting += node
    return False


def _line(path: str, text: str) -> str:
    if not path:
        return text
    return f"{path}:\n{text}" if "\n" in text else f"{path}: {text}"


def _base64_type(block: dict[str, object]) -> str | None:
    """The media type of an object whose ``data`` or ``base64`` is base64; None for any other."""
    data = block.get("base64", block.get("data"))
    media = clean(block.get("media_type", block.get("mime_type", block.get("format"))))
    known = block.get("type") == "base64" or isinstance(block.get("format"), str) or media.startswith(_PICTURES)
    return (media or "data") if known and isinstance(data, str) and " " not in data else None


def _base64(data: str, media: str) -> str:
    return f"[{media or 'data'} in base64: {len(data):,} characters, {digest_of(data)}]"
