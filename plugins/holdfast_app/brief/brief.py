"""Resume from files alone, without a provider, a transcript or pasted context.

A load reads the stored facts, the curated files, the three workflow protocol files if the project has them, the handoff
and the newest daily notes (today and yesterday, otherwise the latest). It does not read summaries or automation output,
because derived text must not become a source for its own sources.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import TypeVar

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.errors import Corrupt, must_be_whole
from holdfast.flush import handoff
from holdfast.fs import private
from holdfast.journal import safety
from holdfast.models import Fact, Receipt
from holdfast.storage import snapshot
from holdfast.text.plain import BOM
from holdfast.text.stored import duplicate_key
from holdfast_app import data_loss, upkeep
from holdfast_app.authorship.witness import Witness
from holdfast_app.base import THREE_FILES
from holdfast_app.brief import known
from holdfast_app.brief.fitting import Part, fitted
from holdfast_app.brief.resume import Brief, artifacts, resume
from holdfast_app.data_loss import Loss
from holdfast_app.journal.journal import Journal
from holdfast_app.printable import cut
from holdfast_app.records import handoffs, recalled
from holdfast_app.records.blocks import COMPARED, SAID, blocks
from holdfast_app.sentences.relation import Known, Relation
from holdfast_app.services import Services
from holdfast_app.trust import provenance
from holdfast_file import conflicts

R = TypeVar("R")

#: Note lines that a brief can omit. Rules that still hold are above.
_SAYS_NOTHING = re.compile(
    r"- (?:Facts|Decisions|State changes|Blockers|Next step|Promised follow-ups|Artifacts|Needed): none$"
    r"|- Rule: |curated memory changes: none$|<!-- (?:at=|by=|holdfast:(?:block|gone) )"
    r"|_(?:Derived from the session|Nothing was stated about)"
)
#: Block lines that the resume point repeats.
_IN_RESUME = re.compile(
    r"- (?:Fact|Rejected|Next step|Blocker|Promised|Needed|Artifact): |\*\*Objective:\*\* |Work is (?:open|closed)\.$"
)
#: Lines about the state of work, which a later block of the same session replaces.
_OF_STATE = re.compile(r"- (?:Next step|Promised|Blocker): |Work is (?:open|closed)\.$")
_SHORT = "\n… {out} of {all} lines not shown, the least confirmed and oldest: `holdfast show {name}`"
#: The blank lines in place of withheld passages.
_GAP = re.compile(r"\n{3,}")
#: A block of a note; its stamp, unless it is a summary; its artifacts.
_BLOCKS = re.compile(r"^(?=## )", re.MULTILINE)
_STAMP = re.compile(r"^<!-- at=\S+ session=(?P<session>.+?) reason=(?!summary\b)", re.MULTILINE)
_ARTIFACTS = re.compile(r"(?:^- Artifact: .*\n)+", re.MULTILINE)
#: Characters shown of a sentence that may have ended a line.
_DOUBT = 160
#: A block's commits, and how many of them the resume point shows.
_COMMITS = re.compile(r"^Commits:\n((?:- .*\n?)+)", re.MULTILINE)
_LAST_COMMITS = 3
#: A heading without text, in a note and in the memory, whose title is one, too.
_EMPTY = re.compile(r"^### .*\n+(?=##|\Z)", re.MULTILINE)
_EMPTY_IN_MEMORY = re.compile(r"\A# .*\n+(?=(?:## .*\n+)*\Z)|^## .*\n+(?=## |\Z)", re.MULTILINE)
_BLOCK = re.compile(r"^<!-- holdfast:block id=(\S+) -->$", re.MULTILINE)


@snapshot()  # few round trips to a server
def load(services: Services, *, max_chars: int | None = None, session: str = "") -> Brief:
    """See :meth:`holdfast.Holdfast.load`."""
    if max_chars is not None:
        must_be_whole(max_chars, "max_chars", 1)
    receipts = data_loss.newest_receipts(services)
    fixed = [services.layout.name(surface) for surface in (Surface.HANDOFF, Surface.MEMORY, Surface.USER, *THREE_FILES)]
    handoff_name, memory_name, user_name, *protocol = fixed
    reading = _Reading(services, [*fixed, *_near(services)], data_loss.documents(services, receipts))
    session = services.gate.identifier(session) if session != "" else ""
    held = reading.text(handoff_name)
    entries, torn = reading.work(held, handoff_name)
    memory, user = known.current(services, reading.text(memory_name)), reading.text(user_name)
    files = tuple((name, text) for name in protocol if (text := reading.text(name)))
    days = _newest_notes(services, reading)
    waiting = ""
    if services.waits(private.SPOOL):
        spooled = services.spool.unshipped()
        days, entries, waiting = spooled.notes(days), spooled.work(entries), spooled.sentence
    work, closed = _open_and_closed(entries, days, session)
    standing = ((user_name, user), (memory_name, memory), *files)
    lost = _losses(services, reading, receipts, ((handoff_name, torn), *standing, *days))
    facts = known.chosen(services, reading.facts, max_chars, work[0].facts if work else ())
    read = [name for name, text in ((handoff_name, held), (memory_name, memory), (user_name, user)) if text]
    brief = Brief(
        work=work,
        memory=memory,
        user=user,
        notes=days,
        unsafe=tuple(safety.all_unsafe(services.state)),
        pointers=tuple(services.store.backend.where(name) for name in (*read, *dict(files), *dict(days))),
        text="",
        files=files,
        withheld=provenance.sentence(reading.withheld, facts=len(services.store.withheld_facts()), names=True),
        lost=lost,
        spooled=waiting,
        facts=tuple(facts.lines.values()),
        rules=tuple(dict.fromkeys(rule for entry in entries for rule in entry.rules[::-1])),
    )
    return evolve(brief, text=_text(services, brief, reading, closed, facts, torn, session, max_chars))


def _text(
    services: Services,
    brief: Brief,
    reading: _Reading,
    closed: handoff.Work | None,
    facts: known.Known,
    torn: str,
    session: str,
    max_chars: int | None,
) -> str:
    """The brief as a reader sees it, up to ``max_chars``. ``torn`` is a handoff with both sides of a merge."""
    handoff_name, memory_name, user_name = map(services.layout.name, (Surface.HANDOFF, Surface.MEMORY, Surface.USER))
    work, days = brief.work, brief.notes
    ruled = {f"- {rule}" for rule in brief.rules}  # they are at the top; a purge leaves headings without text
    memory = _EMPTY_IN_MEMORY.sub("", "\n".join(line for line in brief.memory.split("\n") if line not in ruled))
    commits = _commits(days, next((entry.flush for entry in (*work, closed) if entry), ""))
    stored = {duplicate_key(fact.content) for fact in reading.facts}
    first, shown = resume(services, brief, closed, commits, stored, session=session, max_chars=max_chars)
    lacks = ""
    has_facts = reading.facts or brief.withheld
    if not has_facts and not (session and Journal(services.state, session).exists()):  # once, at a session's start
        lacks = upkeep.lacks_model(services, brief.memory)
    hints = (f"{lacks} {upkeep.model_step()}" if lacks else "", upkeep.proposed(services))
    first = "\n\n".join(filter(None, (first, *hints)))
    past, later = _past(days), set[str]()
    condensed = [(name, _condensed(text, shown, later, past, facts.lines)) for name, text in days[::-1]]
    newest = session or next((entry.session for entry in (*work, closed) if entry), "")
    last, others = known.newest(services, newest, max_chars or 0, [first, *(text for _, text in condensed)])
    dated = partial(_dated, services)
    parts = [
        Part(name=recalled.RULES, text=known.ruled(brief.rules, max_chars), rank=-1, dated=dated),
        Part(name="", text=first, rank=0, share=0.6),
        Part(name=known.LAST.format(session=newest), text=last, rank=1, share=0.3, optional=True),
        Part(name=recalled.FACTS, text=facts.text(), rank=1),
        *(Part(name=name, text=text, rank=4) for name, text in ((handoff_name, torn), (user_name, brief.user))),
        Part(
            name=memory_name,
            text=memory,
            rank=3,
            share=0.7,
            shortened=lambda room: _shortened(memory, memory_name, room, services.state),
            dated=dated,
        ),
        *(Part(name=name, text=text, rank=4) for name, text in brief.files),
        *(Part(name=name, text=text, rank=2, share=0.5, newest=True) for name, text in condensed),
        Part(name=known.OTHERS.format(session=newest), text=others, rank=5, optional=True),
        Part(name=known.ASK, text=_asked(brief, closed) if session else "", rank=4, optional=True),
    ]
    return fitted(parts, facts, max_chars, Witness(services).is_own)


def _asked(brief: Brief, closed: handoff.Work | None) -> str:
    notes = [text for _, text in brief.notes[::-1]]
    is_rejected = any(work.rejected for work in (*brief.work, closed) if work) or "- Rejected: " in "".join(notes)
    is_blocked = any(blocker.casefold() != "none" for work in brief.work for blocker in work.blockers)
    return known.questions(brief.memory, notes, rejected=is_rejected, blocked=is_blocked, ruled=bool(brief.rules))


def _shortened(text: str, name: str, chars: int, state: str) -> str:
    """A longer MEMORY.md in at most ``chars`` characters, as its newest and most confirmed items in their order;
    unchanged when not even one fits."""
    from holdfast_app.dream import confirmed, memorytext  # most memories fit

    memory = memorytext.read(text, prose_is_item=True)
    items = memory.items
    chars -= len(_SHORT) + len(name) + 10 + len(memory.title)
    stay: set[int] = set()
    headings = {""}
    for at in confirmed.ordered(confirmed.load(state), [item.text for item in items]):
        item = items[at]
        size = len(item.text) + 3 + (0 if item.heading in headings else len(item.heading) + 6)
        if size <= chars:
            chars -= size
            stay.add(at)
            headings.add(item.heading)
    if not stay:
        return text
    note = _SHORT.format(out=len(items) - len(stay), all=len(items), name=name)
    return evolve(memory, items=[items[at] for at in sorted(stay)]).render().rstrip("\n") + note


def _dated(services: Services, body: str) -> str:
    """Rules or curated memory with the day on which each line was last said, and what the user said later that may have
    ended it."""
    from holdfast_app.dream import confirmed
    from holdfast_app.facts.rejected import key_of

    record, tz = confirmed.load(services.state), services.config.tz
    lines = body.split("\n")
    for at, line in enumerate(lines if record else ()):
        confirmation = record.get(key_of(line.removeprefix("- ")))
        if confirmation is None:
            continue
        about = [f"{confirmation.last.astimezone(tz):%Y-%m-%d}"] if confirmation.is_said else []
        if since := confirmation.since:
            about += [f'later, {since.astimezone(tz):%Y-%m-%d}: "{cut(confirmation.doubt, _DOUBT)}"']
        lines[at] = f"{line} ({'; '.join(about)})" if about else line
    return "\n".join(lines)


def _open_and_closed(
    entries: Sequence[handoff.Work], days: Sequence[tuple[str, str]], session: str
) -> tuple[tuple[handoff.Work, ...], handoff.Work | None]:
    """The open work, that of ``session`` first, and the newest closed entry, if it comes before. A project whose work
    always closed has no handoff, so the newest note shows the last work."""
    entries = sorted(entries, key=lambda entry: entry.session != session)
    work = tuple(entry for entry in entries if entry.is_open)
    closed = next((entry for entry in entries[: 1 if work else None] if not entry.is_open), None)
    if work or closed or not days:
        return work, closed
    name, text = days[-1]
    last = next((block for block in reversed(list(blocks(text))) if block.objective), None)
    if last is None:
        return (), None
    done = handoff.Work(session=last.session, flush=last.id, note=name, objective=last.objective)
    return (), handoff.closed(evolve(done, artifacts=last.items("Artifact"), rejected=last.items("Rejected")))


def _commits(days: Sequence[tuple[str, str]], flush: str) -> list[str]:
    """The last commits that the note of ``flush`` lists."""
    block = next((there for _, text in days for there in blocks(text) if there.id == flush), None)
    listed = _COMMITS.search(block.text) if block else None
    return [line.removeprefix("- ") for line in listed[1].splitlines()[-_LAST_COMMITS:]] if listed else []


def _losses(
    services: Services, reading: _Reading, receipts: Sequence[Receipt], texts: Iterable[tuple[str, str]]
) -> tuple[Loss, ...]:
    """State kept elsewhere, unresolved merges in ``texts``, damaged documents, and what the newest receipts lack."""
    merges = (conflicts.described(name, text) for name, text in texts)
    return (
        *data_loss.apart(services.root, services.state),
        *(Loss(kind="conflict", name="", message=problem, next_step=conflicts.FIX) for problem in merges if problem),
        *reading.damaged.values(),
        *(loss for loss in data_loss.newest(services, reading.contents, receipts) if loss.name not in reading.damaged),
    )


class _Reading:
    """Reads each document once, masked; those in ``names`` and ``checked`` together. ``withheld`` counts the passages
    left out by document; ``contents`` maps their names to the stored text."""

    def __init__(self, services: Services, names: Sequence[str], checked: Sequence[str]) -> None:
        self._services = services
        self.withheld: dict[str, int] = {}
        self.damaged: dict[str, Loss] = {}
        #: The stored facts, in order of insertion; without withheld ones and damaged ones.
        self.facts: list[Fact] = []
        store = services.store
        try:
            fetched = store.fetch([*names, *checked], listing=True)
            self._stored, self.facts = dict(fetched.documents), fetched.facts
        except Corrupt:  # intact documents are shown all the same
            self._stored = {name: self._try(name, partial(store.read, name)) for name in names}
            listed = self._try(data_loss.facts_name(services), lambda: list(store.backend.facts()))
            self.facts = list(store.readable_facts()) if listed is None else listed
        self.facts = store.known_facts(self.facts)

    @property
    def contents(self) -> dict[str, str | None]:
        stored = self._stored.items()
        return {name: document.text if document else None for name, document in stored if name not in self.damaged}

    def _try(self, name: str, read: Callable[[], R]) -> R | None:
        """The result, or None when the document ``name`` is damaged."""
        try:
            return read()
        except Corrupt as error:
            self.damaged[name] = Loss(kind="damaged", name=name, message=error.message, next_step=error.next_step)
            return None

    def work(self, text: str, name: str) -> tuple[tuple[handoff.Work, ...], str]:
        """The entries, open and closed, and the handoff text if a git merge left both sides in it. Of a damaged
        handoff, the whole entries and the open work of the last receipts."""
        versions = conflicts.sides(text)

        def parsed() -> dict[str, handoff.Work]:
            entries: dict[str, handoff.Work] = {}
            for version in filter(None, dict.fromkeys(versions)):
                for work in handoff.parse(version, name):
                    entries.setdefault(work.session, work)
            return entries

        if name not in self.damaged and (read := self._try(name, parsed)) is not None:
            return tuple(read.values()), text if versions[0] != versions[1] else ""
        salvaged = (*data_loss.open_work(self._services), *handoffs.salvaged(text))
        return tuple(handoffs.newest({work.session: work for work in salvaged}.values())), ""

    def text(self, name: str) -> str:
        """The document's text, without an editor's byte-order mark and withheld passages; empty when it is missing."""
        if name not in self._stored:
            self._stored[name] = self._try(name, partial(self._services.store.read, name))
        document = self._stored[name]
        if document is None:
            return ""
        sifted = self._services.store.sifted(document)
        if sifted.withheld:
            self.withheld[name] = len(sifted.withheld)
        shown = self._services.recalled_from(document)
        text = shown.text.removeprefix(BOM) if shown else ""
        return _GAP.sub("\n\n", text) if sifted.withheld else text


def _near(services: Services) -> list[str]:
    """The names of yesterday's and today's notes: by name, so that a directory here is an error, not skipped."""
    today = services.now().date()
    return [services.layout.name(Surface.DAILY, day) for day in (today - timedelta(days=1), today)]


def _newest_notes(services: Services, reading: _Reading) -> tuple[tuple[str, str], ...]:
    """Names and contents of today's and yesterday's notes, oldest first; if both are missing, of the latest earlier
    day. Withheld notes are left out."""
    layout = services.layout
    near = [(name, reading.text(name)) for name in _near(services)]
    if any(text or name in reading.withheld for name, text in near):
        return tuple((name, text) for name, text in near if text)
    names = services.store.backend.names(layout.prefix(Surface.DAILY))
    days = {day: name for name in names if (day := layout.day_of(Surface.DAILY, name)) is not None}
    latest = days[max(days)] if days else ""
    return ((latest, text),) if latest and (text := reading.text(latest)) else ()


def _past(days: Iterable[tuple[str, str]]) -> set[str]:
    """The statements and quotations in notes that a newer block's statement replaces."""
    past, known = set[str](), Known[str]()
    statements = [
        [(match["label"], match["text"]) for line in block.splitlines() if (match := SAID.match(line))]
        for _, text in days
        for block in _BLOCKS.split(text)
    ]
    surplus = max(0, sum(map(len, statements)) - COMPARED)
    labelled = [number for number, block in enumerate(statements) if any(label for label, _ in block)]
    last = labelled[-1] if labelled else -1  # what follows replaces nothing
    for number, block in enumerate(statements[: last + 1]):
        newest, surplus = block[surplus:], max(0, surplus - len(block))
        related = [known.related(text) for label, text in newest if label]
        past |= {old for pairs in related for old, how in pairs if how is not Relation.SAME}
        past -= {text for label, text in newest if label}
        for _, text in newest if number < last else ():
            known.add(text, text)
    return past


