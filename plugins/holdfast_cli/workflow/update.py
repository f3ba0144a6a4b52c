"""``holdfast update``: update the three-file memory now, outside of any workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.config.serde import unstructure
from holdfast_cli.command import SESSION, Answer, Call, Command, flag
from holdfast_cli.session_lookup import require_session
from holdfast_cli.workflow import updating

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_app.workflow.three import MemoryUpdate


@Command(
    "The three files",
    "update the memory now, outside of any workflow",
    SESSION,
    flag("--print-command", "print the text of the /memory-update command"),
    *updating.ARGUMENTS,
    examples=(
        'holdfast update --decision "use a lock" --gotcha "the clock is mocked"',
        "holdfast update --session fix-login",
        'echo \'{"open_questions": ["which zone?"]}\' | holdfast update --from -',
        "holdfast update --print-command > .opencode/command/memory-update.md",
    ),
    notes="--session adds that session's own statements: objective, decisions, blockers, next step and artifacts."
    "\nWaiting observations from `holdfast capture` are written, too.",
    caution=True,
)
def update(call: Call) -> Answer | int:
    """Update the files. Raises: NotFound; UsageError."""
    if call.args.print_command:
        from importlib.resources import files

        call.out.exact(files("holdfast_app.workflow").joinpath("memory-update.md").read_text(encoding="utf-8"))
        return 0
    given = updating.given(call.args)
    if call.args.session is not None:
        given = _with_session(call.memory, call.args.session, given)
    done = call.memory.update(given)
    return Answer(unstructure(done), lambda out: updating.show(out, done, "the memory is up to date"))


def _with_session(memory: Holdfast, session_id: str, given: MemoryUpdate) -> MemoryUpdate:
    """The update followed by the session's own statements, which are already redacted."""
    from attrs import evolve

    from holdfast.models import CuratedEntry, turns_of
    from holdfast_app.workflow.sections import Limits, line_of

    require_session(memory, session_id)
    results, _ = memory.services.plugins.on_extract(turns_of(memory.session(session_id).messages))
    drafts = [extraction.draft for _, extraction in results]
    limit = Limits().max_chars

    def said(strings: list[str | None]) -> tuple[CuratedEntry, ...]:
        lines = [line_of(text or "") for text in strings]
        clipped = [line if len(line) <= limit else line[: limit - 1].rstrip() + "…" for line in lines]
        return tuple(CuratedEntry(text=line) for line in clipped if line and line.casefold() != "none")

    return evolve(
        given,
        current_focus=(*given.current_focus, *said([d.objective for d in drafts])),
        decisions=(*given.decisions, *said([t for d in drafts for t in d.decisions or ()])),
        open_questions=(*given.open_questions, *said([t for d in drafts for t in d.blockers or ()])),
        next_steps=(*given.next_steps, *said([d.next_step for d in drafts])),
        evidence_links=(*given.evidence_links, *said([t for d in drafts for t in d.artifacts or ()])),
    )
