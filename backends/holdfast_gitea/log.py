"""An append-only log on issues, shared by documents and facts.

A log has a title. Its records are comments on the issues with that title, and :mod:`holdfast_gitea.replay` decides
which of them count. Every call queries the server, so every reader sees the same result.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from logging import INFO, WARNING
from typing import Any, Final

from holdfast.errors import Conflict, Corrupt, NotFound, Refused, StorageError, Unavailable
from holdfast.storage import current_snapshot
from holdfast_gitea import index, marker, replay
from holdfast_gitea.authors import Authors
from holdfast_gitea.index import AUTHORS, FACTS, STORE, Entry, Index, Tail, encoded, entry_of, numbers
from holdfast_gitea.log_view import LogView, overtaken, shown
from holdfast_gitea.place import Place
from holdfast_gitea.replay import BLOCK, NEXT, OPERATIONS, VERSION, Replay, Segment
from holdfast_gitea.wire.client import Repo
from holdfast_gitea.wire.models import Comments
from holdfast_keys.faults import Closed

logger = logging.getLogger(__name__)

#: Tries of a change that others keep overtaking.
TRIES: Final = 20
#: Seconds before a log is read again in which a record seems to be missing.
_LAG_S: Final = 0.3
#: Overruled records that a version names. More than a few at once would take as many machines.
_MOST_OVERRULED: Final = 20


class Log:
    def __init__(self, repo: Repo, authors: Authors, index: Index, place: Place) -> None:
        self.repo = repo
        self.authors = authors
        self.index = index
        self._place = place
        self._settled = 0  # the comment by which a user accepted that earlier facts are gone
        self._noted = False
        self._missed: set[str | int] = set()  # records or issues already searched for twice
        self._shared: dict[str, LogView] = {}  # logs read inside :meth:`sharing`

    def reading(self) -> AbstractContextManager[object]:
        """Keeps the other threads of this process out. Takes part in this thread's snapshot."""
        shared = current_snapshot()
        if shared is not None and not self.index.held:
            shared.enter_context(self.sharing())
        return self._place.reading()

    @contextmanager
    def sharing(self) -> Iterator[None]:
        """Read each log at most once inside the block, and save the index at its end, even on a read-only machine."""
        self.index.held = True
        try:
            yield
        finally:
            self.index.held = False
            self._shared.clear()
            with suppress(Unavailable), self._place.writing(timeout_s=0):  # another process saves its own
                self.index.save()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keeps other threads and the other processes of this machine out; machines settle it by the replay."""
        with self._place.writing() as outermost:
            self._shared.clear()
            try:
                yield
            finally:
                if outermost:
                    self.index.save()
                    self._shared.clear()

    # --- reading

    def load(self, title: str) -> LogView:
        """The log as it is now, from its last root on. One request for each issue, mostly one in all.

        Raises: Unsupported for records of a newer holdfast.
        """
        if title in self._shared:
            return self._shared[title]
        for whole in (False, True):
            if whole:
                self.index.refresh(whole=True)
            try:
                view = self._load(title)
                # A record or issue that seems to be gone may only be late to show. A deleted issue that the server
                # still shows looks like a second beginning of the log.
                lost = [view.lost.record] if view.lost else []
                seeming = (record.id for record in (*view.replay.gaps, *view.replay.forks))
                if self._is_new({*seeming, *view.absent, *lost}):
                    view = self._load(title)
            except NotFound:
                continue  # an issue was deleted: ask which there are
            if self.index.held:
                self._shared[title] = view
            return view
        raise Unavailable(f"The issues of {shown(title)} change faster than they can be read.", next_step="Try again.")

    def _load(self, title: str) -> LogView:
        entries = self.index.segments(title)
        if title != AUTHORS:
            self.index.check_members()
        return self.load_from(title, entries)

    def _is_new(self, seeming: set[str | int]) -> bool:
        """Whether any of these seems to be missing for the first time in this process. Gives the server time."""
        new = seeming - self._missed
        self._missed |= new
        if new:
            time.sleep(_LAG_S)
        return bool(new)

    def load_from(self, title: str, entries: Sequence[Entry]) -> LogView:
        """The log in these issues, and in those that continue it."""
        if title == FACTS and not entries:
            entries = self._check_facts()
        segments: list[Segment] = []
        waiting = numbers(entries)
        while waiting:
            number = waiting.pop()
            try:
                listed = self.repo.comments(number)
            except NotFound:
                self.index.gone(number)
                raise
            comments, foreign = self.authors.split(listed.values, number, inviting=title == AUTHORS)
            segment = Segment(number=number, comments=comments, at=listed.at, foreign=foreign)
            segments.insert(0, segment)
            if replay.starts_whole(segment):
                break
        view = self._view(title, segments, entries)
        there = {s.number for s in segments} | set(waiting)
        if any(number not in there for number in view.replay.sealed.values()):
            # It continues in an issue that another writer has created meanwhile.
            self.index.refresh()
            newer = self.index.segments(title)
            if numbers(newer) != numbers(entries):
                return self.load_from(title, newer)
        return view

    def _check_facts(self) -> Sequence[Entry]:
        """The facts' issues, after the list showed none. Raises: Corrupt when there were facts and their issue is gone,
        unless a user has accepted that; Unavailable when only the list lacks it."""
        store = next(iter(self.index.known(STORE)), None)
        tail = self.index.tail(FACTS)
        if store is None or not (store.facts or tail):
            return ()
        number = tail.segment if tail else store.facts
        if self._is_new({number}):
            self.index.refresh(whole=True)
            if self.index.known(FACTS):
                return self.index.known(FACTS)
        comments, _ = self.authors.split(self.repo.comments(store.number).values, store.number)
        self._settled = max((c.id for c in comments if replay.is_accept(c) and c.id > store.settled), default=0)
        if not self._settled:
            issue = self.repo.issue(number)
            if issue is not None and (entry := entry_of(issue)) is not None and entry.title == FACTS:
                step = "Its database is behind. Try again."
                raise Unavailable(f"The server's list of issues lacks #{number}, which the server has.", next_step=step)
            raise Corrupt(
                f"The facts issue, #{number}, is gone from the server.",
                next_step="Restore the server's database from a copy. To go on without these facts, add the comment "
                f"`{replay.ACCEPT}` to issue #{store.number}.",
            )
        self.index.set_tail(FACTS, None)
        self._noted = False
        return ()

    def _note_facts(self, number: int) -> None:
        """Let the store's own issue say that there are facts, once."""
        store = next(iter(self.index.known(STORE)), None)
        if store is None or (store.facts and not self._settled) or self._noted:
            return
        self._noted = True
        if self.describe_store(store, facts=number, settled=self._settled or store.settled):
            self._settled = 0

    def describe_store(self, store: Entry, **changes: int) -> bool:
        """Change fields in the store's own issue. It is a safeguard: errors are only logged."""
        with _dispensable("issue", store.number, "was not changed"):
            issue = self.repo.issue(store.number)
            framed = marker.framed(issue.body) if issue else None
            if issue and framed and framed.text is not None:
                body = index.store_body(framed.text, **(index.store_fields(store) | changes))
                self.index.saw(self.repo.edit_issue(store.number, body=body, content_version=issue.content_version))
                return True
        return False

    def _view(self, title: str, segments: Sequence[Segment], entries: Sequence[Entry]) -> LogView:
        replayed = self._replay(title, segments)
        lost = None
        there = {segment.number for segment in segments}
        for tail in (*(Tail(e.head, e.head_comment, e.number) for e in entries if e.head), self.index.tail(title)):
            if tail is None or tail.segment not in there or tail.record in replayed.known:
                continue
            if replayed.foreign.get(tail.record) == tail.comment:
                continue  # its author counted when it was written
            if not replayed.is_approved(tail.segment, tail.comment):
                lost = tail
        view = LogView(title=title, segments=tuple(segments), replay=replayed, lost=lost)
        if not lost:
            self._remember(view)
        return view

    def _replay(self, title: str, segments: Sequence[Segment]) -> Replay:
        heads = {entry.head for entry in self.index.known(title) if entry.head and entry.version is not None}
        return replay.replay(segments, heads)

    def _remember(self, view: LogView) -> None:
        last = view.replay.accepted[-1] if view.replay.accepted else None
        self.index.set_tail(view.title, Tail(last.id, last.comment, last.segment) if last else None)

    # --- writing (the caller holds this machine's lock)

    def post(
        self,
        view: LogView,
        kind: str,
        text: str,
        note: str,
        record_id: str = "",
        *,
        language: str = "markdown",
        **fields: str | int,
    ) -> tuple[LogView, str]:
        """Add a record and read it back, along with any records that arrived in between.

        Returns the updated log and the record's id. Check with the log whether it accepts the record. Pass
        ``record_id`` to repeat a record that reached an old issue too late.

        Costs a POST and a list of new comments. A log without an issue gets one first.
        """
        self._shared.pop(view.title, None)
        self.check_own()
        base = view.replay.head  # the caller's last seen record, even if another issue is found now
        if view.active is None:
            view = self._begin(view.title)
        number = view.active
        assert number is not None
        record_id = record_id or replay.new_id()
        over = "_".join(sorted(view.replay.overruled)[:_MOST_OVERRULED]) if kind == VERSION else ""
        body = marker.frame(note, text, language=language, id=record_id, kind=kind, base=base, over=over, **fields)
        segment = next(s for s in view.segments if s.number == number)
        listed = Comments(values=segment.comments, at=segment.at)
        posted, newer = self.repo.post(number, body, record_id, listed, counts=self.authors.counts)
        merged = segment.merged(*self.authors.split((*newer.values, posted), number, inviting=view.title == AUTHORS))
        segments = tuple(merged if s.number == number else s for s in view.segments)
        view = view._replace(segments=segments, replay=self._replay(view.title, segments))
        self._remember(view)
        if view.title == FACTS:
            self._note_facts(number)
        return view, record_id

    def check_own(self) -> None:
        """Raises: Refused while other machines would not read what this one writes."""
        try:
            self.index.check_own()
        except Refused:
            self.index.refresh(whole=True)  # the invitation may be new
            self.index.check_own()

    def room(self, view: LogView) -> LogView:
        """The log with room for a record, in a new issue when the current one is full. Raises: Unavailable."""
        for _ in range(TRIES):
            if not view.is_full:
                return view
            view = self.step(view)
        raise overtaken(view.title)

    def step(self, view: LogView) -> LogView:
        """Continue in a new issue. If another writer was faster, return the log as that writer left it."""
        old = view.active
        assert old is not None
        spare = [e for e in self.index.known(view.title) if e.number > old and not e.comments]
        number = spare[0].number if spare else self.make(view.title, _about(view.title, old))
        view, record_id = self.post(view, NEXT, "", f"This goes on in issue {number}.", to=number)
        if view.accepts(record_id) and any(r.kind == VERSION for r in view.replay.accepted):
            # The guarded body decides here, too, because another writer may be sending a version to the old issue.
            view = self.show(view, record_id, "", f"This goes on in issue {number}.")
        if not view.accepts(record_id):
            return self.load(view.title)
        if number not in {segment.number for segment in view.segments}:
            segments = (*view.segments, Segment(number=number))
            view = view._replace(segments=segments, replay=self._replay(view.title, segments))
        return self._take_along(view, old)

    def _take_along(self, view: LogView, old: int) -> LogView:
        """Repeat in the new issue the records that reached the old one after the step.

        Their writer does the same if it has seen the step. Where comments become visible out of order, it may have
        missed the step and taken its record as accepted.
        """
        for record in view.replay.late:
            if record.segment == old and record.kind in (BLOCK, OPERATIONS) and record.intact:
                more: dict[str, Any] = {k: value for k, value in record.fields.items() if k in ("block", "top", "fold")}
                note = "This came to the issue before when it was full."
                view, _ = self.post(view, record.kind, record.text or "", note, record_id=record.id, **more)
        return view

    def show(self, view: LogView, record_id: str, text: str, note: str) -> LogView:
        """Show ``text`` to people in the issue's body. Returns the updated log.

        Where the server guards bodies, this decides between two writers unable to see each other. The second writer
        meets a newer body, and its record no longer counts. Other errors are only logged, because a body is a copy.
        """
        record = next(r for r in view.replay.accepted if r.id == record_id)
        line = marker.line(kind="copy", log=encoded(view.title), head=record_id, comment=record.comment)
        body = f"{marker.readable(text)}\n\n{note}\n\n{line}"
        entry = next((e for e in self.index.known(view.title) if e.number == record.segment), None)
        with _dispensable("the copy in issue", record.segment, "was not made"):
            for _ in range(TRIES):
                version = entry.version if entry else None
                try:
                    self.index.saw(self.repo.edit_issue(record.segment, body=body, content_version=version))
                    return view
                except Conflict:
                    issue = self.repo.issue(record.segment)
                    entry = entry_of(issue, entry) if issue else None
                    if issue is not None:
                        self.index.saw(issue)
                    seen = {r.id for r in view.replay.accepted if r.comment < record.comment}
                    if entry is None or entry.deleted or (entry.head and entry.head not in seen):
                        # Another writer was here: based on this record, or without seeing it.
                        return self.load(view.title)
            return self.load(view.title)
        return view

    def tell(self, view: LogView, text: str) -> None:
        """Show ``text`` to people in the body of a log without versions. Errors are only logged."""
        if view.active is not None:
            with _dispensable("the copy in issue", view.active, "was not made"):
                self._edit_body(view.active, f"{text}\n\n{_about(view.title)}")

    def mark_deleted(self, view: LogView) -> None:
        """Mark this log's document as deleted in the list of issues, so that listing names checks it.

        Called before the deletion, so every deleted document has the mark. Raises: Unavailable.
        """
        last = view.replay.accepted[-1]
        assert view.active is not None
        head = last.id if last.segment == view.active else ""
        line = marker.line(kind="copy", log=encoded(view.title), head=head, comment=last.comment, deleted=1)
        self._edit_body(view.active, f"This was deleted.\n\n{line}")

    def unmark(self, title: str) -> None:
        """Remove the mark from a document that exists again. Without the right to, it stays, and only costs a request.
        Raises: Unavailable."""
        for entry in self.index.known(title):
            if entry.deleted:
                with suppress(Closed):
                    self._edit_body(entry.number, _about(title))

    def close(self, number: int) -> None:
        with _dispensable("issue", number, "was not closed"):
            self.index.saw(self.repo.edit_issue(number, state="closed"))

    def _edit_body(self, number: int, body: str) -> None:
        self.index.saw(self.repo.transport.patiently(lambda: self.repo.edit_issue(number, body=body)))

    def _begin(self, title: str) -> LogView:
        """The log with its first issue, created unless another writer has just created it."""
        if not self.index.known(STORE):
            self.make(STORE, index.store_body())
            self.check_own()  # the answer shows whose token it is
        if not self.index.known(title):
            self.make(title, _about(title))
            self.index.refresh()  # of two that were made at once the lower number counts
        entries = self.index.known(title)
        if len(entries) > 1 or entries[0].comments:
            return self.load(title)
        return self._view(title, [Segment(number=entries[0].number)], entries)

    def make(self, title: str, body: str) -> int:
        """Create an issue exactly once. After a lost response, look for the issue before creating another."""
        before = set(numbers(self.index.known(title)))
        first = True

        def attempt() -> int:
            nonlocal first
            if not first:
                self.index.refresh()
                if made := [n for n in numbers(self.index.known(title)) if n not in before]:
                    return made[0]
            first = False
            issue = self.repo.create_issue(title, body)
            self.index.saw(issue)
            return issue.number

        return self.repo.transport.patiently(attempt)


@contextmanager
def _dispensable(what: str, number: int, problem: str) -> Iterator[None]:
    """For an edit that can be done without: an error is only logged."""
    try:
        yield
    except (StorageError, Refused) as error:
        # Invited users may lack the right to it.
        logger.log(INFO if isinstance(error, Closed) else WARNING, "%s #%d %s: %s", what, number, problem, error)


def _about(title: str, prev: int | str = "") -> str:
    about = "holdfast keeps its memory here, in comments. Please do not edit or delete them."
    return f"{about}\n\n{marker.line(kind='copy', log=encoded(title), prev=prev)}"