def _condensed(
    text: str, shown: Collection[str], later: set[str], past: Collection[str], facts: Collection[str]
) -> str:
    """A note without "none" lines, block stamps, empty headings and the ``facts`` that have a section; with one line
    for a block's artifacts. If a block's flush is in ``shown``, the lines that the resume point repeats are left out.

    ``later`` holds the sessions of newer notes, and receives this note's. An older block is without its session's
    former state, and without the ``past`` statements.
    """
    condensed: list[str] = []
    for block in reversed(_BLOCKS.split(text)):
        stamp, mark = _STAMP.search(block), _BLOCK.search(block)
        session = stamp["session"] if stamp else ""
        hidden = [_SAYS_NOTHING]
        hidden += [_OF_STATE] if session in later else []
        hidden += [_IN_RESUME] if mark and mark[1] in shown else []
        later |= {session} - {""}
        lines: list[str] = []
        for line in block.splitlines():
            statement = SAID.match(line)
            is_shown = statement and statement["label"] == "Fact" and duplicate_key(statement["text"]) in facts
            if not (is_shown or (statement and statement["text"] in past) or any(form.match(line) for form in hidden)):
                lines.append(line)
        condensed.append("\n".join([*lines, ""]))

    def in_one_line(match: re.Match[str]) -> str:
        return artifacts([line.removeprefix("- Artifact: ") for line in match[0].splitlines()]) + "\n"

    text = _ARTIFACTS.sub(in_one_line, "".join(reversed(condensed)))
    return _GAP.sub("\n\n", _EMPTY.sub("", text)).strip("\n")
