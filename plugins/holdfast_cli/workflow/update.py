"""``holdfast update``: update the three-file memory now, outside of any workflow."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast_cli.args import add_json, add_session, examples
from holdfast_cli.problem import caution
from holdfast_cli.terminal import Term
from holdfast_cli.workflow import updating

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_app.workflow.three import MemoryUpdate

#: The help heading for the command, and its summary line.
HEADING = "The three files"
SUMMARY = "update the memory now, outside of any workflow"


def configure(parser: ArgumentParser) -> None:
    add_session(parser)
    parser.add_argument("--print-command", action="store_true", help="print the text of the /memory-update command")
    updating.add_arguments(parser, no_change=False)
    add_json(parser)
    parser.epilog = (
        examples(
            'holdfast update --decision "use a lock" --gotcha "the clock is mocked"',
            "holdfast update --session fix-login",
            'echo \'{"open_questions": ["which zone?"]}\' | holdfast update --from -',
            "holdfast update --print-command > .opencode/command/memory-update.md",
        )
        + "\n\n--session adds that session's own statements: objective, decisions, blockers, next step and artifacts."
        "\nWaiting observations from `holdfast capture` are written, too."
    )


def run(args: Namespace) -> int:
    out = Term()
    if args.print_command:
        from importlib.resources import files

        out.exact(files("holdfast_app.workflow").joinpath("memory-update.md").read_text(encoding="utf-8"))
        return 0
    from holdfast import Holdfast

    given = updating.given(args)
    with Holdfast.open(args.root) as memory:
        caution(memory.services.notices)
        if args.session is not None:
            given = _with_session(memory, args.session, given)
        done = memory.update(given)
    updating.show(out, done, "the memory is up to date", as_json=args.json)
    return 0


def _with_session(memory: Holdfast, session_id: str, given: MemoryUpdate) -> MemoryUpdate:
    """The update followed by the session's own statements, which are already redacted."""
    from attrs import evolve

    from holdfast.models import CuratedEntry, turns_of
    from holdfast_app.workflow.sections import Limits, line_of
    from holdfast_cli.session_lookup import require_session

    require_session(memory, session_id)
    results, _ = memory.services.plugins.on_extract(turns_of(memory.session(session_id).messages))
    drafts = [extraction.draft for _, extraction in results]

    limit = Limits().max_chars

    def said(texts: list[str | None]) -> tuple[CuratedEntry, ...]:
        lines = [line_of(text or "") for text in texts]
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
