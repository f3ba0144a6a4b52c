"""A log at a point in time: which records count, whether it is sound, and where the next record goes."""

from typing import Final, NamedTuple

from holdfast.errors import Corrupt, Unavailable
from holdfast_gitea import replay
from holdfast_gitea.index import PREFIX, Tail
from holdfast_gitea.replay import SNAPSHOT, VERSION, Record, Replay, Segment

#: A log continues in a new issue after this many records or bytes, since every read gets all comments of an issue. Only
#: the newest version is read, so fewer versions already justify the three requests for a new issue.
MOST_RECORDS: Final = 200
MOST_VERSIONS: Final = 50
MOST_BYTES: Final = 1 << 20
#: Bytes that the server sends with each comment besides the record's text. An issue that begins with a snapshot is used
#: until its records are half as long, because a new issue needs another snapshot.
_ROUND_A_RECORD: Final = 1000
RESTORE: Final = (
    "Restore the earlier version (the server keeps an edit history), or accept the current one: "
    f"add the comment `{replay.ACCEPT}` to that issue."
)
#: For entries or issues that are missing, or too many. It never suggests accepting or deleting anything, because a
#: lagging server may show another state later.
_MISSING: Final = (
    "Try again in a minute, because a busy server may show an older state. If it stays so, see `Edits and deletions on "
    "the server` in docs/forges.md."
)


class LogView(NamedTuple):
    """A log at a point in time. ``segments`` may start partway, with a segment that begins with a root."""

    title: str
    segments: tuple[Segment, ...]
    replay: Replay
    lost: Tail | None = None

    @property
    def active(self) -> int | None:
        """The issue number for the next record, None before the log has an issue."""
        replayed = self.replay
        used = {r.segment for r in (*replayed.accepted, *replayed.late)} | set(replayed.sealed.values())
        there = [s.number for s in self.segments]
        live = [number for number in there if number in used and number not in replayed.sealed]
        return min(live or there, default=None)

    @property
    def is_full(self) -> bool:
        """Whether the next record should go to a new issue."""
        here = [r for r in self.replay.accepted if r.segment == self.active and not r.root and r.kind != SNAPSHOT]
        versions = sum(r.kind == VERSION for r in here)
        size = sum(r.size for r in here)
        if len(here) < MOST_RECORDS and versions < MOST_VERSIONS and size < MOST_BYTES:
            return False
        start = sum(r.size for r in self.replay.accepted if r.segment == self.active and r.kind == SNAPSHOT)
        return size + len(here) * _ROUND_A_RECORD >= start / 2

    def accepts(self, record_id: str) -> bool:
        return any(record.id == record_id for record in self.replay.accepted)

    @property
    def absent(self) -> frozenset[int]:
        """Issues in which the log continues and that the server does not show."""
        return frozenset(self.replay.sealed.values()) - {segment.number for segment in self.segments}

    def check(self) -> None:
        """Raises: Corrupt when comments were deleted, or their markers."""
        name, replayed = shown(self.title), self.replay
        problems = []
        if self.lost:
            place = f"comment {self.lost.comment} in issue #{self.lost.segment}"
            problems.append(f"The newest entry of {name} ({place}) is gone from the server.")
        gone = ((old, new) for old, new in replayed.sealed.items() if new in self.absent)
        problems += [f"{name} continues from issue #{old} in #{new}, which is not on the server." for old, new in gone]
        pairs = ((replayed.accepted[0].segment, fork.segment) for fork in replayed.forks)
        problems += [f"{name} is in two issues without links to each other: #{one} and #{two}." for one, two in pairs]
        problems += [f"An entry of {name} before {gap.source.url} is gone from the server." for gap in replayed.gaps]
        if problems:
            raise Corrupt(problems[0], next_step=_MISSING)

    def check_text(self, record: Record) -> str:
        """The record's text. Raises: Corrupt when it was edited and the edit has not been accepted."""
        if record.text is None or not (record.intact or self.approves(record)):
            raise Corrupt(
                f"An entry of {shown(self.title)} was edited manually: {record.source.url}", next_step=RESTORE
            )
        return record.text

    def approves(self, record: Record) -> bool:
        """Whether a person has accepted an edit of the record."""
        return self.replay.is_approved(record.segment, record.comment, record.source.updated_at)


def shown(title: str) -> str:
    """A title as shown in messages. A document appears under its own name."""
    return repr(title.removeprefix(PREFIX).removeprefix("doc:"))


def overtaken(title: str) -> Unavailable:
    return Unavailable(f"Too many processes write {shown(title)} at once.", next_step="Try again.")
