"""Keep machine-specific paths out of stored text (R082, R176)."""

import os
from collections.abc import Callable, Iterator

from holdfast.errors import Refused


def upwards(folder: str) -> Iterator[str]:
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        yield (folder := above)


def rewrite(text: str, root: str) -> str:
    """``text`` with the project folder made relative and the home folder as ``~``."""
    return rewriter(root)(text) if os.sep in text else text  # without a separator it names no folder


def rewriter(root: str) -> Callable[[str], str]:
    """:func:`rewrite` for many strings, with one file system query."""
    folders = ((root, ""), (os.path.realpath(root), ""), (os.path.expanduser("~"), "~/"))

    def rewritten(text: str) -> str:
        for folder, short in folders:
            if len(folder) > 1 and folder in text:
                text = text.replace(folder + os.sep, short)
                import re

                text = re.sub(re.escape(folder) + r"(?![\w.-])", short.rstrip("/") or ".", text)
        return text

    return rewritten


def ending(path: str, parts: int) -> str:
    """The last ``parts`` components of ``path``, joined by ``/``. Names a private file for messages, for example
    ``.holdfast/state/sessions/s1.jsonl`` with 4 parts, where the project folder is not known."""
    return "/".join(path.replace(os.sep, "/").split("/")[-parts:])


def is_absolute(pointer: str) -> bool:
    """Whether ``pointer`` is a path on one machine. URLs are not."""
    drive = pointer[1:3] in (":/", ":\\") and pointer[0].isalpha()
    return drive or (len(pointer) > 1 and pointer.startswith(("/", "\\", "~/", "~\\", "file:")))


def check_pointer(pointer: str, field: str) -> None:
    """Raises: Refused unless ``pointer`` is relative or a URL."""
    if is_absolute(pointer):
        raise Refused(
            f"`{field}` is a path that exists only on this machine: {pointer!r}.",
            next_step="Pass it relative to the project, or as a URL.",
        )
