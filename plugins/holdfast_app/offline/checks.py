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
from holdfast_app.offline.speech import clip

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
_TALLY: Final = Lazy(r"(?<![\w.,])[1-9]\d* (?:failed|failures?|errors?)\b(?! in 0)")
_FAILED: Final = Lazy(r"(?<![\w.,])[1-9]\d* failed\b")
_TELLING: Final = Lazy(
    r"\b(?:errors?|failed|failure|fail|fatal|cannot|denied|refused|not found|exception)\b|Error\b", re.IGNORECASE
)
_NOISE: Final = Lazy(r"exit code:? -?\d+|\(no output\)|[=_\-.\s]*|command (?:failed|exited).*", re.IGNORECASE)

_MAX_OUTPUT_CHARS: Final = 20_000
"""Only a tool output's end is read, because it holds the verdict."""
_MAX_VERDICT_CHARS: Final = 160
_MAX_COMMAND_CHARS: Final = 200


def failing(messages: Iterable[Message]) -> list[str]:
    """The checks among ``messages`` that still fail, as "COMMAND: VERDICT", oldest first."""
    open_calls: dict[str, deque[str]] = {}
    failing: dict[str, str] = {}
    for message in messages:
        tool = message.tool.lower()
        if message.role == "assistant" and message.tool and tool != THINKING:
            line = message.text.partition("\n")[0]  # the other arguments are below it
            command = line.removeprefix(message.tool).removeprefix(":").strip()
            open_calls.setdefault(tool, deque()).append(command)
        elif message.role == "user":
            open_calls.clear()  # calls without a result by now were interrupted
        elif message.role == "tool":
            waiting = open_calls.get(tool)
            _settle(_checks(waiting.popleft() if waiting else message.tool), message, failing)
    return list(failing.values())


def _settle(checks: list[str], message: Message, failing: dict[str, str]) -> None:
    """Add the check that failed here, or remove the checks that passed. Other failed commands are mostly mended by the
    next one."""
    output = message.text[-_MAX_OUTPUT_CHARS:]
    if not (message.failed or _FAILED.search(output)):
        for check in checks:
            for key in [key for key in failing if _covers(_key(check), key)]:
                del failing[key]
    elif checks:
        key = _key(checks[-1])  # && stops at the failed command
        failing.pop(key, None)
        failing[key] = ": ".join(filter(None, (clip(checks[-1], _MAX_COMMAND_CHARS), _verdict(output))))


def _checks(command: str) -> list[str]:
    """The checks among the single commands of a shell line, without pipes, redirections and wrappers."""
    checks = []
    for part in _SEPARATOR.split(command):
        part = _PIPE.sub("", part, count=1).strip()
        while wrapped := _WRAPPER.match(part):
            part = part[wrapped.end() :].strip("'\" ")
        if _CHECK.match(part):
            checks.append(part)
    return checks


def _key(check: str) -> str:
    """A check's identity, without its flags."""
    return " ".join(word for word in check.split() if not word.startswith("-"))


def _covers(passed: str, failed: str) -> bool:
    """Whether the check ``passed`` ran all of ``failed``: the same words, without a path or with a folder around it."""
    rest = failed.removeprefix(passed.removesuffix("/...").removesuffix(" ."))
    return passed == failed or (rest != failed and rest[:1] in (" ", "/") and ("/" in rest or "." in rest))


def _verdict(output: str) -> str:
    """The error in the output, word for word, or an empty string."""
    tallies = list(_FAILED.finditer(output)) or list(_TALLY.finditer(output))
    if tallies:
        return tallies[-1][0]
    lines = [line.strip() for line in output.splitlines() if not _NOISE.fullmatch(line.strip())]
    telling = [line for line in lines if _TELLING.search(line[:500])]
    return clip((telling or lines or [""])[-1], _MAX_VERDICT_CHARS)
