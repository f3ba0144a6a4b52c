"""``holdfast why``: where a line of memory or a fact comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.text.humanize import ago, count
from holdfast_app.view.memory_lines import NOTES_SEARCHED
from holdfast_app.view.origins import find
from holdfast_app.view.project import Project
from holdfast_cli.command import Answer, Call, Command, argument
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from holdfast_app.view.origins import Source, Trace


@Command(
    "Inspect",
    "show where a line of memory or a fact comes from, down to the turn that said it",
    argument(
        "what",
        nargs="+",
        metavar="LINE|FACT",
        help="a place like MEMORY.md:12 or memory/2026-11-02.md:31, a fact's id, or words that it contains",
    ),
    examples=(
        "holdfast why MEMORY.md:12",
        "holdfast why outbox instead of redis",
        "holdfast why fact_0a1b2c3d",
        "holdfast why memory/2026-11-02.md:31 --json",
    ),
    notes="If the words match several lines, it lists them. Turns are shown while the journals keep them.",
)
def why(call: Call) -> Answer:
    """The traces of all lines that match."""
    what = " ".join(call.args.what).strip()
    if not what:
        raise UsageError("`holdfast why` needs a line, a fact or words.", next_step="Write it like `MEMORY.md:12`.")
    project = Project(call.memory)
    found = find(project, what)

    def show(out: Term) -> None:
        if len(found) > 1 and not any(one.sources or one.history or one.first for one in found):
            out.say(f"{count(len(found), 'line')} and facts contain these words:\n")
            out.say(out.table([(one.place, one.text) for one in found]))
            out.say(f"\n  {out.dim('next:')} holdfast why {out.plain(found[0].place)}")
            return
        for number, one in enumerate(found):
            if number:
                out.say()
            _show(out, one, project.now(), project.zone)

    return Answer({"found": found}, show)


def _show(out: Term, one: Trace, now: datetime, zone: tzinfo | None) -> None:
    kind = f"  {out.dim(f'{one.category}, confidence {one.confidence:.2f}')}" if one.confidence is not None else ""
    out.say(f"{out.bold(out.plain(one.place))}{kind}")
    out.fill(one.text or "(its text is gone)")
    if one.first and one.last:
        said = f"first said {one.first.astimezone(zone):%Y-%m-%d}"
        if one.days > 1:
            said += f", last {one.last.astimezone(zone):%Y-%m-%d} ({ago(one.last, now)}), on {one.days} days"
        else:
            said += f" ({ago(one.first, now)})"
        out.say(f"\n  {said}{'; written by a dream' if one.dream else ''}")
    for source in one.sources:
        _source(out, source, zone)
    for event in one.history:
        what = f"replaced {event.id}" if event.by == one.place else f"{event.event}"
        because = f": {event.why}" if event.why else ""
        by = f", by {event.by}" if event.by and event.by != one.place else ""
        out.fill(f"{event.at.astimezone(zone):%Y-%m-%d} {what}{by}{because}", "  · ", "    ")
    if not one.sources and not one.history:
        told = f"None of the newest {NOTES_SEARCHED} notes says it." if ":" in one.place else "It was stored directly."
        out.say(f"\n  {out.mark('dot')} {told}")


def _source(out: Term, source: Source, zone: tzinfo | None) -> None:
    when = f", {source.at.astimezone(zone):%Y-%m-%d %H:%M}" if source.at else ""
    said = [f"session {source.session}{when}"] if source.session else []
    said += [f"by {out.plain(source.by)}"] if source.by else []
    out.say(f"\n  {out.style(out.plain(source.place), 'cyan')}  {out.dim(', '.join(said))}".rstrip())
    if source.text:
        out.fill(source.text, "    ")
    for turn in source.turns:
        head = f"    {out.dim(f'{turn.at.astimezone(zone):%Y-%m-%d %H:%M} {turn.role}:')} "
        out.fill(turn.text, head, "      ")
    if source.turns:
        turn = source.turns[0]
        out.say(f"    {out.dim(f'holdfast sessions show {out.plain(turn.session)} --around {out.plain(turn.id)}')}")
