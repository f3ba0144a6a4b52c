"""The parts that holdfast adds to a client's files and removes again, as functions from text to text.

A part is added to a file's text (``""`` for a missing file) or removed from it. Adding it twice is the same as once.
``name`` is the file's name in errors. All functions raise ConfigError, and then the file is not changed.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from holdfast.errors import ConfigError
from holdfast.text import untrusted
from holdfast_agents.clientfiles import at, hooks_of, is_ours
from holdfast_agents.setup import jsontext
from holdfast_agents.setup.program import MARK
from holdfast_memory import DISTRIBUTION

#: A client's settings file without any settings.
_BARE = "{}\n"


class Part(ABC):
    """A file, or a part of a shared file."""

    @abstractmethod
    def put(self, text: str, name: str) -> str:
        """The text with the part."""

    @abstractmethod
    def take(self, text: str, name: str) -> str:
        """The text without the part. Empty when nothing else is left."""

    def show(self) -> str:
        """The part as a user would add it manually."""
        return self.put("", "")

    def foreign(self, text: str) -> bool:
        """Whether the file is not holdfast's, so that it is left alone."""
        return False

    def left_alone(self, text: str) -> tuple[str, ...]:
        """Names of the entries that are not holdfast's and stay unchanged, in a text that takes the part."""
        return ()


@frozen(kw_only=True)
class Values(Part):
    """Members of an object (path -> value) and elements of lists (path -> element that must be in the list)."""

    members: Mapping[tuple[str, ...], object] = {}
    listed: Mapping[tuple[str, ...], str] = {}
    #: The member with the MCP server, which may be the user's own.
    server: tuple[str, ...] = ()

    def put(self, text: str, name: str) -> str:
        text = text if text.strip() else _BARE
        settings = jsontext.read(text, name)
        for path, value in self.members.items():
            if at(settings, path) != value and self._may_change(settings, path):
                text = jsontext.put(text, path, value, name)
        for path, element in self.listed.items():
            elements = at(settings, path)
            if not isinstance(elements, list) or element not in elements:
                text = jsontext.append(text, path, element, name)
        return text

    def take(self, text: str, name: str) -> str:
        for path in self.members:
            if self._may_change(jsontext.read(text, name), path):
                text = _pruned(jsontext.remove(text, path, name), path[:-1], name)
        for path, element in self.listed.items():
            elements = at(jsontext.read(text, name), path)
            if isinstance(elements, list) and element in elements:
                text = jsontext.remove(text, (*path, elements.index(element)), name)
            text = _pruned(text, path, name)
        return text if set(jsontext.read(text, name)) - {"$schema"} else ""

    def left_alone(self, text: str) -> tuple[str, ...]:
        """The members, as ``a.b``, that are not holdfast's. :meth:`put` and :meth:`take` leave them unchanged."""
        settings = jsontext.read(text, "") if text.strip() else {}
        return tuple(".".join(path) for path in self.members if not self._may_change(settings, path))

    def _may_change(self, settings: object, path: tuple[str, ...]) -> bool:
        value = at(settings, path)
        return value is None or path != self.server or is_server(value)


@frozen(kw_only=True)
class Hooks(Values):
    """A hook of ``client`` for each event, in the form shared by Claude Code and Codex.

    ``groups`` maps events to the value appended under ``hooks.EVENT``. Other holdfast hooks there are removed, and
    other people's hooks stay. The other values go into the same file.
    """

    client: str
    groups: Mapping[str, Mapping[str, Any]]

    def put(self, text: str, name: str) -> str:
        text = super().put(text, name)
        existing = self._groups_with_ours(text, name)
        for event in {**self.groups, **existing}:
            wanted = [self.groups[event]] if event in self.groups else []
            if event in existing and existing[event] != wanted:
                text = self._without(text, event, name)
            if wanted and existing.get(event) != wanted:
                text = jsontext.append(text, ("hooks", event), wanted[0], name)
        return text

    def take(self, text: str, name: str) -> str:
        for event in self._groups_with_ours(text, name):
            text = self._without(text, event, name)
        return super().take(text, name)

    def _groups_with_ours(self, text: str, name: str) -> dict[str, list[object]]:
        """Events with groups that contain a holdfast hook, and these groups."""
        with_ours = {
            event: [group for group in groups if any(is_ours(hook, self.client) for hook in hooks_of(group))]
            for event, groups in _lists(jsontext.read(text, name) if text.strip() else {})
        }
        return {event: groups for event, groups in with_ours.items() if groups}

    def _without(self, text: str, event: str, name: str) -> str:
        for index, group in reversed(list(enumerate(dict(_lists(jsontext.read(text, name)))[event]))):
            hooks = hooks_of(group)
            ours = [n for n, hook in enumerate(hooks) if is_ours(hook, self.client)]
            if ours and len(ours) == len(hooks):
                text = jsontext.remove(text, ("hooks", event, index), name)
            else:
                for n in reversed(ours):
                    text = jsontext.remove(text, ("hooks", event, index, "hooks", n), name)
        return _pruned(text, ("hooks", event), name)


