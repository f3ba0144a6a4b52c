"""Failing checks: test runs, linters and builds whose last run failed.

A result does not name its call, so it belongs to the oldest open call of the same tool. A check that passed later is
not listed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from typing import Final

from holdfast.models import Message
from holdfast.text.lazy import Lazy
from holdfast_app.message_formats.reading import THINKING
from holdfast_app.offline.changes import EDITORS
from holdfast_app.offline.speech import clip

_SHELLS: Final = frozenset({
    "bash", "shell", "exec", "exec_command", "local_shell", "container.exec", "terminal", "run_terminal_cmd",
    "powershell", "execute_command",
})  # fmt: skip
_READERS: Final = frozenset({
    "read", "grep", "glob", "ls", "list", "webfetch", "websearch", "task", "agent", "todowrite", "todoread",
    "notebookread", "view_image", "search", "fetch", "read_file", "list_dir", "update_plan", "bashoutput",
    "killshell", "skill",
})  # fmt: skip

_CHECK: Final = Lazy(
    r"(?:\S*/)?(?:pytest|py\.test|tox|nox|ruff|mypy|pyright|flake8|pylint|black|isort|pre-commit|lint-imports|make|just"
    r"|npm|npx|pnpm|yarn|bun|deno|jest|vitest|mocha|eslint|tsc|prettier|cargo|go|gradlew?|mvn|ctest|cmake|ninja|bazel"
    r"|dotnet|swift|rspec|rake|phpunit|mix|shellcheck|hadolint)\b"
    r"|(?:uv|poetry|hatch|pdm|rye|bundle|composer) (?:run |exec )?\S"
    r"|python3? -m (?:pytest|unittest|mypy|ruff|build|tox|nox)\b"
    r"|gh (?:pr checks|run)\b|docker(?:-compose| compose)? build\b|terraform (?:plan|validate)\b"
)
_WRAPPER: Final = Lazy(
    r"(?:\S*/)?(?:ba|z|da)?sh -l?c\s+|(?:sudo|time|do|then|env)\s+|timeout \S+\s+|[A-Z_][A-Z0-9_]*=\S*\s+"
)
_SEPARATOR: Final = Lazy(r"&&|\|\||;|\n")
_PIPE: Final = Lazy(r"(?:\d?>&\d|&?>{1,2}|\|).*")
_PROMPT: Final = Lazy(r"\$ ([^\n]{1,400})\n")
_TALLY: Final = Lazy(r"(?<![\w.,])[1-9]\d* (?:failed|failures?|errors?)\b(?! in 0)")
_FAILED: Final = Lazy(r"(?<![\w.,])[1-9]\d* failed\b")
_TELLING: Final = Lazy(
    r"\b(?:errors?|failed|failure|fail|fatal|cannot|denied|refused|not found|exception)\b|Error\b", re.IGNORECASE
)
_NOISE: Final = Lazy(r"exit code:? -?\d+|\(no output\)|[=_\-.\s]*|command (?:failed|exited).*", re.IGNORECASE)
_TYPE_ERRORS: Final = Lazy(r"Found \d+ errors? in \d+ file")

#: Flags whose value does not distinguish two checks.
_OUTPUT_FLAGS: Final = frozenset({
    "--output", "--out", "-o", "--output-dir", "--run-dir", "--log-file", "--workers", "-n", "-timeout", "--timeout",
})  # fmt: skip
#: A path that includes everything below it.
_EVERYTHING: Final = Lazy(r"/?\.\.\.$")
_MAX_OUTPUT_CHARS: Final = 20_000
"""Only the end of a tool's output is read, because it holds the verdict."""
_MAX_VERDICT_CHARS: Final = 160
_MAX_COMMAND_CHARS: Final = 200


