"""Tool calls: the client's own task list (Claude Code's TodoWrite and Task tools, Codex's update_plan,
opencode's todowrite), files written by edit tools, commits reported by git, and packages taken out; and pointers in
messages (issue and pull request numbers, addresses, commits).

Calls are read in their journalled form (:func:`holdfast_app.message_formats.leaves.call_text`). Of the task list failed
calls count too, because it shows the agent's intention.
"""

import posixpath
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from holdfast.fs.paths import is_absolute
from holdfast.models import Message
from holdfast.text.lazy import Lazy
from holdfast_app.offline import asked
from holdfast_app.offline.speech import clip

EDITORS: Final = frozenset({
    "edit", "write", "multiedit", "multi_edit", "notebookedit", "notebook_edit", "patch", "apply_patch", "create_file",
    "str_replace_editor", "str_replace_based_edit_tool", "write_file", "edit_file", "replace", "search_replace",
    "write_to_file", "replace_in_file", "apply_diff", "file_edit", "insert_content", "create", "str_replace",
})  # fmt: skip
_PATCHED: Final = Lazy(r"^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+)$", re.MULTILINE)
#: A line of a patch tool's result, one per file. Call records shorten long patches.
_UPDATED: Final = Lazy(r"(?:\{\W*output\W+)?Success\. Updated the following files:(?:\s*[AMD] [^\n]{1,300})+")
_UPDATED_FILE: Final = Lazy(r"^[AMD] (.+)$", re.MULTILINE)
_NAMED: Final = Lazy(r"^(?:file_path|filePath|path|notebook_path|target_file|filename|file): (.+)$", re.MULTILINE)
#: A file that a shell command writes itself, from its own text.
_WRITTEN: Final = Lazy(
    r"\bcat\s*>{1,2}\s*(\S{1,300}[^\s/])\s*<<|\bcat\s*<<-?\s*\S{1,40}\s*>{1,2}\s*(\S{1,300}[^\s/])"
    r"|\btee\s+(?:-a\s+)?([^\s|<>]{1,300}[^\s|<>/])[^\n<]{0,40}<<"
    r"|\bopen\(\s*['\"]([^'\"\n]{1,300})['\"],\s*(?:mode=)?['\"][wax]"
)
_LOOKS: Final = ("view", "undo_edit")
#: At a line's start. The bracket comes first, so the search can skip to it.
_COMMIT: Final = Lazy(r"\[(?<!.\[)[\w./+-]{1,200}(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.{1,300})$", re.MULTILINE)
_USER: Final = r"(?:/users/[^/]+|/home/[^/]+|/root|[a-z]:[\\/]users[\\/][^\\/]+)[\\/]"
_HOME: Final = Lazy(rf"^{_USER}", re.IGNORECASE)
#: A copy of the project that a client made for a sub-agent.
_WORKTREE: Final = Lazy(r"^.*[\\/]\.claude[\\/]worktrees[\\/][^\\/]+[\\/]")
#: Folders where systems and clients keep their own files, beside plans, memories and settings that a user asked for.
_NOT_THE_PROJECT: Final = Lazy(
    rf"^(?:/private)?/(?:tmp|var|dev)/|[\\/]AppData[\\/]Local[\\/]Temp[\\/]"
    rf"|^{_USER}\.(?:(?:claude|codex|cursor|gemini)[\\/](?:projects[\\/][^\\/]+(?![\\/]memory)|sessions|todos|tmp)|cache)[\\/]"
    r"|\n|://|: ",  # an address, or a name like a label
    re.IGNORECASE,
)
_REMOVED: Final = Lazy(
    r"\b(?:npm|pnpm|yarn|bun|pip3?|uv(?: pip)?|poetry|cargo|gem|composer|conda)(?: -\S+)* (?:uninstall|remove|rm)"
    r"(?: (?!\||&)[\w@/.-]+){1,6}"
)
_VERSION: Final = Lazy(r"\b(?:install|add|i)\b[^\n;|]{0,200}?(?<= )([@\w][\w./-]*?)(==|@)(\d[\w.]*)")
_POINTER: Final = Lazy(
    r"(?P<url>https?://[^\s<>\"'`|\\^{}]{4,500})"
    r"|(?<![\w/#&.-])(?P<full>[A-Za-z0-9][\w.-]{0,80}/[A-Za-z0-9][\w.-]{0,80}#[1-9]\d{0,6})\b"
    # One digit alone is more often a rank ("the #1 reason"), six a colour.
    r"|(?<![\w/#&.-])(?P<number>#[1-9]\d{1,4})\b(?!-)"
    r"|\b(?:issues?|prs?|pull requests?|mrs?|fix(?:es|ed)?|clos(?:es|ed)|refs|see) (?P<single>#[1-9])\b"
    r"|\b(?:commit(?:ted)?|pushed|merged)(?: (?:as|in|at|is|sha|hash|id))?:? `?(?P<sha>(?=[a-f]*\d)[0-9a-f]{7,40})\b",
    re.IGNORECASE,
)
#: Text without any of these, in any case, has no pointer.
_POINTS: Final = ("#", "://", "commit", "pushed", "merged")
_LOOPBACK: Final = Lazy(r"https?://(?:localhost|127\.|\[::1\]|0\.0\.0\.0)", re.IGNORECASE)
_MAX_PATH: Final = 300
#: How many of the folders that all files outside of the project share are shown.
_SHARED: Final = 2


