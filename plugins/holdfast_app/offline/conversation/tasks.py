"""The client's own task list, rebuilt from its tool calls: Claude Code's TodoWrite and Task tools, Codex's update_plan,
opencode's todowrite.

Calls are read in their journalled form (:func:`holdfast_app.message_formats.leaves.call_text`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.text.lazy import Lazy
from holdfast_app.offline.conversation import asked

if TYPE_CHECKING:
    from holdfast.models import Message

_WHOLE: Final = frozenset({"todowrite", "update_plan", "todo_write", "updateplan", "update_todo_list", "write_todos"})
_CREATE: Final = frozenset({"taskcreate", "task_create"})
_UPDATE: Final = frozenset({"taskupdate", "task_update"})
_LIST: Final = frozenset({"tasklist", "task_list"})
_LISTED: Final = Lazy(r"^#(\d+) \[(\w+)\] (.+?)(?: \[blocked by [^\]]*\])?$", re.MULTILINE)
_LINE: Final = Lazy(r"^[\w.]*?(content|step|status|description|title|task)s?: (.*)$")
_ARGUMENT: Final = Lazy(r"(?:^|[\s,])(taskId|task_id|id|status|subject)[=:] ?([^,\n]+)")
_CREATED: Final = Lazy(r"[Tt]ask #?(\d+)")
_DONE: Final = frozenset({"completed", "done", "complete", "cancelled", "canceled", "deleted", "skipped"})
_NOW: Final = frozenset({"in_progress", "in-progress", "doing", "active"})


class Tasks(NamedTuple):
    """The entries by state, each in list order."""

    done: tuple[str, ...] = ()
    doing: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    #: Entries added or changed since the user's last request.
    touched: frozenset[str] = frozenset()

    @property
    def doing_now(self) -> str:
        """The first entry in progress, if it was added or changed since the last request; otherwise empty."""
        return next((text for text in self.doing if text in self.touched), "")

    @property
    def waiting(self) -> str:
        """The same, or the first such pending entry. A list that later requests did not touch is stale."""
        return next((text for text in (*self.doing, *self.pending) if text in self.touched), "")


def of(messages: Iterable[Message]) -> Tasks:
    """The task list after ``messages``. Failed calls count too, because the list shows the agent's intention."""
    entries: dict[str, list[str]] = {}
    touched: set[str] = set()
    made = 0
    for message in messages:
        tool = message.tool.lower().rpartition("__")[2]
        if message.role == "user":
            if touched and asked.kind(message.text) is asked.Kind.REQUEST:
                touched.clear()
        elif message.role == "assistant" and tool in _WHOLE:
            listed = _whole(message.text)
            if listed:
                entries = listed
                made = len(listed)
                touched = set(entries)
        elif message.role == "assistant" and tool in _CREATE:
            made += 1
            entries[str(made)] = [_subject(message.text), "pending"]
            touched.add(str(made))
        elif message.role == "assistant" and tool in _UPDATE:
            given = {name: value.strip() for name, value in _ARGUMENT.findall(message.text)}
            key = given.get("taskId") or given.get("task_id") or given.get("id", "")
            if key in entries:
                touched.add(key)
                entries[key][1] = given.get("status", entries[key][1])
                entries[key][0] = given.get("subject", entries[key][0])
        elif message.role == "tool" and tool in _CREATE and (found := _CREATED.search(message.text)):
            newest = str(made)
            if newest in entries and found[1] not in entries:
                entries[found[1]] = entries.pop(newest)
                touched.add(found[1])
        elif message.role == "tool" and tool in _LIST:
            for key, status, text in _LISTED.findall(message.text):
                entries[key] = [entries.get(key, [text])[0], status]
    states = [(_state(status), text) for text, status in entries.values() if text]
    done, doing, pending = (
        tuple(text for state, text in states if state == one) for one in ("done", "doing", "pending")
    )
    names = frozenset(entries[key][0] for key in touched if key in entries)
    return Tasks(done=done, doing=doing, pending=pending, touched=names)


def _state(status: str) -> str:
    return "done" if status in _DONE else "doing" if status in _NOW else "pending"


def _whole(text: str) -> dict[str, list[str]]:
    """The entries from a call that passes the whole list. Clients give an entry's status before or after its text."""
    found = [named for line in text.splitlines() if (named := _LINE.match(line.strip()))]
    strings = [named[2].strip() for named in found if named[1] != "status"]
    states = [named[2].strip() for named in found if named[1] == "status"]
    states += ["pending"] * (len(strings) - len(states))
    return {str(number): [*entry] for number, entry in enumerate(zip(strings, states, strict=False), 1)}


def _subject(text: str) -> str:
    lines = text.splitlines()
    for line in lines:
        if line.startswith("subject: "):
            return line.removeprefix("subject: ").strip()
    head = lines[0].partition(": ")[2] if lines else ""
    if "subject=" in head:
        return head.partition("subject=")[2].partition(", ")[0]
    return head.strip()
