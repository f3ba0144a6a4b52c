"""The client's own task list, rebuilt from its tool calls: Claude Code's TodoWrite and Task tools, Codex's update_plan,
opencode's todowrite.

Calls are read in their journalled form (:func:`holdfast_app.message_formats.leaves.call_text`). Failed calls count too,
because the list shows the agent's intention.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from holdfast.models import Message
from holdfast.text.lazy import Lazy
from holdfast_app.offline import asked

_WHOLE: Final = frozenset({"todowrite", "updateplan", "updatetodolist", "writetodos"})
_LISTED: Final = Lazy(r"^#(\d+) \[(\w+)\] (.+?)(?: \[blocked by [^\]]*\])?$", re.MULTILINE)
_ENTRY: Final = Lazy(r"^[ \t]*[\w.]*?(content|step|status|description|title|task)s?: (.*)$", re.MULTILINE)
_ARGUMENT: Final = Lazy(r"(?:^|[\s,])(taskId|task_id|id|status|subject)[=:] ?([^,\n]+)")
_HEAD: Final = Lazy(r"\w+: ([^\n]*)")
_CREATED: Final = Lazy(r"[Tt]ask #?(\d+)")
DONE, DOING, PENDING = "done", "doing", "pending"
_STATES: Final = {
    **dict.fromkeys(("completed", "done", "complete", "cancelled", "canceled", "deleted", "skipped"), DONE),
    **dict.fromkeys(("in_progress", "in-progress", "doing", "active"), DOING),
}


class Task(NamedTuple):
    """An entry. ``is_fresh``: added or changed since the user's last request."""

    text: str
    state: str
    is_fresh: bool


def current(tasks: Sequence[Task], *states: str) -> str:
    """The first fresh entry in any of these states, in their order; otherwise empty. A list that later requests did
    not touch is stale."""
    return next((task.text for state in states for task in tasks if task.is_fresh and task.state == state), "")


def of(messages: Iterable[Message]) -> list[Task]:
    """The task list after ``messages``."""
    entries: dict[str, list[str]] = {}
    fresh: set[str] = set()
    made = 0
    for message in messages:
        tool = message.tool.lower().rpartition("__")[2].replace("_", "")
        if message.role == "user":
            if fresh and asked.kind(message.text) is asked.Kind.REQUEST:
                fresh.clear()
        elif message.role == "assistant" and tool in _WHOLE:
            if listed := _whole(message.text):
                entries, made, fresh = listed, len(listed), set(listed)
        elif message.role == "assistant" and tool in ("taskcreate", "taskupdate"):
            given = {name: value.strip() for name, value in _ARGUMENT.findall(message.text)}
            key = given.get("taskId") or given.get("task_id") or given.get("id", "")
            if tool == "taskcreate":
                made += 1
                key, head = str(made), _HEAD.match(message.text)
                entries[key] = [head[1].strip() if head else "", PENDING]
            if key in entries:
                fresh.add(key)
                entries[key] = [given.get("subject", entries[key][0]), given.get("status", entries[key][1])]
        elif message.role == "tool" and tool == "taskcreate" and (found := _CREATED.search(message.text)):
            if str(made) in entries and found[1] not in entries:
                entries[found[1]] = entries.pop(str(made))
                fresh.add(found[1])
        elif message.role == "tool" and tool == "tasklist":
            for key, status, text in _LISTED.findall(message.text):
                entries[key] = [entries.get(key, [text])[0], status]
    return [Task(text, _STATES.get(status, PENDING), key in fresh) for key, (text, status) in entries.items() if text]


def _whole(text: str) -> dict[str, list[str]]:
    """The entries from a call that passes the whole list. Clients give an entry's status before or after its text."""
    found = _ENTRY.findall(text)
    strings = [value.strip() for name, value in found if name != "status"]
    states = [value.strip() for name, value in found if name == "status"]
    states += [PENDING] * (len(strings) - len(states))
    return {str(number): [*entry] for number, entry in enumerate(zip(strings, states, strict=False), 1)}