class Changes(NamedTuple):
    """``files`` in order of their last edit, relative; ``commits`` as "ID SUBJECT", oldest first; ``removed``
    the commands that took packages out, and replaced versions; ``calls`` is a count."""

    files: list[str]
    commits: list[str]
    removed: list[str]
    calls: int


def changes(messages: Iterable[Message]) -> Changes:
    """The changes made by the tool calls and results among ``messages``. Failed edits are ignored."""
    waiting: dict[str, deque[list[str]]] = {}
    edits: list[list[str]] = []
    commits: dict[str, str] = {}
    removed: dict[str, None] = {}
    versions: dict[str, str] = {}
    calls = 0
    for message in messages:
        tool = message.tool.lower().rpartition("__")[2]
        if message.role == "assistant" and tool and tool != "thinking":
            calls += 1
            paths = list(_edited(tool, message.text))
            waiting.setdefault(tool, deque()).append(paths)
            edits.append(paths)
            removed.update(dict.fromkeys(" ".join(match[0].split()) for match in _REMOVED.finditer(message.text)))
            for name, sign, version in _VERSION.findall(message.text):
                if versions.setdefault(name, version) != version:
                    removed[f"{name}{sign}{versions[name]}"] = None
                    versions[name] = version
        elif message.role == "user":
            waiting.clear()  # calls without a result by now were interrupted
        elif message.role == "tool":
            paths = waiting[tool].popleft() if waiting.get(tool) else []
            if message.failed:
                paths.clear()
            elif listed := _UPDATED.match(message.text):
                edits.append(_UPDATED_FILE.findall(listed[0]))
            for commit in _COMMIT.finditer(message.text):
                commits[commit[1]] = clip(f"{commit[1]} {commit[2]}", 200)
    shown = [name for paths in edits for path in paths if (name := _shown(path))]
    outside = [posixpath.dirname(path).lower() for path in shown if path.startswith("/")]
    above = max(1, len(posixpath.commonpath(outside).split("/")) - _SHARED) if outside else 1
    files: dict[str, None] = {}
    for path in shown:
        name = "/".join(path.split("/")[above:]) if path.startswith("/") else path
        files.pop(name, None)
        files[name] = None
    return Changes(files=list(files), commits=list(commits.values()), removed=list(removed), calls=calls)