def ours(settings: object, client: str, event: str) -> list[tuple[str, object]]:
    """Groups with a holdfast hook, each with Codex's index ``GROUP:HOOK``."""
    groups = at(settings, ("hooks", event))
    return [
        (f"{index}:{number}", group)
        for index, group in enumerate(groups if isinstance(groups, list) else ())
        for number, hook in enumerate(hooks_of(group))
        if is_ours(hook, client)
    ]


def _lists(settings: Mapping[str, object]) -> Iterator[tuple[str, list[object]]]:
    events = settings.get("hooks")
    for event, groups in events.items() if isinstance(events, dict) else ():
        if isinstance(groups, list):
            yield str(event), groups


def _pruned(text: str, path: tuple[str, ...], name: str) -> str:
    """The text without empty objects and lists on the path."""
    while path and at(jsontext.read(text, name), path) in ({}, []):
        text, path = jsontext.remove(text, path, name), path[:-1]
    return text


@frozen(kw_only=True)
class Section(Part):
    """``body`` between the lines ``begin`` and ``end``, appended to a text file.

    ``table`` is the path of the TOML table that the body defines, or of the list that it adds to, empty for other
    files. A file that already defines the table elsewhere keeps its own.
    """

    begin: str
    end: str
    body: str
    table: tuple[str, ...] = ()

    def put(self, text: str, name: str) -> str:
        if self.table:
            rest = self.take(text, name)
            if isinstance(at(_toml(rest, name), self.table), dict):
                return rest
        line = "\r\n" if "\r\n" in text else "\n"
        block = f"{self.begin}\n{self.body.strip()}\n{self.end}\n".replace("\n", line)
        place = self._place(text, name)
        if place:
            new = text[: place[0]] + block + text[place[1] :]
        else:
            new = text + ("" if not text else line if text.endswith("\n") else 2 * line) + block
        if self.table:
            above = ".".join(self.table[:-1] or self.table)
            problem = f"cannot take the table [{'.'.join(self.table)}], because {above} is an inline table there"
            _toml(new, name, problem, f"Write {above} as tables ([{above}.NAME]), then try again.")
        return new

    def left_alone(self, text: str) -> tuple[str, ...]:
        """The table, when the file has its own and it differs from holdfast's."""
        own = at(_toml(self.take(text, ""), ""), self.table) if self.table else None
        return (".".join(self.table),) if isinstance(own, dict) and not is_server(own) else ()

    def take(self, text: str, name: str) -> str:
        place = self._place(text, name)
        if not place:
            return text
        before, after = text[: place[0]], text[place[1] :]
        blank = next((blank for blank in ("\r\n\r\n", "\n\n") if before.endswith(blank)), "")
        before = before[: len(before) - len(blank) // 2]
        return before + after if (before + after).strip() else ""

    def _place(self, text: str, name: str) -> tuple[int, int] | None:
        """Start and end of the section, with its line end. Raises: ConfigError for an incomplete section."""
        starts, ends = (
            [line.start() for line in re.finditer(rf"^{re.escape(mark)}\s*?$", text, re.MULTILINE)]
            for mark in (self.begin, self.end)
        )
        if not starts and not ends:
            return None
        if len(starts) != 1 or len(ends) != 1 or ends[0] < starts[0]:
            raise ConfigError(
                f"{name} does not have the lines {self.begin!r} and {self.end!r} once each, in this order. "
                "It was not changed.",
                next_step="Remove these lines and the text between them, then try again.",
            )
        end = text.find("\n", ends[0])
        return starts[0], len(text) if end < 0 else end + 1


@frozen(kw_only=True)
class Whole(Part):
    """A file that holdfast owns. Its body contains :data:`MARK`."""

    body: str

    def put(self, text: str, name: str) -> str:
        return self.body

    def take(self, text: str, name: str) -> str:
        return ""

    def foreign(self, text: str) -> bool:
        return bool(text.strip()) and MARK not in text


def is_server(value: object) -> bool:
    """Whether ``holdfast install`` may have written a client's MCP server entry. It writes ``holdfast-memory mcp``
    or ``INTERPRETER -P -m holdfast_memory mcp``, without other settings."""
    entry = dict(value) if isinstance(value, dict) else {}
    command, arguments = entry.pop("command", None), entry.pop("args", [])
    words = command if isinstance(command, list) else [command]
    words = [*words, *arguments] if isinstance(arguments, list) else words
    is_started = words == [DISTRIBUTION, "mcp"] or words[1:] == ["-P", "-m", "holdfast_memory", "mcp"]
    return is_started and entry in ({}, {"type": "stdio"}, {"type": "local", "enabled": True})


def _toml(text: str, name: str, problem: str = "", next_step: str = "") -> Mapping[str, object]:
    """Raises: ConfigError that names ``problem``, or the position where ``text`` is not TOML."""
    try:
        return untrusted.from_toml(text)
    except ValueError as error:
        message = f"{name} {problem or f'is not valid TOML: {error}'}. It was not changed."
        raise ConfigError(message, next_step=next_step or "Correct the file, then try again.") from error
