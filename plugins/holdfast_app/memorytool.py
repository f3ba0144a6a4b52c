"""Anthropic's client-side memory tool (``memory_20250818``) over a holdfast store.

A model sees files under ``/memories``. They are documents of the surface ``memories``, so every backend holds them and
a purge finds them. Input passes the gate, output is masked, and an edit is a compare-and-swap. Commands and messages
are those that the tool documents, with a dict in and a string out, for every provider.
Source: documented commands view, create, str_replace, insert, delete and rename, with their results and errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.config.layout import Surface
from holdfast.errors import Conflict, Corrupt, HoldfastError, NotFound, Refused, must_be
from holdfast.fs import durable, private
from holdfast.storage import ABSENT, check_name

if TYPE_CHECKING:
    from holdfast import Holdfast


def _lines(text: str) -> list[str]:
    """The lines. A trailing newline does not begin another line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _range(view_range: object, count: int) -> tuple[int, int] | None:
    """First and last line, 1-based, of the range ``[first, last]`` in ``count`` lines: all lines without a range, to
    the end when ``last`` is -1. None for an invalid range."""
    if view_range is None:
        return 1, count
    if not isinstance(view_range, list | tuple) or len(view_range) != 2 or not all(type(n) is int for n in view_range):
        return None
    first, last = view_range
    if not 1 <= first <= max(1, count) or (last != -1 and last < first):
        return None
    return first, count if last == -1 else min(last, count)


def _numbered(shown: list[str], first: int, last: int) -> str:
    """Lines ``first`` to ``last``, 1-based, each after its number and a tab."""
    return "\n".join(f"{number:6}\t{shown[number - 1]}" for number in range(first, last + 1))


def _listed(root: str, files: Iterable[tuple[str, int]], depth: int) -> str:
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
    rows = [f"{_human(total)}\t{root}", *(f"{_human(sizes[path])}\t{root}/{path}" for path in sorted(sizes))]
    return "\n".join(rows)


def _human(size: int) -> str:
    """Bytes like ``744B``, ``5.5K``, ``1.2M`` (powers of 1024)."""
    power = (size >= 1 << 10) + (size >= 1 << 20)
    value, unit = size / 1024**power, "BKM"[power]
    return f"{value:.0f}{unit}" if value == int(value) else f"{value:.1f}{unit}"


ROOT: Final = "/memories"
TOOL: Final[Mapping[str, str]] = {"type": "memory_20250818", "name": "memory"}
"""The tool's entry in a request."""

MAX_CHARS: Final = 200_000
"""Maximum characters of a file. A model pages through it, and every validator reads it whole at each change."""

_COMMANDS: Final = ("view", "create", "str_replace", "insert", "delete", "rename")
_DEPTH: Final = 2
_CONTEXT: Final = 2  # lines shown around a change
_HIDDEN: Final = "node_modules"
_EXCLUDED: Final = "hidden items and node_modules"  # a name that begins with a dot is not allowed at all
_SURFACE: Final = Surface.MEMORIES


class MemoryToolError(HoldfastError):
    """A command cannot be carried out. The message is the text for the model."""


class Answer(NamedTuple):
    """The tool result's content, and whether it is an error."""

    text: str
    failed: bool = False


