"""Arguments that several commands share, and checks of their values."""

from __future__ import annotations

from holdfast_cli.command import DEFAULT_SESSION, argument
from holdfast_cli.problem import UsageError

_MAX_ID = 200


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "..."


def check_utf8(words: list[str]) -> None:
    """Raises: UsageError for a word that is not UTF-8. The folder after ``--root`` need not be text."""
    for before, word in zip(["", *words], words, strict=False):
        if before != "--root" and not word.startswith("--root=") and not _is_text(word):
            raise UsageError(
                f"The argument {_shortened(word)!a} is not UTF-8; nothing was done.",
                next_step="Convert it to UTF-8; `locale` shows your terminal's encoding.",
            )


def _is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def session_id(text: str) -> str:
    """A session id from the command line. Raises: UsageError for an id that is blank, over 200 characters long or has
    characters that cannot be shown (control characters, bytes that are not UTF-8)."""
    if not text.strip() or len(text) > _MAX_ID or not text.isprintable():
        raise UsageError(
            f"{_shortened(text)!a} is not a session id.",
            next_step=f"Use 1 to {_MAX_ID} printable characters, like `fix-login`.",
        )
    return text


def positive(text: str) -> int:
    """A whole number of at least 1. Raises: ArgumentTypeError."""
    from argparse import ArgumentTypeError

    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"takes a whole number from 1 up, like 7, not {text!a}")
    return int(text)


SESSION = argument("--session", metavar="ID", type=session_id, help=f"session id (default: {DEFAULT_SESSION})")
