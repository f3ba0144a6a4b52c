"""A document's lines, one at a time, each with the mark it begins with.

This reads memory as people and models write it, so it is more lenient than CommonMark:

- a line is an item at any indentation, also after ``•`` or a dash. CommonMark finds code in a deeply indented one.
- a number of more than three digits begins no item, because a wrapped line can begin with a year.
- ``---`` below text is a rule, not an underline, and text in an HTML block is text.
- a fence may be indented, as in a list. A comment may begin anywhere outside code, and ends only at its ``-->``.

Time is linear in the document's length; only one line is held.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from holdfast.text import plain
from holdfast_app.markdown import marks

_BULLETS: Final = marks.BULLETS + "\u2022\u2013\u2014"
_MOST_DIGITS: Final = 3
#: First characters of lines that can be more than text.
_FIRST: Final = frozenset(_BULLETS + "0123456789#`~_")

#: Kinds of lines. A line that is all comment is blank, and a fence also closes code.
BLANK: Final = "blank"
HEADING: Final = "heading"
ITEM: Final = "item"
TEXT: Final = "text"
RULE: Final = "rule"
FENCE: Final = "fence"
CODE: Final = "code"


class Line(NamedTuple):
    """A line without comments. ``text`` has no mark and no surrounding blanks; code keeps its indentation.

    ``mark`` is a heading's ``##``, an item's ``-`` or ``1.``, or the fence that opens code, otherwise empty. ``indent``
    counts the columns before it.
    """

    kind: str
    number: int
    text: str
    mark: str = ""
    indent: int = 0

    @property
    def level(self) -> int:
        """A heading's level; 0 for other lines."""
        return len(self.mark) if self.kind == HEADING else 0


class Lines:
    """The lines of ``text``, in order. Numbers are 1-based and count as ``str.splitlines`` does, as in findings.

    ``code_is_text`` reads fenced code like other lines, because a model may wrap a whole memory in a fence. After the
    last line, ``unclosed`` is the fence or ``<!--`` that never ended, and its line.
    """

    def __init__(self, text: str, *, code_is_text: bool = False) -> None:
        self.unclosed: tuple[str, int] | None = None
        self._text = text
        self._code_is_text = code_is_text

    def __iter__(self) -> Iterator[Line]:
        fence: Line | None = None
        comment, opened = False, 0
        after_mark = len(plain.BOM) if self._text.startswith(plain.BOM) else 0
        for number, (_, line) in enumerate(plain.lines(self._text, start=after_mark), 1):
            if fence:
                text = line.lstrip()
                closed = marks.closes(text, fence.mark) and len(line) - len(text) <= fence.indent + 3
                yield Line(FENCE if closed else CODE, number, line.rstrip())
                fence = None if closed else fence
                continue
            if comment or "<!--" in line:
                opened = opened if comment and "-->" not in line else number
                line, comment = marks.without_comments(line, inside=comment)
            parsed = _line(line, number)
            yield parsed
            if parsed.kind == FENCE and not self._code_is_text:
                fence = parsed
        if fence or comment:
            self.unclosed = (fence.mark, fence.number) if fence else ("<!--", opened)


def read_line(text: str) -> Line:
    """One line by itself. A comment that does not end in it is text."""
    return _line(marks.shown(text), 1)


def _line(line: str, number: int) -> Line:
    text = line.strip()
    first = text[:1]
    if first not in _FIRST:
        return Line(TEXT if text else BLANK, number, text)
    indent = 0 if line[0] == first else len(line[: line.index(first)].expandtabs(4))
    if mark := marks.item(text, bullets=_BULLETS, most_digits=_MOST_DIGITS):
        return Line(ITEM, number, text[len(mark) :].lstrip(), mark, indent)
    if first == "#" and indent <= 3 and (heading := marks.heading(text)):
        return Line(HEADING, number, heading[1], first * heading[0], indent)
    if fence := marks.fence(text):
        return Line(FENCE, number, text[len(fence) :].lstrip(), fence, indent)
    return Line(RULE if marks.is_rule(text) else TEXT, number, text)
