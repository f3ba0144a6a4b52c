"""Work that no client waits for: extraction by a model, and the dream, in a process of its own.

A hook begins it (:func:`begin`) and does not wait. Of several processes one works. ``holdfast status`` shows the
outcome.
"""

import os
from datetime import datetime
from typing import Final

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError
from holdfast.fs import safeopen
from holdfast.text.humanize import ago, count
from holdfast_app import background
from holdfast_app.base import Services
from holdfast_app.journal import journal

#: The file with the turns that wait for a model.
QUEUE: Final = "extract.jsonl"
#: The file with a proposal, see :mod:`holdfast_app.dream.dreamlog`.
_INBOX: Final = "dream.inbox.json"
#: Clients that can serve as the model -> their program.
CLIENTS: Final = {"claude-code": "claude", "codex": "codex", "opencode": "opencode"}


def begin(services: Services, *, goes_on: bool = False, flushed: bool = True) -> None:
    """Start processes for due work. ``flushed``: a note has just been written. ``goes_on``: its session does, and may
    correct what it said, so no dream begins. Never raises, because the next flush tries again."""
    from holdfast_app.dream import when  # a brief and most commands need only the sentences

    try:
        report = services.layout.name(Surface.REPORT, services.now().date())
        if not flushed and services.config.report.when == "daily" and services.store.read(report) is None:
            background.start(services.root, "report", "--morning", "--write")
        last = when.mark(services.state)
        is_due = services.config.dream.when == "auto" and not when.not_due(services, last)
        if is_due and not goes_on and (flushed or _is_newer(services, last.at)):
            background.start(services.root, "dream", "--if-due")
        elif services.waits(QUEUE) and has_model(services):
            background.start(services.root, *background.EXTRACT)
    except (HoldfastError, OSError):
        return


def _is_newer(services: Services, at: datetime | None) -> bool:
    """Whether a session's journal changed after ``at``, or at all."""
    since = at.timestamp() if at is not None else 0.0
    paths = journal.session_files(services.state)
    return any(safeopen.stat(path).st_mtime > since for path in paths if os.path.exists(path))


def has_model(services: Services) -> bool:
    """Whether a plugin is enabled that reads conversations later than the flush, as models do."""
    return not all(services.plugins.extractors().values())


def sentence(services: Services) -> str:
    """The last background run and the last dream, for people; empty when there was none."""
    from holdfast_app.dream import when
    from holdfast_app.facts.extraction.queue import last_run

    now, run, dreamt = services.now(), last_run(services), when.mark(services.state).at
    parts = []
    if run is not None:
        done = f"read {count(run.pieces, 'piece')} of conversation, {count(run.facts, 'fact')} added"
        done = done if run.facts or not run.problem else "was called"
        parts.append(f"A model {done} ({ago(run.at, now)}, {count(run.calls, 'call')} that day).")
        if run.ended is None:
            parts.append("That process still works, or was killed.")
        if run.problem:
            parts.append(run.problem)
    if dreamt is not None:
        parts.append(f"The last dream was {ago(dreamt, now)}.")
    return " ".join(filter(None, [*parts, proposed(services)]))


def proposed(services: Services) -> str:
    """A sentence that a proposal waits for a person; empty without one."""
    return "A proposal for MEMORY.md waits for the user: `holdfast dream review`." if services.waits(_INBOX) else ""


def lacks_model(services: Services, memory: str | None = None) -> str:
    """A sentence that memory is empty for want of a model, otherwise an empty string. :func:`model_step` is next.
    ``memory`` is MEMORY.md's text, if the caller has read it and found no fact."""
    if has_model(services) or not any(journal.session_files(services.state)):
        return ""
    if memory is None:
        document = services.store.read(services.layout.name(Surface.MEMORY))
        memory = document.text if document is not None else ""
        if next(iter(services.store.backend.facts()), None):
            return ""
    if "\n- " in f"\n{memory}":
        return ""
    return "Long-term memory is empty, and no model reads the conversations."


def model_step() -> str:
    """The step that gives memory a model, for the first client on PATH."""
    from shutil import which

    client = next((name for name, program in CLIENTS.items() if which(program)), "CLIENT")
    return f"`holdfast install {client} --model` lets that client's own login read them, redacted."