class MemoryTool:
    """The six commands over the store of ``memory``. Safe for threads and processes."""

    def __init__(self, memory: Holdfast) -> None:
        self._services = memory.services
        self._store = memory.services.store
        self._folder = memory.services.layout.name(Surface.MEMORIES).rstrip("/")

    def answer(self, command: Mapping[str, object]) -> Answer:
        """Carry out the model's command. Mistakes, refused text and store failures become answers, too."""
        try:
            return Answer(text=self.run(command))
        except MemoryToolError as error:
            return Answer(text=error.message, failed=True)
        except HoldfastError as error:
            return Answer(text=f"Error: {error}", failed=True)

    def run(self, command: Mapping[str, object]) -> str:
        """Run one command, like ``{"command": "view", "path": "/memories"}``.

        Raises: MemoryToolError; Refused and PluginError from the gate; Conflict, Corrupt, Unavailable from the store.
        """
        must_be(Mapping, command, "command")
        name = command.get("command")
        if name not in _COMMANDS:
            raise MemoryToolError(f"Error: Unknown command: {str(name)[:60]}. Commands: {', '.join(_COMMANDS)}.")
        carry_out: Callable[[Mapping[str, object]], str] = getattr(self, f"_{name}")
        if name == "view":
            return carry_out(command)
        # One change at a time, because a rename is several writes, and its checks must still hold.
        private.make(self._services.state)
        with durable.lock(self._services.private("memorytool.lock")):
            return carry_out(command)

    def _view(self, command: Mapping[str, object]) -> str:
        path = _text(command, "path")
        name = self._name(path)
        document = self._store.read(name) if self._is_readable(path, name) else None
        if document is None:
            return self._listing(path, name)
        lines = _lines(self._services.gate.outgoing(document.text, surface=_SURFACE, name=name))
        view_range = command.get("view_range")
        shown = _range(view_range, len(lines))
        if shown is None:
            raise MemoryToolError(
                f"Error: Invalid `view_range` parameter: {str(view_range)[:60]}. It should be [first, last] within the "
                f"range of lines of the file: [1, {len(lines)}]; -1 as the last shows the rest."
            )
        return f"Here's the content of {path} with line numbers:\n{_numbered(lines, *shown)}"

    def _listing(self, path: str, name: str) -> str:
        below = [file for file in self._below(name) if not self._store.is_withheld(file)]  # a clone brought their names
        if not below and name != self._folder:
            raise MemoryToolError(f"The path {path} does not exist. Please provide a valid path.")
        files = [(file.removeprefix(f"{name}/"), self._size(file)) for file in below if _HIDDEN not in file.split("/")]
        listed = _listed(path.rstrip("/"), files, _DEPTH)
        return f"Here're the files and directories up to 2 levels deep in {path}, excluding {_EXCLUDED}:\n{listed}"

    def _create(self, command: Mapping[str, object]) -> str:
        path, text = _text(command, "path"), _text(command, "file_text")
        name = self._name(path)
        if name == self._folder or path.endswith("/") or self._below(name):
            raise MemoryToolError(f"Error: The path {path} is a directory")
        self._check_new(path, name)
        try:
            self._store.replace(_SURFACE, name, self._admitted(text, path, name, None), ABSENT)
        except Conflict:
            raise MemoryToolError(f"Error: File {path} already exists") from None
        return f"File created successfully at: {path}"

    def _str_replace(self, command: Mapping[str, object]) -> str:
        path, old, new = _text(command, "path"), _text(command, "old_str"), _text(command, "new_str", default="")
        missing = f"Error: The path {path} does not exist. Please provide a valid path."
        line = 0

        def change(text: str) -> str:
            nonlocal line
            places = re.finditer(f"(?={re.escape(old)})", text) if old else ()  # overlapping ones, too
            numbers = [text.count("\n", 0, match.start()) + 1 for match in places]
            if not numbers:
                why = f"old_str `{old}` did not appear verbatim in {path}."
                raise MemoryToolError(f"No replacement was performed, {why}")
            if len(numbers) > 1:
                raise MemoryToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                    f"{', '.join(map(str, numbers))}. Please ensure it is unique"
                )
            line = numbers[0]
            return text.replace(old, new, 1)

        lines = _lines(self._changed(path, missing, change))
        last = min(len(lines), line + new.count("\n") + _CONTEXT)
        return f"The memory file has been edited.\n{_numbered(lines, max(1, line - _CONTEXT), last)}"

    def _insert(self, command: Mapping[str, object]) -> str:
        path, text, after = _text(command, "path"), _text(command, "insert_text"), command.get("insert_line")

        def change(stored: str) -> str:
            lines = _lines(stored)
            if isinstance(after, bool) or not isinstance(after, int) or not 0 <= after <= len(lines):
                raise MemoryToolError(
                    f"Error: Invalid `insert_line` parameter: {after}. It should be within the range of lines of the "
                    f"file: [0, {len(lines)}]"
                )
            return "\n".join([*lines[:after], *_lines(text), *lines[after:]]) + "\n"

        self._changed(path, f"Error: The path {path} does not exist", change)
        return f"The file {path} has been edited."

    def _delete(self, command: Mapping[str, object]) -> str:
        path = _text(command, "path")
        for name in self._those_at(path, self._name(path)):
            with suppress(NotFound):  # another process removed it first
                self._store.delete(name)
        return f"Successfully deleted {path}"

    def _rename(self, command: Mapping[str, object]) -> str:
        old_path, new_path = _text(command, "old_path"), _text(command, "new_path")
        old, new = self._name(old_path), self._name(new_path)
        names = self._those_at(old_path, old)
        if new == self._folder or self._is_file(new) or self._below(new):
            raise MemoryToolError(f"Error: The destination {new_path} already exists")
        if new.startswith(f"{old}/"):
            raise MemoryToolError(f"Error: The destination {new_path} is inside of {old_path}")
        self._check_new(new_path, new)
        for name in names:  # a crash leaves the file in both places, never in none
            document = self._store.read(name)
            if document is None:
                continue
            target = check_name(new + name.removeprefix(old))
            text = self._admitted(document.text, new_path, target, document.text)
            self._store.replace(_SURFACE, target, text, ABSENT)
            self._store.delete(name)
        return f"Successfully renamed {old_path} to {new_path}"

    def _name(self, path: str) -> str:
        """The document name, or prefix of document names, for a path. Raises: MemoryToolError."""
        if path != ROOT and not path.startswith(f"{ROOT}/"):
            raise MemoryToolError(f"Error: Path must start with {ROOT}, got: {path[:200]}")
        inner = path.removeprefix(ROOT).removeprefix("/").removesuffix("/")
        if not inner:
            return self._folder
        try:
            name = check_name(f"{self._folder}/{inner}")
        except Refused as error:
            raise MemoryToolError(f"Error: The path {path[:200]} is not allowed. {error.message}") from error
        if any(part.startswith(".") for part in inner.split("/")):
            raise MemoryToolError(f"Error: The path {path[:200]} is not allowed, because part of it begins with a dot")
        if self._services.layout.surface_of(name) is not _SURFACE:  # a layout may keep others in the same folder
            raise MemoryToolError(f"Error: The path {path[:200]} does not belong to this tool")
        return name

    def _check_new(self, path: str, name: str) -> None:
        """Raises: MemoryToolError when a parent folder is a file, or the name holds a secret."""
        for above in map(str, PurePosixPath(name.removeprefix(f"{self._folder}/")).parents[:-1]):
            if self._is_file(f"{self._folder}/{above}"):
                raise MemoryToolError(f"Error: {ROOT}/{above} is a file, so {path} cannot be made")
        if self._services.gate.outgoing(name, surface=_SURFACE) != name:
            raise MemoryToolError("Error: The path holds a secret, which must not become a file name")

    def _is_file(self, name: str) -> bool:
        """Decided from the names, because reading a directory is an error where names are file paths."""
        return name in self._store.backend.names(name)

    def _below(self, name: str) -> list[str]:
        files = self._store.backend.names(f"{name}/")
        return [file for file in files if self._services.layout.surface_of(file) is _SURFACE]

    def _those_at(self, path: str, name: str) -> list[str]:
        """The file at the path, otherwise everything in the directory. Raises: MemoryToolError."""
        if name == self._folder:
            raise MemoryToolError(f"Error: The {ROOT} directory itself cannot be deleted or renamed")
        files = [name] if self._is_file(name) else self._below(name)
        if not files:
            raise MemoryToolError(f"Error: The path {path} does not exist")
        return [file for file in files if self._is_readable(path, file)]

    def _is_readable(self, path: str, name: str) -> bool:
        """Whether it is a file. Raises: MemoryToolError for a clone's, which the model must not read."""
        if not self._is_file(name):
            return False
        if self._store.withheld_in(name):
            raise MemoryToolError(
                f"Error: The file {path} is withheld because this machine did not write all of it. "
                "`holdfast trust` shows it to the user and gives it to agents."
            )
        return True

    def _size(self, name: str) -> int:
        try:
            document = self._store.read(name)
        except Corrupt:
            return 0  # viewing it reports the error, and the others must be listed
        return len(document.text.encode("utf-8")) if document else 0

    def _changed(self, path: str, missing: str, change: Callable[[str], str]) -> str:
        """Edit the file at the path; returns its new text. Raises: MemoryToolError ``missing`` when there is none."""
        name, result = self._name(path), ""

        def admitted(stored: str | None) -> str:
            nonlocal result
            if stored is None:
                raise MemoryToolError(missing)
            result = self._admitted(change(stored), path, name, stored)
            return result

        if not self._is_readable(path, name):
            raise MemoryToolError(missing)
        self._store.change(_SURFACE, name, admitted)
        return result

    def _admitted(self, text: str, path: str, name: str, previous: str | None) -> str:
        if len(text) > MAX_CHARS:
            raise MemoryToolError(
                f"Error: File {path} would have {len(text):,} characters, over the limit of {MAX_CHARS:,}. Split it."
            )
        return self._services.gate.admit(text, surface=_SURFACE, name=name, previous=previous)


def _text(command: Mapping[str, object], name: str, *, default: str | None = None) -> str:
    value = default if command.get(name) is None else command[name]
    if not isinstance(value, str):
        raise MemoryToolError(f"Error: Missing required parameter `{name}`: a string.")
    return value
