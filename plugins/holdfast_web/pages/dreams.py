"""The dream log, and one night's changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from holdfast.errors import NotFound
from holdfast_web.paging import page

if TYPE_CHECKING:
    from holdfast_app.dream.dreamlog import DreamResult
    from holdfast_app.view.project import Project
    from holdfast_web.pages.request import Request
    from holdfast_web.rendering import Renderer

_FILTERS: Final = ("changes", "all")
_RUNS: Final = 30
#: Maximum lines of a difference to show.
_DIFF: Final = 600
#: A run's lists with their labels. Each entry has its content and a reason.
_GONE: Final = (
    ("dropped", "Dropped"),
    ("merged", "Merged into others"),
    ("replaced", "Replaced by newer statements"),
    ("archived", "Moved to the archive"),
    ("refused", "Refused: not in the sources"),
    ("judged", "Accepted by the judge"),
    ("quoted", "Quoted from the sources instead"),
)


def log(project: Project, renderer: Renderer, request: Request) -> str:
    chosen = request.choice("show", _FILTERS)
    runs = [run for run in project.dreams() if chosen == "all" or run.status != "skipped"]
    shown = page(runs, request.text("page"), size=_RUNS)
    reasons = project.masked(*(run.reason for run in shown.items))
    return renderer.page(
        "dreams.html",
        here="dreams",
        title="Dreams",
        page=shown,
        runs=list(zip(shown.items, reasons, strict=True)),
        chosen=chosen,
        filters=_FILTERS,
    )


def show(project: Project, renderer: Renderer, request: Request) -> str:
    """One run. Raises: NotFound."""
    runs = project.dreams()
    at = next((number for number, run in enumerate(runs) if run.id == request.argument), -1)
    if at < 0:
        raise NotFound(f"There is no dream {request.argument!r}.", next_step="The page `Dreams` lists them.")
    run = runs[at]
    diff = project.masked(run.diff)[0].splitlines()
    lines = [(line.text, line.kept, line.sources) for line in run.lines]
    masked = project.masked(*(text for text, _, _ in lines))
    return renderer.page(
        "dream.html",
        here="dreams",
        title=f"Dream of {run.at.astimezone(project.zone):%Y-%m-%d}",
        run=run,
        newer=runs[at - 1] if at else None,
        older=runs[at + 1] if at + 1 < len(runs) else None,
        diff=[
            (_kind(line), line[1:] if _kind(line) != "place" else line) for line in diff[:_DIFF] if not _is_head(line)
        ],
        cut=max(0, len(diff) - _DIFF),
        gone=[(label, rows) for name, label in _GONE if (rows := _rows(project, run, name))],
        lines=[(text, kept, sources) for text, (_, kept, sources) in zip(masked, lines, strict=True)],
        reason=project.masked(run.reason)[0],
        warnings=project.masked(*run.warnings),
    )


def _rows(project: Project, run: DreamResult, name: str) -> list[tuple[str, str]]:
    gone = getattr(run, name)
    masked = project.masked(*(text for one in gone for text in (one.text, one.reason)))
    return list(zip(masked[::2], masked[1::2], strict=True))


def _is_head(line: str) -> bool:
    return line.startswith(("--- ", "+++ "))


def _kind(line: str) -> str:
    return {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "same")
