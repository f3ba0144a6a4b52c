"""Arguments that several commands share, and checks of their values."""

from __future__ import annotations

import os

from holdfast_cli.problem import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable

DEFAULT_SESSION = "default"
_MAX_ID = 200


def in_utf8(words: list[str]) -> list[str]:
    """``words`` as UTF-8, however the locale decoded their bytes. Only the folder after ``--root`` stays
    unchanged, because a file name need not be valid text. Raises: UsageError for a word that is not UTF-8."""
    previous = ["", *words]
    return [
        word if before == "--root" or word.startswith("--root=") else _word_in_utf8(word)
        for before, word in zip(previous, words, strict=False)
    ]


def _word_in_utf8(word: str) -> str:
    try:
        return os.fsencode(word).decode("utf-8")
    except UnicodeError:
        shown = word if len(word) <= 40 else word[:40] + "..."
        raise UsageError(
            f"The argument {shown!a} is not UTF-8; nothing was done.",
            next_step="Convert it to UTF-8; `locale` shows your terminal's encoding.",
        ) from None


def file_name(word: str) -> str:
    """A file's name from the command line as :func:`open` takes it, even when the locale is not UTF-8."""
    try:
        os.fsencode(word)
    except UnicodeEncodeError:
        return os.fsdecode(word.encode("utf-8"))
    return word


def session_id(text: str) -> str:
    """A session id from the command line. Raises: UsageError for an id that is blank, over 200 characters long or has
    characters that cannot be shown (control characters, bytes that are not UTF-8)."""
    if not text.strip() or len(text) > _MAX_ID or not text.isprintable():
        shown = text if len(text) <= 40 else text[:40] + "..."
        raise UsageError(
            f"{shown!a} is not a session id.",
            next_step=f"Use 1 to {_MAX_ID} printable characters, like `fix-login`.",
        )
    return text


def positive(name: str) -> Callable[[str], int]:
    """A parser for whole numbers of at least 1."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = 0
        if number < 1:
            raise UsageError(
                f"--{name} takes a whole number from 1 up, not {text!a}.", next_step=f"Write it like `--{name} 7`."
            )
        return number

    return parse


def add_session(parser: ArgumentParser, *, required: bool = False) -> None:
    """``--session ID``."""
    parser.add_argument(
        "--session",
        metavar="ID",
        required=required,
        default=None,
        type=session_id,
        help="session id" + ("" if required else f" (default: {DEFAULT_SESSION})"),
    )


def add_json(parser: ArgumentParser) -> None:
    """``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON, errors too")


def examples(*lines: str) -> str:
    """A command's help epilog with these example lines."""
    return "examples:\n" + "\n".join(f"  {line}" for line in lines)
