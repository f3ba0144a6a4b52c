"""Files as an editing tool shows them to a model: numbered lines, line ranges, and listings with sizes."""

from __future__ import annotations

from collections.abc import Iterable


def lines(text: str) -> list[str]:
    """The lines. A trailing newline does not begin another line."""
    found = text.split("\n")
    return found[:-1] if found[-1] == "" else found


def occurrences(text: str, part: str) -> list[int]:
    """The 1-based line of each occurrence of ``part``, including overlapping ones; none when ``part`` is empty."""
    found, at = [], text.find(part) if part else -1
    while at >= 0:
        found.append(text.count("\n", 0, at) + 1)
        at = text.find(part, at + 1)
    return found


def stretch(given: object, count: int) -> tuple[int, int] | None:
    """First and last line, 1-based, of the range ``[first, last]`` in ``count`` lines: all lines without a range, to
    the end when ``last`` is -1. None for an invalid range."""
    if given is None:
        return 1, count
    if not isinstance(given, list | tuple) or len(given) != 2 or not all(type(n) is int for n in given):
        return None
    first, last = given
    if not 1 <= first <= max(1, count) or (last != -1 and last < first):
        return None
    return first, count if last == -1 else min(last, count)


def numbered(shown: list[str], first: int, last: int) -> str:
    """Lines ``first`` to ``last``, 1-based, each after its number and a tab."""
    return "\n".join(f"{number:6}\t{shown[number - 1]}" for number in range(first, last + 1))


def listing(root: str, files: Iterable[tuple[str, int]], depth: int) -> str:
    """One line for ``root`` and for each directory and file down to ``depth`` levels below, sorted, with sizes.

    ``files`` are paths relative to ``root`` with their bytes; directories are derived from them and end with a slash.
    """
    total, sizes = 0, dict[str, int]()
    for path, size in files:
        total += size
        parts = path.split("/")
        for level in range(1, min(len(parts), depth) + 1):
            shown = "/".join(parts[:level]) + ("/" if level < len(parts) else "")
            sizes[shown] = sizes.get(shown, 0) + size
    rows = [f"{human(total)}\t{root}", *(f"{human(sizes[path])}\t{root}/{path}" for path in sorted(sizes))]
    return "\n".join(rows)


def human(size: int) -> str:
    """Bytes like ``744B``, ``5.5K``, ``1.2M`` (powers of 1024)."""
    value, unit = float(size), "B"
    for larger in ("K", "M"):
        if value >= 1024:
            value, unit = value / 1024, larger
    return f"{value:.0f}{unit}" if value == int(value) else f"{value:.1f}{unit}"
