"""References that a Gitea server recognizes, and how to quote them without triggering them.

In a comment, ``#12``, ``!12``, ``owner/repo#12``, ``@name`` and issue addresses cause events on that work, mentions
and mails, unless they are in a code span. So quoted references are put into a code span.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from attrs import frozen

_NAME: Final = r"(?!\.+[/#!])[A-Za-z0-9._-]+"  # no name is made of dots alone
_TARGET: Final = re.compile(rf"(?:({_NAME}/{_NAME}))?[#!]([1-9][0-9]{{0,8}})")
_TICKS: Final = re.compile(r"(`+)")


@frozen(kw_only=True)
class Target:
    """An issue or pull request of a repository, ``owner/name``."""

    repository: str
    number: int

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"


def target_of(text: str, *, server: str, repository: str) -> Target | None:
    """The work that ``owner/repo#12``, ``#12`` (in ``repository``) or an address on ``server`` names, else None."""
    text = text.strip()
    found = _TARGET.fullmatch(text)
    if found is None:
        found = re.fullmatch(_address(server) + r"(?:[?#]\S*)?", text, re.IGNORECASE)
    if found is None:
        return None
    name = found[1] or repository
    return Target(repository=name, number=int(found[2])) if name else None


def quiet(text: str, *, server: str, repository: str, keep: Collection[str] = ()) -> str:
    """``text`` (one line) without references, except for the targets in ``keep``, written like ``owner/repo#12``."""
    pieces = _TICKS.split(text)
    if "\\`" in text or not _paired(pieces):
        pieces = [text.replace("`", "'")]  # the start of code is ambiguous

    def covered(found: re.Match[str]) -> str:
        told = found[0].lstrip("\\")  # a backslash would break the code span, where it is not needed
        named = target_of(told, server=server, repository=repository)
        if named is not None and str(named) in keep:
            return told
        # Two adjacent code spans would be parsed as a single span with different borders.
        before = " " if found.start() == 0 else ""
        after = " " if found.end() == len(found.string) else ""
        return f"{before}`{told}`{after}"

    pattern = _pattern(server)
    opened = ""
    for at, piece in enumerate(pieces):
        if at % 2:
            opened = piece if not opened else "" if piece == opened else opened
        elif not opened:
            pieces[at] = pattern.sub(covered, piece)
    return "".join(pieces).strip()


def code(text: str) -> str:
    """``text`` as a code span."""
    return "`" + text.replace("`", "'") + "`"


def _paired(pieces: list[str]) -> bool:
    """Whether every run of backticks opens a code span or closes one."""
    opened = ""
    for run in pieces[1::2]:
        opened = run if not opened else "" if run == opened else opened
    return not opened


def _address(server: str) -> str:
    return re.escape(server) + rf"/({_NAME}/{_NAME})/(?:issues|pulls)/([1-9][0-9]{{0,8}})"


def _pattern(server: str) -> re.Pattern[str]:
    """A wider pattern than the server's, extending to the word's end, because covering too much does no harm.

    Addresses may have a name before the host or an extra slash, and in ``_#1_`` the first character is not a letter.
    """
    host = re.escape(urlsplit(server).netloc)
    address = rf"https?://(?:[^\s`/]*@)?{host}/[^\s`]*?(?:issues|pulls)/[0-9]"
    reference = rf"{address}|(?<![^\W_])(?<!`)(?:(?:{_NAME}/{_NAME})?[#!][0-9]|@[\w-])"
    return re.compile(rf"\\*(?:{reference})(?:[^\s`]*[\w/])?", re.IGNORECASE)
