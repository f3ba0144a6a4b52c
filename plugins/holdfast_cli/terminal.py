"""The terminal's abilities, and the shapes that commands print: lines, wrapped text, tables, JSON.

All command output passes through :class:`Term`, which shows control characters as escapes, so stored or cloned text
cannot control the terminal. A random key in each process distinguishes holdfast's own colours from others.

Colour only where a person looks: on a terminal, unless ``NO_COLOR`` is set; ``FORCE_COLOR`` forces it. Marks fall back
to ASCII where the encoding has no others. Source: no-color.org, force-color.org.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from holdfast.errors import HoldfastError
from holdfast.fs import paths
from holdfast_app.printable import JOINERS, in_one_line, json_safe, printable

#: A string, or a string with its style's name.
Cell = str | tuple[str, str]

#: Longest line in cells, even in a wider window, because longer lines are hard to read.
MAX_WIDTH, MIN_WIDTH, DEFAULT_WIDTH = 120, 40, 80

#: Begins our own escape sequences up to the moment when they are written.
_KEY = f"\x1b{os.urandom(8).hex()}"

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_MARKS = {"ok": ("✓", "+"), "warn": ("!", "!"), "fail": ("✗", "x"), "dirty": ("●", "*"), "dot": ("·", "-")}
_MARK_STYLES = {"ok": "green", "warn": "yellow", "fail": "red", "dirty": "yellow", "dot": "dim"}


class Term:
    """One output stream. Made where it is used, since streams may be exchanged."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stdout if stream is None else stream
        self.is_tty = bool(getattr(self.stream, "isatty", bool)())
        self.colour = _wants_colour(self.is_tty)
        marks, encoding = "✓✗●·…█", getattr(self.stream, "encoding", None) or "ascii"
        self.unicode = marks.encode(encoding, "replace").decode(encoding) == marks
        self.width = min(max(_columns(self.stream) or DEFAULT_WIDTH, MIN_WIDTH), MAX_WIDTH)

    # output; printing raises OutputLost, or BrokenPipeError when the reader has left

    def say(self, text: str = "") -> None:
        """Print a line. Characters outside the encoding are shown as ``?``."""
        self._write(_shown(text) + "\n")

    def note(self, kind: str, text: str, *, indent: str = "") -> None:
        """Print ``text``, filled to the width, after the mark for ``kind``."""
        self.fill(text, f"{indent}{self.mark(kind)} ", f"{indent}  ")

    def next_step(self, step: str, *, indent: str = "  ") -> None:
        """Print a next step, filled to the width."""
        self.fill(step, f"{indent}{self.dim('next:')} ", f"{indent}      ")

    def fill(self, text: str, first: str = "  ", rest: str | None = None) -> None:
        """Print ``text`` as :meth:`wrapped` shapes it."""
        self.say(self.wrapped(text, first=first, rest=rest))

    def diff(self, text: str, *, indent: str = "") -> None:
        """Print a unified diff in colours."""
        for line in text.splitlines():
            self.say(indent + self.style(self.plain(line), {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")))

    def exact(self, text: str) -> None:
        """Print ``text`` as UTF-8 with its own line ends. A person sees control characters and the like as escapes."""
        self._write_utf8(printable(text))

    def raw(self, text: str) -> None:
        """Print ``text`` exactly, byte for byte, unless a person is looking."""
        self._write_utf8(printable(text) if self.is_tty else text)

    def progress(self, text: str) -> None:
        """Write ``text`` over the cursor's line. An empty string clears it. Only for a terminal."""
        line = in_one_line(text)
        if cells(line) >= self.width:  # the next one could not overwrite a wrapped line
            line = line[: self.width - 1]
        self._write(f"\r\x1b[K{line}")
        self.stream.flush()

    def _write_utf8(self, text: str) -> None:
        raw = getattr(self.stream, "buffer", None)
        if self.is_tty or raw is None:
            self._write(text)
            return
        with writing():
            self.stream.flush()
            raw.write(text.encode("utf-8", "replace"))
            raw.flush()

    def json(self, value: object) -> None:
        """Print ``value``, which is plain dicts, lists, strings and numbers, as JSON."""
        import json

        utf8 = (self.stream.encoding or "").lower().replace("-", "") == "utf8"
        self._write(json_safe(json.dumps(value, ensure_ascii=not utf8, indent=2)) + "\n")

    def _write(self, text: str) -> None:
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        with writing():
            self.stream.write(text.encode(encoding, "replace").decode(encoding))

    def style(self, text: str, *names: str) -> str:
        """``text`` on one line in the named styles, or unstyled without colour."""
        codes = ";".join(_CODES[name] for name in names if name)
        text = in_one_line(text) if _KEY not in text else text
        return f"{_KEY}[{codes}m{text}{_KEY}[0m" if self.colour and codes and text else text

    def bold(self, text: str) -> str:
        return self.style(text, "bold")

    def dim(self, text: str) -> str:
        return self.style(text, "dim")

    def red(self, text: str, *, bold: bool = False) -> str:
        return self.style(text, "red", "bold" if bold else "")

    def mark(self, kind: str) -> str:
        """The mark for ok, warn, fail, dirty or dot, one cell wide."""
        return self.style(*self.mark_cell(kind))

    def mark_cell(self, kind: str) -> Cell:
        """A mark for a table."""
        return _MARKS[kind][0 if self.unicode else 1], _MARK_STYLES[kind]

    @property
    def ellipsis(self) -> str:
        return "…" if self.unicode else "..."

    def plain(self, text: str) -> str:
        """``text`` on one line, with control characters as escapes, so that it can control and forge nothing."""
        return in_one_line(text)

    def clip(self, text: str, width: int) -> str:
        """``text`` on one line of at most ``width`` cells."""
        text = " ".join(self.plain(text).split())
        if cells(text) <= width:
            return text
        clipped = ""
        for char in text:
            if cells(clipped + char) > width - len(self.ellipsis):
                break
            clipped += char
        return clipped.rstrip() + self.ellipsis

    def bar(self, value: int, most: int, width: int) -> str:
        """A horizontal bar whose length is the share of ``most``; at least one cell for a positive value."""
        full = "█" if self.unicode else "#"
        return full * max(1, round(width * value / most)) if value > 0 and most > 0 else ""

    def wrapped(self, text: str, *, first: str = "", rest: str | None = None, width: int | None = None) -> str:
        """``text`` filled to the width, after ``first`` on the first line and ``rest`` on the others.

        Words are never broken: paths and digests stay whole, so that they can be copied.
        """
        rest = " " * cells(first) if rest is None else rest
        limit = self.width if width is None else width
        lines: list[str] = []
        line, empty = first, True
        for word in self.plain(text).split():
            if not empty and visible(line) + 1 + cells(word) > limit:
                lines.append(line)
                line, empty = rest, True
            line += word if empty else f" {word}"
            empty = False
        return "\n".join([*lines, line])

    def table(
        self,
        rows: Iterable[Sequence[Cell]],
        *,
        head: Sequence[str] = (),
        indent: str = "  ",
        right: Sequence[int] = (),
        clipped: int | None = None,
    ) -> str:
        """Aligned columns; empty without rows. The last one wraps under itself, columns in ``right`` are flush right,
        and column ``clipped`` is shortened when a line would be too long.
        """
        body = [[cell if isinstance(cell, tuple) else (cell, "") for cell in row] for row in rows]
        body = [[(self.plain(text), style) for text, style in row] for row in body]
        if not body:
            return ""
        every = [[(title, "dim") for title in head], *body] if head else body
        widths = [max(cells(row[i][0]) for row in every) for i in range(len(every[0]))]
        if clipped is not None:
            over = visible(indent) + sum(widths) + 2 * (len(widths) - 1) - self.width
            widths[clipped] = min(widths[clipped], max(widths[clipped] - over, 12))
            for row in every:
                row[clipped] = (self.clip(row[clipped][0], widths[clipped]), row[clipped][1])
        widths.pop()
        before = visible(indent) + sum(widths) + 2 * len(widths)
        lines = []
        for row in every:
            line = indent
            for at, (text, style) in enumerate(row[:-1]):
                space = " " * (widths[at] - cells(text))
                line += (space + self.style(text, style) if at in right else self.style(text, style) + space) + "  "
            text, style = row[-1]
            fits = self.width - before >= 24
            filled = self.wrapped(text, width=self.width - before if fits else self.width).split("\n")
            pad = " " * (before if fits else visible(indent) + 2)
            lines += [(line if at == 0 else pad) + self.style(part, style) for at, part in enumerate(filled)]
        return "\n".join(line.rstrip() for line in lines)


def cells(text: str) -> int:
    """How many columns ``text`` takes: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(c) or c in JOINERS else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def visible(text: str) -> int:
    """Like :func:`cells`, not counting colour codes."""
    if "\x1b" in text:
        import re

        text = re.sub(_KEY + r"\[[\d;]*m", "", text)
    return cells(text)


def _shown(text: str) -> str:
    """A line as it is written: only our own sequences stay."""
    if _KEY not in text:
        return printable(text)
    first, *styled = text.split(_KEY)
    parts = [printable(first)]
    for part in styled:
        codes, _, rest = part.partition("m")
        parts.append(f"\x1b{codes}m{printable(rest)}")
    return "".join(parts)


def home_short(path: str) -> str:
    """``path`` with the home folder as ``~``, on one line, for showing."""
    return in_one_line(paths.rewrite(path, os.sep))


def _wants_colour(is_tty: bool) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    # An old console of Windows prints escape codes as text; Windows Terminal names itself.
    understands = sys.platform != "win32" or "WT_SESSION" in os.environ
    return is_tty and understands and os.environ.get("TERM") != "dumb"


class OutputLost(HoldfastError):
    """A command's output cannot be written, for example to a full disk. A closed pipe is not this error."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(
            f"The output could not be written: {cause.strerror or cause}.",
            next_step="Completed changes remain. Make room, or send the output elsewhere.",
        )


@contextmanager
def writing() -> Iterator[None]:
    """Raises: OutputLost when output cannot be written; BrokenPipeError, which ends a command quietly."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLost(error) from error


def _columns(stream: TextIO) -> int:
    if (columns := os.environ.get("COLUMNS", "")).isdecimal():
        return int(columns)
    with suppress(OSError, ValueError):  # no terminal
        return os.get_terminal_size(stream.fileno()).columns
    return 0
