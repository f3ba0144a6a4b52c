"""Commands that agents' hooks observed: tests, builds, linters, deployments and commits with their exit status.

They are read from the journals.

A command counts only if a hook journalled its call and result together, and the client gave the exit status to the hook
or, for the same call, in its transcript. Commands that appear only in transcripts or messages do not count.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from holdfast.config.serde import moment
from holdfast.fs import durable, safeopen
from holdfast.fs.records import decode
from holdfast.journal import journal
from holdfast_app.workflow import checkruns
from holdfast_app.workflow.checkruns import Part

if TYPE_CHECKING:
    from holdfast.session.services import Services

_RESULT: Final = b'"role":"tool"'
_EXIT: Final = b',"exit":'
_FAILED: Final = b',"failed":true'
_LATER: Final = b'"kind":"exit"'
_EDITORS: Final = frozenset({"edit", "write", "multiedit", "notebookedit", "apply_patch", "patch"})
_EDITED: Final = tuple(
    f'"tool":"{name}"'.encode() for name in ("Edit", "Write", "MultiEdit", "NotebookEdit", *_EDITORS)
)
_PROSE: Final = (".md", ".rst", ".txt", ".adoc")
_ARGUMENTS: Final = ("command", "cmd")
#: Other arguments of shell tools, which follow the command in a journalled call.
_OTHERS: Final = (
    "description",
    "timeout",
    "timeout_ms",
    "workdir",
    "cwd",
    "justification",
    "dangerously",
    "run_in_back",
)
MAX_LINE_CHARS: Final = 160


@frozen(kw_only=True)
class Run:
    """An observed command line, with its checks, exit status (None if it failed without a known status), time and
    session."""

    line: str
    parts: tuple[Part, ...]
    exit_status: int | None
    at: datetime
    session: str

    @property
    def passed(self) -> bool:
        return self.exit_status == 0

    @property
    def ending(self) -> str:
        """The command and its exit status, in words."""
        status = "an unknown exit status" if self.exit_status is None else f"exit status {self.exit_status}"
        return f"`{self.line}` ended with {status}"


@frozen(kw_only=True)
class Observed:
    """``runs`` in time order; ``edited`` is the last time a tool edited a non-prose file, None for never."""

    runs: tuple[Run, ...] = ()
    edited: datetime | None = None

    @property
    def failing(self) -> tuple[Run, ...]:
        """The checks and deployments that failed and have not passed since, oldest first."""
        left: dict[Part, Run] = {}
        for run in self.runs:
            for part in run.parts:
                if part.kind == checkruns.COMMIT:
                    continue  # no check: "nothing to commit" is a failure, too
                if run.passed:
                    left = {old: failed for old, failed in left.items() if not part.covers(old)}
                else:
                    left.pop(part, None)
                    left[part] = run
        return tuple(dict.fromkeys(left.values()))

    @property
    def passing(self) -> tuple[Run, ...]:
        """The runs that passed and have not failed since. Each line is listed once, with its last run, in time
        order."""
        failing = {part for run in self.failing for part in run.parts}
        last: dict[str, Run] = {}
        for run in self.runs:
            last.pop(run.line, None)
            last[run.line] = run
        return tuple(run for run in last.values() if run.passed and not failing & {*run.parts})

    @property
    def mended(self) -> tuple[Run, ...]:
        """The last runs of tests that failed earlier."""
        failed = [(run.at, part) for run in self.runs if not run.passed for part in run.parts]
        return tuple(
            run
            for run in tests(self.passing)
            if any(at < run.at and mine.covers(part) for at, part in failed for mine in run.parts)
        )


def tests(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The entries of ``runs`` that ran tests."""
    return tuple(run for run in runs if any(part.kind == checkruns.TEST for part in run.parts))


def since(services: Services, start: datetime) -> Observed:
    """The checks observed in all sessions since ``start``. Raises: Unavailable."""
    runs: list[Run] = []
    edited: list[datetime] = []
    more = services.config.workflow.tests
    for path in journal.session_files(services.state):
        try:
            if os.stat(path).st_mtime < start.timestamp() - 1:
                continue
            session = journal.session_id_of(path) or ""
            for row, call in _rows(path):
                at = moment(str(row.get("at", "")))
                if at < start:
                    continue
                if call is None:
                    edited.append(at)
                elif run := _run(row, call, at, session, more):
                    runs.append(run)
        except FileNotFoundError:
            continue  # purged meanwhile
        except OSError as error:
            raise durable.unavailable(error, path, "read") from error
        except ValueError:
            continue  # not a valid time
    return Observed(runs=tuple(sorted(runs, key=lambda run: run.at)), edited=max(edited, default=None))


def _rows(path: str) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Results with their calls, and file edits with None. Other lines are not decoded."""
    before = b""
    later = _named_later(path)
    with safeopen.reader(path) as file:
        for line in file:
            if _RESULT in line and (later or _EXIT in line or _FAILED in line):
                row, call = decode(line.rstrip(b"\n")), decode(before.rstrip(b"\n"))
                if row and call and row.get("call") and row.get("call") == call.get("call"):
                    yield {"exit": later.get(str(row["call"])), **row}, call
            elif b'"role":"assistant"' in line and any(mark in line for mark in _EDITED):
                row = decode(line.rstrip(b"\n"))
                if row and not _is_prose(str(row.get("text", ""))):
                    yield row, None
            before = line


def _named_later(path: str) -> dict[str, int]:
    """The exit statuses that a client reported after its hook had run, by call."""
    with safeopen.reader(path) as file:
        rows = [decode(line.rstrip(b"\n")) for line in file if _LATER in line]
    return {str(row["call"]): row["exit"] for row in rows if row and row.get("kind") == "exit"}


def _run(row: dict[str, Any], call: dict[str, Any], at: datetime, session: str, more: Collection[str]) -> Run | None:
    status = row.get("exit")
    known = isinstance(status, int) and not isinstance(status, bool)
    if not known and not row.get("failed"):
        return None
    line = command_of(str(call.get("text", "")))
    parts = checkruns.parts(line, more)
    if not parts:
        return None
    shown = " ".join(line.split())
    shown = shown if len(shown) <= MAX_LINE_CHARS else " && ".join(" ".join(part.words) for part in parts)
    return Run(line=shown[:MAX_LINE_CHARS], parts=parts, exit_status=status if known else None, at=at, session=session)


def command_of(call: str) -> str:
    """The command in a journalled call (:func:`holdfast_app.message_formats.leaves.call_text`), with its line
    breaks."""
    first, _, rest = call.partition("\n")
    for name in _ARGUMENTS:
        if rest.startswith(f"{name}:"):
            lines = rest[len(name) + 1 :].split("\n")
            while len(lines) > 1 and lines[-1].startswith(_OTHERS):
                lines.pop()
            return "\n".join(lines).strip()
    return first.partition(": ")[2]


def _is_prose(call: str) -> bool:
    return call.partition("\n")[0].partition(": ")[2].strip().lower().endswith(_PROSE)
