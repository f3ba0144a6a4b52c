"""The hidden last line that identifies a record in a comment, and the fence around the record's text.

holdfast's comments look like this::

    A line for people.

    ```markdown
    the text, exactly
    ```
    <!-- hf:rec id=0192... kind=ver base=0191... sha256=... n=8 -->

Inside a fence, references and mentions have no effect. A block of a note stands above it as people read it, see
:func:`readable`, and its fence is folded. The fence is longer than any run of backticks in the text. ``n``
is the text's length in bytes of UTF-8 and ``sha256`` its digest.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_LINE: Final = re.compile(r"<!-- hf:rec ((?:[a-z][a-z0-9]*=[A-Za-z0-9_-]*(?: |(?= -->)))*) ?-->")
_PAIR: Final = re.compile(r"[a-z][a-z0-9]*=[A-Za-z0-9_-]*")
_SIZE: Final = re.compile(r"[0-9]{1,9}")
_TICKS: Final = re.compile(r"`+")
_FOLD: Final = "<details><summary>As stored</summary>\n\n"
_UNFOLD: Final = "\n\n</details>\n"
#: What a server acts on in Markdown: references, mentions, images, HTML and addresses of issues.
_ACTIVE: Final = re.compile(r"[#!@<](?=[\w\[/!])|/(?=(?:issues|pulls)/)")
#: Lines for programs: the handoff's table and comments.
_FOR_PROGRAMS: Final = re.compile(r"\A\+\+\+\n(?s:.*?)\n\+\+\+\n|(?m:^)<!--.*-->\n?")


class Framed(NamedTuple):
    """A text with its marker, as read from a comment.

    ``intact``: unchanged since it was written. Otherwise it was edited, and ``text`` is the current content between the
    fences, None when the fences are gone.
    """

    fields: Mapping[str, str]
    text: str | None
    intact: bool


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def line(**fields: str | int) -> str:
    """The marker. Values hold letters, digits, ``_`` and ``-`` only; empty ones are left out."""
    pairs = [f"{key}={value}" for key, value in fields.items() if value != ""]
    return f"<!-- hf:rec {' '.join(pairs)} -->"


def fields(body: str) -> dict[str, str] | None:
    """The marker fields in a comment's last line, None when that line is not a marker."""
    match = _LINE.fullmatch(body.rstrip().rsplit("\n", 1)[-1].strip())
    if match is None:
        return None
    return {key: value for key, _, value in (pair.partition("=") for pair in _PAIR.findall(match[1]))}


def readable(text: str) -> str:
    """Markdown for people to read, without lines for programs. An invisible character takes the effect from references,
    mentions, images and HTML."""
    return _ACTIVE.sub("\\g<0>\u2060", _FOR_PROGRAMS.sub("", text)).strip()


def frame(note: str, text: str, *, language: str = "markdown", **more: str | int) -> str:
    """A comment body: a text for people, the stored text in its fence (``fold=1``: out of sight), the marker."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    marker = line(**more, sha256=digest(text), n=len(text.encode("utf-8")))
    stored = f"{fence}{language}\n{text}\n{fence}"
    return f"{note}\n\n{_FOLD}{stored}{_UNFOLD}\n{marker}" if more.get("fold") else f"{note}\n\n{stored}\n{marker}"


def framed(body: str) -> Framed | None:
    """The record in a comment, or None when it holds none.

    Line ends may have been changed, as a browser's form does: what fits the digest without them is intact.
    """
    values = fields(body)
    if values is None:
        return None
    for candidate in (body, body.replace("\r\n", "\n")):
        stored = candidate.partition(_FOLD)[2] if values.get("fold") else candidate
        text = _inside(stored, values.get("n", ""))
        if text is not None and digest(text) == values.get("sha256"):
            return Framed(fields=values, text=text, intact=True)
    return Framed(fields=values, text=_between(stored), intact=False)


def _inside(body: str, size: str) -> str | None:
    """The text after the first fence, as long as it should be."""
    data = body.encode("utf-8", "surrogatepass")
    opened = re.search(rb"(?:^|\n)(`{3,})[a-z]*\n", data)
    if opened is None or not _SIZE.fullmatch(size):
        return None
    end = opened.end() + int(size)
    if not data[end:].startswith(b"\n" + opened[1] + b"\n"):
        return None
    try:
        return data[opened.end() : end].decode("utf-8")
    except UnicodeDecodeError:
        return None


def _between(body: str) -> str | None:
    """The text between the first fence and the last one like it, however long it is."""
    opened = re.search(r"(?:^|\n)(`{3,})[a-z]*\n", body)
    closed = body.rfind(f"\n{opened[1]}\n") if opened else -1
    return body[opened.end() : closed] if opened and closed >= opened.end() - 1 else None
