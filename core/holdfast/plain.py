"""A caller's text where a line of ours has to hold it."""

from __future__ import annotations


def one_line(text: str) -> str:
    """``text`` on one line and without the beginning of a comment: nothing said may look like a marker."""
    return " ".join(text.split()).replace("<!--", "&lt;!--")