def _edited(tool: str, text: str) -> Iterator[str]:
    if "*** Begin Patch" in text:
        yield from _PATCHED.findall(text)
    elif tool in EDITORS:
        head = text.partition("\n")[0].partition(": ")[2].strip()
        if head in _LOOKS or text.startswith(tuple(f"{tool}: {look}" for look in _LOOKS)):
            return
        named = _NAMED.search(text.partition("\n")[2])
        if named and (" " in head or "." not in head):
            yield named[1]
        elif head:
            yield head
    elif "<<" in text or "open(" in text:
        yield from ("".join(groups) for groups in _WRITTEN.findall(text))


def _shown(path: str) -> str:
    """``path`` in a form safe to share: relative to the project, or outside of it from the user's folder on, with a
    slash before it, or ``~/`` before a hidden folder. Empty for an invalid path or a client's own file."""
    path = _WORKTREE.sub("", path.strip().strip("'\""))
    if not path or len(path) > _MAX_PATH or _NOT_THE_PROJECT.search(path):
        return ""
    if not is_absolute(path):
        return path.removeprefix("./")
    path = _HOME.sub("", path).lstrip("/\\").replace("\\", "/")
    return f"~/{path}" if path.startswith(".") else f"/{path}"


def pointers(line: str) -> Iterator[str]:
    """Pointers from a line, in order. Loopback URLs are left out, because they work only on this machine."""
    lower = line.lower()
    for match in _POINTER.finditer(line) if any(mark in lower for mark in _POINTS) else ():
        text = match[match.lastgroup or 0]
        if match.lastgroup == "number" and len(text) == 4 and len({*text[1:]}) == 1:
            continue  # a colour
        if match.lastgroup == "url":
            text = text.rstrip(".,;:!?*_")
            while text.endswith((")", "]")) and text.count("(") + text.count("[") < text.count(")") + text.count("]"):
                text = text[:-1].rstrip(".,;:!?*_")
            if _LOOPBACK.match(text):
                continue
        yield text


_WHOLE: Final = frozenset({"todowrite", "updateplan", "updatetodolist", "writetodos"})
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
    not touch is stale, except one in the middle of the work, which adds to the request before it."""
    return next((task.text for state in states for task in tasks if task.is_fresh and task.state == state), "")


def of(messages: Iterable[Message]) -> list[Task]:
    """The task list after ``messages``."""
    entries: dict[str, list[str]] = {}
    fresh: set[str] = set()
    made, is_working = 0, False
    for message in messages:
        tool = message.tool.lower().rpartition("__")[2].replace("_", "")
        is_working = bool(tool) or (is_working and message.role == "user")
        if message.role == "user":
            if fresh and not is_working and asked.kind(message.text) is asked.Kind.REQUEST:
                fresh.clear()
        elif message.role == "assistant" and tool in _WHOLE:
            if listed := _whole(message.text):
                entries, made, fresh = listed, len(listed), set(listed)
        elif message.role == "assistant" and tool in ("taskcreate", "taskupdate"):
            arguments = {name: value.strip() for name, value in _ARGUMENT.findall(message.text)}
            key = arguments.get("taskId") or arguments.get("task_id") or arguments.get("id", "")
            if tool == "taskcreate":
                made += 1
                key, head = str(made), _HEAD.match(message.text)
                entries[key] = [head[1].strip() if head else "", PENDING]
            if key in entries:
                fresh.add(key)
                entries[key] = [arguments.get("subject", entries[key][0]), arguments.get("status", entries[key][1])]
        elif message.role == "tool" and tool == "taskcreate" and str(made) in entries:
            created = _CREATED.search(message.text)
            if created and created[1] not in entries:
                entries[created[1]] = entries.pop(str(made))
                fresh.add(created[1])
    return [Task(text, _STATES.get(status, PENDING), key in fresh) for key, (text, status) in entries.items() if text]


def _whole(text: str) -> dict[str, list[str]]:
    """The entries from a call that passes the whole list. Clients give an entry's status before or after its text."""
    rows = _ENTRY.findall(text)
    strings = [value.strip() for name, value in rows if name != "status"]
    states = [value.strip() for name, value in rows if name == "status"]
    states += [PENDING] * (len(strings) - len(states))
    return {str(number): [*entry] for number, entry in enumerate(zip(strings, states, strict=False), 1)}