def failing(messages: Iterable[Message]) -> list[str]:
    """The checks among ``messages`` that still fail, as "COMMAND: VERDICT", oldest first."""
    open_calls: dict[str, deque[str]] = {}
    found: dict[str, str] = {}
    for message in messages:
        tool = message.tool.lower()
        if message.role == "assistant" and message.tool and tool != THINKING:
            line = message.text.partition("\n")[0]  # the other arguments are below it
            argument = line.removeprefix(message.tool).removeprefix(":").strip()
            open_calls.setdefault(tool, deque()).append(argument)
        elif message.role == "user":
            open_calls.clear()  # calls without a result by now were interrupted
        elif message.role == "tool":
            waiting = open_calls.get(tool)
            argument = waiting.popleft() if waiting else ""
            if tool not in EDITORS and tool not in _READERS:
                _settle(message, argument, found)
    return list(found.values())


def _settle(message: Message, argument: str, failing: dict[str, str]) -> None:
    """Add the check that failed here, or remove the checks that passed."""
    output = message.text[-_MAX_OUTPUT_CHARS:]
    failed = message.failed or _FAILED.search(output)
    if not (failed or failing):
        return
    command = argument
    if not command and (prompt := _PROMPT.match(message.text)):
        command = prompt[1]
    if not command and message.tool.lower() not in _SHELLS:
        command = message.tool
    parts = _parts(command)
    checks = [part for part in parts if _CHECK.match(part)]
    if command and not checks:
        return  # other failed commands are mostly fixed by the next one
    if failed:
        culprit = _culprit(checks, output)
        verdict = _verdict(output)
        key = _key(culprit)
        failing.pop(key, None)
        if culprit or verdict:
            failing[key] = ": ".join(filter(None, (clip(culprit, _MAX_COMMAND_CHARS), verdict)))
    else:
        for check in checks:
            for key in [key for key in failing if _covers(_key(check), key)]:
                del failing[key]


def _parts(command: str) -> list[str]:
    """The single commands of a shell line, without pipes, redirections and wrappers."""
    parts = []
    for part in _SEPARATOR.split(command):
        part = _PIPE.sub("", part, count=1).strip()
        while wrapped := _WRAPPER.match(part):
            part = part[wrapped.end() :].strip("'\" ")
        if part:
            parts.append(part)
    return parts


def _culprit(checks: list[str], output: str) -> str:
    """The failed check among several in one command, which is the check named by the verdict, otherwise the last,
    because ``&&`` stops there."""
    if len(checks) > 1:
        for verdict, name in ((_TYPE_ERRORS, "mypy"), (_FAILED, "test")):
            if verdict.search(output):
                named = [check for check in checks if name in check]
                if named:
                    return named[-1]
    return checks[-1] if checks else ""


def _key(check: str) -> str:
    """A check's identity. Flags and output destinations are not part of it."""
    words = check.split()
    return " ".join(
        word
        for before, word in zip(["", *words], words, strict=False)
        if not word.startswith("-") and before not in _OUTPUT_FLAGS
    )


def _covers(passed: str, failed: str) -> bool:
    """Whether the check ``passed`` ran all of ``failed``: the same program on the same paths, a parent folder, or no
    path at all."""
    if passed == failed:
        return True
    ran, wanted = passed.split(), failed.split()
    same = 0
    while same < min(len(ran), len(wanted)) and ran[same] == wanted[same]:
        same += 1
    if not same:
        return False
    rest = [_EVERYTHING.sub("", word).rstrip("/") for word in ran[same:]]
    if not rest:
        return "/" in wanted[same] or "." in wanted[same]
    if same == len(wanted):
        return all(part in ("", ".") for part in rest)
    return all(any(part in ("", ".") or word.startswith(f"{part}/") for part in rest) for word in wanted[same:])


def _verdict(output: str) -> str:
    """The error in the output, word for word, or an empty string."""
    tallies = list(_FAILED.finditer(output)) or list(_TALLY.finditer(output))
    if tallies:
        return tallies[-1][0]
    lines = [line.strip() for line in output.splitlines() if not _NOISE.fullmatch(line.strip())]
    telling = [line for line in lines if _TELLING.search(line[:500])]
    return clip((telling or lines or [""])[-1], _MAX_VERDICT_CHARS)
