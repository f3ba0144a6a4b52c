"""Pages for the list of sessions, one session with its turns and compactions, open work, ended work, and the outbox."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.config.serde import flushed_payload
from holdfast.journal import order
from holdfast.models import Message, turns_of
from holdfast_app.view import journals
from holdfast_app.view.journals import FIELDS, Passage, Story, items, quoted
from holdfast_app.view.project import Project
from holdfast_web.pages import Request, page
from holdfast_web.rendering import Renderer

#: Turns on one page, and compactions.
_TURNS: Final = 20
#: Dropped messages shown in full for one compaction, and characters of a message.
_DROPPED: Final = 60
_CHARS: Final = 6_000
_STATES: Final = ("all", "unsafe", "dirty", "safe")


def listed(project: Project, renderer: Renderer, request: Request) -> str:
    now = project.status()
    state = request.choice("state", _STATES)
    chosen = [session for session in now.sessions if state in ("all", session.state)]
    chosen.sort(key=lambda session: session.last_turn_at.timestamp() if session.last_turn_at else 0.0, reverse=True)
    chosen.sort(key=lambda session: session.state != "unsafe")
    counts = {name: sum(session.state == name for session in now.sessions) for name in _STATES[1:]}
    shown = page(chosen, request.text("page"))
    return renderer.page(
        "sessions",
        page=shown,
        titles=project.titles(session.id for session in shown.items),
        state=state,
        counts={"all": len(now.sessions), **counts},
    )


def show(project: Project, renderer: Renderer, request: Request) -> str:
    session = request.argument
    story = journals.story(project.services, session)
    status = next((status for status in project.status().sessions if status.id == session), None)
    passages = page(story.passages[::-1], request.text("flush"), size=5)
    turns = [turn.messages for turn in turns_of(order.as_said(story.messages))]
    wanted = request.text("turn")
    at = (number for number, turn in enumerate(turns) if any(message.id == wanted for message in turn))
    wanted = request.text("page") or str(next(at, len(turns) - 1) // _TURNS + 1)
    chosen = page(turns, wanted, size=_TURNS)
    messages = [message for turn in chosen.items for message in turn]
    shown = {message.id: message for message in _masked(project, messages)}
    days = project.services.config.retention.journal
    is_ending = bool(status is not None and status.ended and days)  # retention may remove the messages then
    return renderer.page(
        "session",
        here="sessions",
        title=f"Session {session}",
        session=session,
        heading=project.titles([session]).get(session, ""),
        incidents=project.cleaned(story.incidents, "why"),
        story=story,
        status=status,
        passages=passages,
        cards=[_card(project, story, passage) for passage in passages.items],
        turns=chosen,
        shown=[[shown[message.id] for message in turn] for turn in chosen.items],
        held={message.id for message in story.messages[story.kept_from :]},
        retention_days=days,
        gone_at=story.messages[-1].at + timedelta(days=days) if is_ending and story.messages else None,
    )


def _card(project: Project, story: Story, passage: Passage) -> dict[str, Any]:
    """A compaction for the template: saved items, dropped messages, and the receipt checked now."""
    payload = flushed_payload(passage.flushed) if passage.flushed else None
    dropped = [story.messages[number] for number in passage.dropped]
    marks = quoted(payload, dropped) if payload else [()] * len(dropped)
    saved = [(label, project.masked(*texts)) for label, texts in items(payload)] if payload else []
    now, problem = journals.check(project.services, passage, is_last=passage.number == len(story.passages))
    shown = _masked(project, dropped[:_DROPPED])
    # A retry keeps the first attempt's time.
    begin, later = passage.receipt.at, (other.receipt.at for other in story.passages if other.number > passage.number)
    end = next(later, datetime.max.replace(tzinfo=UTC))
    return {
        "passage": passage,
        "refused": sum(not incident.overridden and begin <= incident.at < end for incident in story.incidents),
        "receipt": passage.receipt,
        "saved": saved,
        "summary": "" if saved else project.masked(passage.receipt.summary)[0],
        "dropped": list(zip(shown, marks, strict=False)),
        "more": len(dropped) - len(shown),
        "quoted": sum(bool(mark) for mark in marks),
        "total": len(dropped),
        "written": list(zip(passage.receipt.written, now, strict=True)),
        "lost": now.count("missing"),
        "problem": project.masked(problem)[0] if problem else "",
        "warnings": project.masked(*passage.receipt.warnings),
        "overridden": project.masked(passage.overridden)[0],
        "published": project.masked(*(f"{record.target}: {record.pointer}" for record in passage.receipt.evidence)),
        "derived": [dict(FIELDS).get(name, name) for name in passage.receipt.derived],
    }


def _masked(project: Project, messages: Sequence[Message]) -> list[Message]:
    """The messages, masked and cut to a readable length."""
    # Also cut before masking, because a message can have megabytes. The cut is far after the shown part, so it splits
    # no mask.
    texts = project.masked(*(text for message in messages for text in (message.text[: 4 * _CHARS], message.tool)))
    masked = []
    for message, text, tool in zip(messages, texts[::2], texts[1::2], strict=True):
        shown = text if len(text) <= _CHARS else f"{text[:_CHARS]}\n… and more, of {len(message.text):,} characters"
        masked.append(evolve(message, text=shown, tool=tool))
    return masked


_ITEMS: Final = 20


def work(project: Project, renderer: Renderer, request: Request) -> str:
    chosen = request.choice("show", ("open", "all"))
    work = project.memory.work.list(everything=chosen == "all")
    return renderer.page(
        "work",
        page=page(work, request.text("page"), size=_ITEMS),
        chosen=chosen,
        withheld=project.services.store.withheld_in(project.services.layout.name(Surface.HANDOFF)),
    )


def outbox(project: Project, renderer: Renderer, request: Request) -> str:
    shown = page(project.memory.outbox.items(), request.text("page"), size=_ITEMS)
    items = project.cleaned(shown.items, "body", "error", "next_step", "target")
    return renderer.page("outbox", page=shown, items=items)
