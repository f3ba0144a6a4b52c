"""Marks that begin a line of Markdown. No other module recognises them.

Each function takes a line from its first character that is not blank.

Source: CommonMark 0.31.2, sections 4 and 5.2; task list items of GitHub Flavored Markdown 0.29.
"""

from typing import Final

BULLETS: Final = "-*+"
_BLANKS: Final = " \t"
_DIGITS: Final = "0123456789"
_BOXES: Final = ("[ ] ", "[x] ", "[X] ")
_RULES: Final = frozenset("-*_")


def heading(text: str) -> tuple[int, str] | None:
    """Level and words of a heading with hashes, without the closing hashes."""
    words = text.lstrip("#")
    level = len(text) - len(words)
    if not 1 <= level <= 6 or words[:1] not in ("", *_BLANKS):
        return None
    words = words.strip(_BLANKS)
    bare = words.rstrip("#")
    closed = bare != words and bare[-1:] in ("", *_BLANKS)
    return level, bare.rstrip(_BLANKS) if closed else words


def underline(text: str) -> int:
    """The heading level that this line gives the paragraph above. 0 otherwise."""
    if text[:1] not in ("=", "-") or text.rstrip(_BLANKS).strip(text[0]):
        return 0
    return 1 if text[0] == "=" else 2


def item(text: str, *, bullets: str = BULLETS, most_digits: int = 9) -> str:
    """A list item's mark, such as ``-`` or ``1.``. Empty otherwise, also for a rule such as ``- - -``. A
    no-break space after it is a blank, because word processors write it there."""
    end = 1
    if text[:1] not in bullets:
        end = len(text) - len(text.lstrip(_DIGITS)) + 1
        if not 1 < end <= most_digits + 1 or text[end - 1 : end] not in (".", ")"):
            return ""
    return "" if text[end : end + 1].strip() or is_rule(text) else text[:end]


def fence(text: str) -> str:
    """The backticks or tildes that open fenced code. Empty otherwise."""
    if text[:1] not in ("`", "~"):
        return ""
    info = text.lstrip(text[0])
    size = len(text) - len(info)
    return text[:size] if size >= 3 and (text[0] == "~" or "`" not in info) else ""


def closes(text: str, opening: str) -> bool:
    """Whether a line closes the code that the fence ``opening`` opened."""
    text = text.rstrip(_BLANKS)
    return len(text) >= len(opening) and not text.strip(opening[0])


def is_rule(text: str) -> bool:
    """Whether a line is a thematic break, such as ``---`` or ``* * *``."""
    text = text.rstrip(_BLANKS)
    first = text[:1]
    return first in _RULES and text[-1] == first and text.count(first) >= 3 and not text.strip(first + _BLANKS)


def without_boxes(text: str) -> str:
    """An item's text without task list boxes."""
    at = 0
    while text.startswith(_BOXES, at):
        at += 4
    return text[at:].lstrip()


def shown(line: str) -> str:
    """A line without the comments that end in it."""
    if "<!--" not in line:
        return line
    text, is_open = without_comments(line)
    return line if is_open else text


def without_comments(text: str, *, inside: bool = False) -> tuple[str, bool]:
    """``text`` without HTML comments, and whether a comment is open at its end. ``inside`` if one is at its start."""
    parts: list[str] = []
    at = 0
    while True:
        if inside:
            at = text.find("-->", at) + 3
            if at < 3:
                return "".join(parts), True
        start = text.find("<!--", at)
        if start < 0:
            return "".join([*parts, text[at:]]), False
        parts.append(text[at:start])
        at, inside = start + 4, True
