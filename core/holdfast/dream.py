"""The dream: daily notes consolidated into MEMORY.md, checked and not trusted.

    notes of the window -> due? new? -> on_dream -> items -> gate, line by line -> loss guard
    -> backup -> diary -> MEMORY.md by compare-and-swap -> mark of what was dreamt of

A process that dies on the way leaves the old MEMORY.md or the new one, whole; the mark comes last, so the next run
does again what was not finished. Daily notes are read and never written. Every run leaves a record
(:mod:`holdfast.dreamlog`), the skipped and the failed ones too.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from attrs import define, evolve, field

from holdfast import diary, dreamlog, dreamtext, durable, paths, private
from holdfast.dreamlog import Backup, DreamResult, Gone, Mark, Proposal, Status, Supported
from holdfast.errors import BadValue, Conflict, HoldfastError, Refused, Unavailable
from holdfast.facts import duplicate_key
from holdfast.layout import Surface
from holdfast.models import DreamSources
from holdfast.storage import ABSENT, block_marker, sha256

if TYPE_CHECKING:
    from types import EllipsisType

    from holdfast.services import Services

logger = logging.getLogger(__name__)

#: A dream that would lose more than half of so many items or more is refused unless forced. Source: reading A32.
GUARDED_ITEMS: Final = 10
#: So long a run waits for another one; then that one is the dream of this period, in seconds.
WAIT_S: Final = 2.0
#: After a failed run the next automatic one waits so long.
RETRY_AFTER: Final = timedelta(hours=1)
_NAMED_SUPPORTS = 5
#: From this score of :func:`holdfast.grounding.ground` on, an old item counts as merged into the new one.
_SAYS_THE_SAME = 0.5


class NotApplied(HoldfastError):
    """A dream ended without changing anything; the message says why."""


class _Skip(HoldfastError):
    """There is nothing to do."""


class _Edited(HoldfastError):
    """Somebody changed MEMORY.md while the dreamer was thinking."""


def deep_dream(
    services: Services,
    lookback_days: int | EllipsisType = ...,
    *,
    dry_run: bool = False,
    force: bool = False,
    if_due: bool = False,
) -> DreamResult:
    """See :meth:`holdfast.Holdfast.deep_dream`."""
    days = services.config.dream.lookback_days if lookback_days is ... else lookback_days
    if isinstance(days, bool) or not isinstance(days, int):
        raise BadValue("lookback_days", f"must be a whole number, not {days!r}", next_step="Say how many days.")
    if days < 0:
        raise BadValue("lookback_days", f"must not be negative, and is {days}", next_step="Say how many days.")
    run = _Run(services=services, days=days, dry_run=dry_run, force=force, if_due=if_due)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(lock(services, timeout_s=WAIT_S))
        except Unavailable as error:
            run.end(Status.SKIPPED, f"Another run is under way: {error.message}", error.next_step)
        else:
            run.go()
    dreamlog.record(services.state, run.result)
    return run.result


def lock(services: Services, *, timeout_s: float = 10.0) -> durable.Lock:
    """Held by whoever dreams, undoes or reviews. Raises: Unavailable."""
    private.make(services.state)
    return durable.lock(services.private("dream.lock"), timeout_s=timeout_s)


def is_due(services: Services) -> bool:
    """Whether an automatic dream would do something now: enough time went by and the notes say something new. Cheap,
    and it changes nothing. Raises: Corrupt, Unavailable."""
    notes = window(services, services.config.dream.lookback_days)
    mark = dreamlog.mark(services.state)
    if not notes or _not_due(services, mark):
        return False
    waiting = dreamlog.proposal(services.state)
    return digest_of(notes) not in (mark.digest, waiting.digest if waiting else "")


# --- the notes -------------------------------------------------------------------------------------------------


def window(services: Services, days: int) -> list[tuple[date, str, str]]:
    """The notes of the last ``days`` calendar days, today included, oldest first, as (day, name, text). Notes with no
    text beyond their title are left out. Source: readings A25, A26."""
    today = services.now().date()
    found = []
    for name in services.store.backend.names(services.layout.prefix(Surface.DAILY)):
        day = services.layout.day_of(Surface.DAILY, name)
        if day is None or not 0 <= (today - day).days < days:
            continue
        document = services.store.read(name)
        if document is not None and _content(document.text):
            found.append((day, name, document.text))
    return sorted(found)


def _content(text: str) -> str:
    lines = text.removeprefix("\ufeff").strip().splitlines()
    return "\n".join(lines[1:] if lines and lines[0].startswith("# ") else lines).strip()


def digest_of(notes: Sequence[tuple[date, str, str]]) -> str:
    """A digest of the days and bytes of the notes. Source: reading A27."""
    digest = hashlib.sha256()
    for day, _, text in notes:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(f"{day.isoformat()} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def _not_due(services: Services, mark: Mark) -> str:
    """Why an automatic dream has to wait; empty when it is due. A time in the future (the clock went back) counts as
    none: it would block for ever."""
    now = services.now()
    for last, wait, what in (
        (mark.at, timedelta(hours=services.config.dream.every_hours), "dream"),
        (mark.tried, RETRY_AFTER, "failed try"),
    ):
        if last is not None and last <= now < last + wait:
            return f"It is not due: the last {what} was at {last:%Y-%m-%d %H:%M}."
    return ""


# --- one run ---------------------------------------------------------------------------------------------------


@define(kw_only=True)
class _Run:
    services: Services
    days: int
    dry_run: bool
    force: bool
    if_due: bool
    result: DreamResult = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.result = DreamResult(
            id=new_id(),
            at=self.services.now(),
            status=Status.BEGUN,
            lookback_days=self.days,
            dry_run=self.dry_run,
        )

    def note(self, **changes: object) -> None:
        self.result = evolve(self.result, **changes)  # type: ignore[arg-type]

    def end(self, status: Status, reason: str = "", next_step: str = "") -> None:
        self.note(status=status, reason=told(self.services, reason), next_step=told(self.services, next_step))

    def go(self) -> None:
        try:
            self._go()
        except _Skip as skip:
            self.end(Status.SKIPPED, skip.message, skip.next_step)
        except HoldfastError as error:
            self._failed(error.message, error.next_step)
        except Exception as error:  # a gate: whatever went wrong, it is recorded and nothing changes
            logger.debug("a dream failed", exc_info=True)
            self._failed(f"Something unforeseen happened: {type(error).__name__}.", "Run `holdfast doctor`.")

    def _failed(self, reason: str, next_step: str) -> None:
        logger.warning("a dream failed")
        self.end(Status.FAILED, reason, next_step)
        if not self.dry_run:
            with contextlib.suppress(HoldfastError):
                mark = dreamlog.mark(self.services.state)
                dreamlog.set_mark(self.services.state, evolve(mark, tried=self.services.now()))

    def _go(self) -> None:
        services, settled = self.services, self.services.config.dream
        if self.days == 0:
            raise _Skip("It looks back at no day.")
        mark = dreamlog.mark(services.state)
        if self.if_due and not self.force and (why := _not_due(services, mark)):
            raise _Skip(why)
        notes = window(services, self.days)
        if sum(len(_content(text)) for _, _, text in notes) < settled.min_chars:
            raise _Skip("No recent daily note has content.")
        digest = digest_of(notes)
        if not self.force:
            if digest == mark.digest:
                raise _Skip("The notes are those of the last dream.", next_step="`--force` dreams of them again.")
            waiting = dreamlog.proposal(services.state)
            if waiting is not None and waiting.digest == digest:
                raise _Skip(
                    "A dream of these notes waits for review.", next_step="Look at it: `holdfast dream review`."
                )
        self.note(plugin=self._dreamer())
        dreamlog.record(services.state, self.result)
        for _ in range(2):
            try:
                self._dream(notes, digest)
            except _Edited:
                continue
            return
        raise NotApplied(
            "MEMORY.md was edited twice while it was being dreamt of.", next_step="Dream again when nobody edits it."
        )

    def _dreamer(self) -> str:
        named, names = self.services.config.dream.plugin, self.services.dispatch.dreamers()
        if named and named not in names:
            raise NotApplied(
                f"The plugin {named!r} of `[dream] plugin` is not loaded, or does not dream.",
                next_step=f"Name one of these: {', '.join(names) or 'none is loaded'}.",
            )
        if not names:
            raise NotApplied("No plugin dreams.", next_step="Enable `[plugins.offline]`, or a model.")
        return named or names[0]

    def _dream(self, notes: Sequence[tuple[date, str, str]], digest: str) -> None:
        services = self.services
        name = services.layout.name(Surface.MEMORY)
        document = services.store.read(name)
        old = self._masked(Surface.MEMORY, name, document.text if document else "")
        sources = self._sources(name, old, notes)
        draft = services.dispatch.on_dream(DreamSources(memory=old, notes=sources[1:]), only=self.result.plugin)
        if draft is None:
            raise NotApplied(f"The plugin {self.result.plugin!r} had nothing to say.")
        new = self._checked(draft.memory, name, old, sources)
        self._compare(old, new, sources)
        diff = "".join(_diff(old, new, name))
        self.note(diff=diff)
        self._guard(old, new)
        story = self._story(draft.diary)
        if self.dry_run:
            self.end(Status.PROPOSED, "This was a trial: nothing was written.")
            return
        base = document.revision if document else ABSENT
        again = services.store.read(name)
        if (again.revision if again else ABSENT) != base:
            raise _Edited(name)
        proposal = Proposal(result=self.result, name=name, text=new, base=base, digest=digest, diary=story)
        if services.config.dream.apply == "propose" and diff:
            self.end(Status.PROPOSED, "It waits for review.", "`holdfast dream review`")
            dreamlog.propose(services.state, evolve(proposal, result=self.result))
            return
        try:
            self.result = apply(services, proposal)
        except Conflict as error:
            raise _Edited(error.message) from error

    def _masked(self, surface: Surface, name: str, text: str) -> str:
        """What a model may see of a stored text: a person may have written a secret into it by hand."""
        if not text:
            return text
        return self.services.gate.admit(text, surface=surface, name=name, previous=text, verbatim=True)

    def _sources(self, name: str, old: str, notes: Sequence[tuple[date, str, str]]) -> tuple[tuple[str, str], ...]:
        """MEMORY.md and the newest notes that fit, oldest first."""
        room = self.services.config.dream.max_chars - len(old)
        taken: list[tuple[str, str]] = []
        left: list[str] = []
        for _, note, text in reversed(notes):
            room -= len(text)
            if room < 0:
                left.insert(0, note)
            else:
                taken.insert(0, (note, self._masked(Surface.DAILY, note, text)))
        if not taken:
            raise NotApplied(
                f"MEMORY.md and the newest note are longer than {self.services.config.dream.max_chars:,} characters.",
                next_step="Raise `[dream] max_chars`, or shorten MEMORY.md.",
            )
        self.note(read=(name, *(note for note, _ in taken)), left_out=left)
        return ((name, old), *taken)

    def _checked(self, draft: str, name: str, old: str, sources: tuple[tuple[str, str], ...]) -> str:
        """The draft as it may be stored. Raises: NotApplied, Refused, PluginError."""
        services = self.services
        before = dreamtext.read(old, prose_is_item=True)
        known = {duplicate_key(item.text) for item in before.items}
        wanted = dreamtext.read(draft)
        refused = [Gone(text=text, reason="not an item") for text in wanted.prose]
        items, seen = [], set[str]()
        for item in wanted.items:
            key = duplicate_key(item.text)
            if key in seen:
                continue
            seen.add(key)
            if key not in known and len(item.text.split()) < 2 and item.text.isascii():
                refused.append(Gone(text=item.text, reason="one word says nothing"))
            else:
                items.append(item)
        text = evolve(wanted, items=items).render(before.title or dreamtext.TITLE)
        room = max(sum(len(text) for _, text in sources), len(old)) + len(dreamtext.TITLE) + 100
        limit = min(room, services.config.dream.max_memory_chars)
        if len(text) > limit:
            raise NotApplied(
                f"The new MEMORY.md would have {len(text):,} characters, more than {limit:,}.",
                next_step="A memory is shorter than what it was made from; `[dream] max_memory_chars` bounds it too.",
            )
        # What a person wrote by hand and the dreamer kept stays, whatever a validator says of it.
        previous = before.render() if before.items else None
        text, gone = services.gate.sift(text, surface=Surface.MEMORY, name=name, sources=sources, previous=previous)
        refused += [Gone(text=line.removeprefix("- "), reason=f"{f.message} ({f.rule})") for line, f in gone]
        self.note(refused=self._admitted(refused))
        left = dreamtext.read(text)
        if not left.items:
            raise NotApplied("Nothing of the draft can be used: no item is left.", next_step="See what was refused.")
        return left.render(before.title or dreamtext.TITLE)

    def _compare(self, old: str, new: str, sources: tuple[tuple[str, str], ...]) -> None:
        """Tell what became of every line, with the evidence for it."""
        from holdfast.grounding import ground

        before, after = dreamtext.read(old, prose_is_item=True), dreamtext.read(new)
        known = {duplicate_key(item.text) for item in before.items}
        grounded = ground([f"- {item.text}" for item in after.items], sources)
        lines: list[Supported] = []
        taken_up: dict[int, str] = {}  # line of MEMORY.md -> the new item that says it
        for item, found in zip(after.items, grounded, strict=True):
            kept = duplicate_key(item.text) in known
            supports = sorted(found.supports, key=lambda s: -s[2])
            named = tuple(f"{document}:{line}" for document, line, _ in supports[:_NAMED_SUPPORTS])
            lines.append(Supported(text=item.text, sources=named, kept=kept))
            for document, line, score in supports:
                if document == sources[0][0] and score >= _SAYS_THE_SAME:
                    taken_up.setdefault(line, item.text)
        now = {duplicate_key(item.text) for item in after.items}
        gone = [item for item in before.items if duplicate_key(item.text) not in now]
        merged = [i for i in gone if i.line in taken_up]
        refused = {duplicate_key(one.text): one.reason for one in self.result.refused}
        self.note(
            lines=lines,
            kept=[line.text for line in lines if line.kept],
            added=[line.text for line in lines if not line.kept],
            merged=self._admitted([Gone(text=i.text, reason=f"now in: {taken_up[i.line]}") for i in merged]),
            dropped=self._admitted(
                [
                    Gone(text=i.text, reason=refused.get(duplicate_key(i.text), "left out by the dream"))
                    for i in gone
                    if i.line not in taken_up
                ]
            ),
        )

    def _guard(self, old: str, new: str) -> None:
        before = {duplicate_key(i.text) for i in dreamtext.read(old, prose_is_item=True).items}
        count = len(dreamtext.read(new).items)
        lost = max(len(self.result.dropped), len(before) - count)
        if len(before) >= GUARDED_ITEMS and lost * 2 > len(before) and not self.force:
            raise NotApplied(
                f"It would lose {lost} of the {len(before)} items of MEMORY.md.",
                next_step="If that is meant, `holdfast dream --force`.",
            )

    def _story(self, text: str) -> str:
        """What the dreamer told, if it may be stored."""
        if not text.strip():
            return ""
        try:
            return self.services.gate.admit(paths.rewrite(text, self.services.root), surface=Surface.DIARY)
        except Refused as error:
            self.note(warnings=(*self.result.warnings, f"What the dreamer told was left out: {error.message}"))
            return ""

    def _admitted(self, gone: Sequence[Gone]) -> list[Gone]:
        """Refused texts as they may be written down: what was refused may be a secret."""
        return [Gone(text=told(self.services, g.text), reason=told(self.services, g.reason)) for g in gone]


# --- writing ---------------------------------------------------------------------------------------------------


def new_id() -> str:
    """The id of a run, and of its block in the diary."""
    return f"dream_{secrets.token_hex(6)}"


def told(services: Services, text: str) -> str:
    """A text as it may be told and recorded; a placeholder when the gate does not let it through."""
    if not text:
        return ""
    try:
        return services.gate.admit(paths.rewrite(text, services.root), surface=Surface.DIARY)
    except HoldfastError:
        return "(withheld: it may not be stored)"


def apply(services: Services, proposal: Proposal) -> DreamResult:
    """Write a checked result: backup, diary, MEMORY.md, mark. Source: reading A30.

    Raises: Conflict when MEMORY.md is not what it was made from; the diary says then that it was not applied.
    """
    result, name = proposal.result, proposal.name
    stored = services.store.read(name)
    if (stored.revision if stored else ABSENT) != proposal.base:
        raise Conflict(f"{name} was edited since.", next_step="Dream again: `holdfast dream --force`.")
    before = stored.text if stored else None
    changed = before != proposal.text
    if changed:
        backup = Backup(id=result.id, at=_utc(result.at), name=name, before=before, after=sha256(proposal.text))
        result = evolve(result, backup=dreamlog.back_up(services.state, backup, keep=services.config.dream.backups))
    page = services.layout.name(Surface.DIARY, result.at.date())
    _tell(services, page, result, lambda block_id: diary.render(result, block_id, proposal.diary))
    result = evolve(result, diary=page, status=Status.DONE, reason="" if changed else "There was nothing to change.")
    if changed:
        try:
            services.store.replace(Surface.MEMORY, name, proposal.text, proposal.base)
        except HoldfastError as error:
            with contextlib.suppress(HoldfastError):
                why = told(services, error.message)
                _tell(services, page, result, lambda block_id: diary.not_applied(result, block_id, why))
            raise
    dreamlog.set_mark(services.state, Mark(digest=proposal.digest, at=services.now(), id=result.id))
    logger.info("dreamt as %s", result.id)
    return evolve(result, next_step="`holdfast dream --undo` takes it back." if changed else "")


def undo(services: Services, *, force: bool = False) -> DreamResult:
    """Put back MEMORY.md as it was before the last change by a dream or an undo; undoing an undo brings the dream back.

    Raises: Refused when there is none, or MEMORY.md was edited since and not ``force``; Conflict; Corrupt; Unavailable.
    """
    with lock(services):
        now = services.now()
        stored = services.store.read(services.layout.name(Surface.MEMORY))
        current = stored.text if stored else ""
        kept = _undoable(services, current, force=force)
        text = kept.before if kept.before is not None else dreamtext.TITLE + "\n"
        text = services.gate.admit(text, surface=Surface.MEMORY, name=kept.name, previous=text, verbatim=True)
        page = services.layout.name(Surface.DIARY, now.date())
        result = DreamResult(
            id=new_id(),
            at=now,
            status=Status.UNDONE,
            reason=f"The {kept.title} of {kept.at.astimezone(services.config.tz):%Y-%m-%d %H:%M} was undone.",
            next_step="`holdfast dream --undo` brings it back.",
            diary=page,
            diff="".join(_diff(current, text, kept.name)),
        )
        backup = Backup(
            id=result.id,
            at=_utc(now),
            name=kept.name,
            before=stored.text if stored else None,
            after=sha256(text),
            title="undo",
        )
        named = dreamlog.back_up(services.state, backup, keep=services.config.dream.backups)
        result = evolve(result, backup=named)
        _tell(services, page, result, lambda block_id: diary.undone(result, block_id))
        services.store.replace(Surface.MEMORY, kept.name, text, stored.revision if stored else ABSENT)
        dreamlog.record(services.state, result)
        return result


def _undoable(services: Services, current: str, *, force: bool) -> Backup:
    """The newest backup from before a change that led to the ``current`` text; with ``force`` the newest at all.

    Backups tell it, not the log: a dream that was killed right after it wrote can be undone too. Raises: Refused.
    """
    backups = dreamlog.backups(services.state)
    digest = sha256(current)
    found = next((b for b in reversed(backups) if b.after == digest), None)
    if found is None and not backups:
        raise Refused("There is no dream to undo.", next_step="`holdfast dream --log` lists the runs.")
    if found is None and not force:
        raise Refused(
            f"{backups[-1].name} was edited since the last {backups[-1].title}, and that would be lost.",
            next_step="If that is meant, `holdfast dream --undo --force`; what stands there now is kept as a backup.",
        )
    return found or backups[-1]


def _tell(services: Services, page: str, result: DreamResult, block: Callable[[str], str]) -> None:
    """Append a block to the diary; ``block`` makes it from its id, which is the run's, numbered from its second on."""
    stored = services.store.read(page)
    block_id, number = result.id, 1
    while stored is not None and block_marker(block_id) in stored.text:
        number += 1
        block_id = f"{result.id}-{number}"
    text = services.gate.admit(block(block_id), surface=Surface.DIARY, name=page)
    services.store.append(Surface.DIARY, page, text, diary.header(result.at.date()), block_id)


def _diff(old: str, new: str, name: str) -> Iterator[str]:
    return difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), name, name, n=2)


def _utc(at: datetime) -> datetime:
    return at.astimezone(UTC)
