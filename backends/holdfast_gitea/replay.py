"""The rules that turn comments into one history, the same for every reader.

A stored log (a document or the facts) consists of records in comments of one or more issues (its segments),
in ascending order of comment id. Each record names its ``base``, the last record its writer had seen accepted.

- Of several records with the same id, the first counts. The others repeat a write whose response was lost.
- A *conditional* record (a new version, a deletion, the step to a new issue) is accepted if its base is the last
  accepted record. Otherwise another writer was faster, and the record is *late*: kept and reported.
- A block or an operation on facts is accepted wherever it appears.
- After an accepted step to another issue, the old issue accepts nothing more. Records that still arrive there are
  repeated in the new issue under the same id.
- Where the server guards issue bodies, the body decides between two conditional records with the same base. The record
  it names *overrules* those with a lower comment id, which became visible later. The next record names them.
- A record whose base is missing shows that a comment or its marker was deleted. This is a *gap*.
- An issue that starts a document again, without a step from the previous issue, is a *fork*.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Self

from attrs import evolve, frozen

from holdfast.errors import Unsupported
from holdfast_gitea import marker
from holdfast_gitea.wire.models import Comment

VERSION: Final = "ver"
BLOCK: Final = "blk"
DELETED: Final = "del"
OPERATIONS: Final = "ops"
SNAPSHOT: Final = "snap"
NEXT: Final = "next"
KINDS: Final = frozenset({VERSION, BLOCK, DELETED, OPERATIONS, SNAPSHOT, NEXT})
_CONDITIONAL: Final = frozenset({VERSION, DELETED, SNAPSHOT, NEXT})
#: Kinds of records outside the history, which are copies for people.
_COPIES: Final = frozenset({"copy", "store"})
#: The comment by which a person accepts all earlier edits and deletions.
ACCEPT: Final = "holdfast: accept"
_NEVER: Final = (0, datetime.min.replace(tzinfo=UTC))


@frozen(kw_only=True)
class Segment:
    """One issue's comments by users whose records count, by ascending id.

    ``at`` is the server's clock when it listed them, if it sent one. ``foreign`` are other users' records and
    acceptances, which are never replayed.
    """

    number: int
    comments: tuple[Comment, ...] = ()
    at: datetime | None = None
    foreign: tuple[Comment, ...] = ()

    def merged(self, newer: Iterable[Comment], foreign: Iterable[Comment] = ()) -> Self:
        return evolve(self, comments=_joined(self.comments, newer), foreign=_joined(self.foreign, foreign))


@frozen(kw_only=True)
class Record:
    """A record and its position. ``text`` is None when the frame is broken. A ``root`` makes earlier records moot.
    ``source`` is the comment with the id ``comment``."""

    id: str
    kind: str
    base: str
    text: str | None
    intact: bool
    root: bool
    fields: Mapping[str, str]
    comment: int
    segment: int
    size: int
    source: Comment


@frozen(kw_only=True)
class Replay:
    """The result of applying the rules to segments.

    - ``known``: the ids of all records that count
    - ``foreign``: ids in other users' records, mapped to the comments that hold them
    - ``forks``: first records of issues that start the same log again
    - ``overruled``: ids that do not count
    - ``head``: id of the last accepted record, empty if there is none
    - ``sealed``: each segment that has a successor, mapped to that successor
    - ``approved``: the last comment of a segment up to which a person has accepted its state
    """

    accepted: tuple[Record, ...]
    late: tuple[Record, ...]
    gaps: tuple[Record, ...]
    forks: tuple[Record, ...]
    overruled: frozenset[str]
    known: frozenset[str]
    foreign: Mapping[str, int]
    head: str
    sealed: Mapping[int, int]
    approved: Mapping[int, tuple[int, datetime]]

    def is_approved(self, segment: int, comment: int, edited_at: datetime | None = None) -> bool:
        """Whether a person has accepted that comment's current state. A later edit is not covered."""
        last, at = self.approved.get(segment, _NEVER)
        return comment < last and (edited_at is None or edited_at <= at)


def new_id() -> str:
    """A new record's id, random so that it is unique, and drawn before the first attempt to write the record."""
    return uuid.uuid4().hex


def number(text: str) -> int:
    """A number in a marker, 0 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def record_in(comment: Comment, segment: int) -> Record | None:
    """The record in a comment, None if it has none. Raises: Unsupported for a record from a newer holdfast."""
    framed = marker.framed(comment.body)
    fields = framed.fields if framed else {}
    kind = fields.get("kind", "")
    if framed is None or kind in _COPIES or not fields.get("id"):
        return None
    if kind not in KINDS:
        raise Unsupported(
            f"A record at {comment.url} has a kind that this version of holdfast does not know.",
            next_step="Upgrade holdfast. It changed nothing.",
        )
    return Record(
        id=fields["id"],
        kind=kind,
        base=fields.get("base", ""),
        text=framed.text,
        intact=framed.intact and not comment.doubted,
        root=fields.get("root") == "1",
        fields=fields,
        comment=comment.id,
        segment=segment,
        size=number(fields.get("n", "")),
        source=comment,
    )


def replay(segments: Sequence[Segment], heads: Collection[str] = ()) -> Replay:
    """Apply the rules to ``segments``, either the whole log or its end, beginning at a segment with a root.

    ``heads`` are the records that these issues' guarded bodies name as the newest. Raises: Unsupported.
    """
    comments = sorted(((c, s.number) for s in segments for c in s.comments), key=lambda pair: pair[0].id)
    records = [record for pair in comments if (record := record_in(*pair)) is not None]
    overruled = _overruled(records, heads)
    known = frozenset(record.id for record in records)
    newest_first = sorted((c for s in segments for c in s.foreign), key=lambda comment: -comment.id)
    foreign = {(marker.fields(comment.body) or {}).get("id", ""): comment.id for comment in newest_first}
    # At the log's end the bases of roots are in an issue before.
    bases = known | {record.base for record in records if record.root and records[0].root}
    accepting = {s.number: [(c.id, c.created_at) for c in s.comments if is_accept(c)] for s in segments}
    approved = {segment: acceptances[-1] if acceptances else _NEVER for segment, acceptances in accepting.items()}
    accepted, late = dict[str, Record](), dict[str, Record]()
    gaps, forks = list[Record](), list[Record]()
    begun: set[int] = set()
    sealed: dict[int, int] = {}
    head = ""
    for record in records:
        if record.id in accepted or (record.id in late and late[record.id].kind in _CONDITIONAL):
            continue
        if record.id in overruled:
            late[record.id] = record
            continue
        starts = record.root and not accepted  # one before it may be overruled
        opens = record.segment not in begun
        begun.add(record.segment)
        broken = bool(record.base) and record.base not in bases
        # A counted author once built on a record that does not count here. Only an earlier one excuses a gap.
        excused = broken and foreign.get(record.base, record.comment) < record.comment
        if broken and not excused and record.comment >= approved[record.segment][0]:
            gaps.append(record)
        if record.segment in sealed or (
            record.kind in _CONDITIONAL and record.base != head and not starts and not broken and _is_first(record)
        ):
            late.setdefault(record.id, record)
            linked = record.segment in sealed or record.segment in sealed.values()
            if opens and not record.base and not linked and head and len(begun) > 1:
                forks += [record] if record.comment >= approved[record.segment][0] else []
            continue
        late.pop(record.id, None)
        accepted[record.id] = record
        head = record.id
        if record.kind == NEXT:
            sealed[record.segment] = number(record.fields.get("to", ""))
    return Replay(
        accepted=tuple(accepted.values()),
        late=tuple(late.values()),
        gaps=tuple(gaps),
        forks=tuple(forks),
        overruled=overruled,
        known=known,
        foreign=foreign,
        head=head,
        sealed=sealed,
        approved=approved,
    )


def _overruled(records: Sequence[Record], heads: Collection[str]) -> frozenset[str]:
    """Records that do not count although they come first, see the rules above.

    The records that a named record builds on were decided in the same way.
    """
    gone = {record_id for record in records for record_id in record.fields.get("over", "").split("_") if record_id}
    by_id: dict[str, Record] = {}
    rivals: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        by_id.setdefault(record.id, record)
        if record.kind in (VERSION, DELETED, NEXT) and _is_first(record):
            rivals.setdefault((record.base, record.segment), []).append(record)
    walked: set[str] = set()
    for head in heads:
        named = by_id.get(head)
        while named is not None and named.base and named.id not in walked:
            walked.add(named.id)
            if named.kind in _CONDITIONAL:
                others = rivals.get((named.base, named.segment), ())
                gone |= {rival.id for rival in others if rival.id != named.id and rival.comment < named.comment}
            named = by_id.get(named.base)
    return frozenset(gone - walked)


def starts_whole(segment: Segment) -> bool:
    """Whether the issue begins with a root whose parts are all present, so no other issue is needed."""
    records = (record_in(comment, segment.number) for comment in segment.comments)
    first = next((record for record in records if record is not None), None)
    if first is None or not first.root:
        return False
    parts = number(first.fields.get("parts", "1"))
    return parts <= 1 or 1 + sum(1 for r in records if r is not None and r.fields.get("of") == first.id) >= parts


def _is_first(record: Record) -> bool:
    """Further parts of a snapshot belong to its first one, wherever they come."""
    return "of" not in record.fields


def is_accept(comment: Comment) -> bool:
    """Whether a person accepts the issue's state with this comment. An edited one does not, because users with write
    access can edit any comment into this."""
    return not comment.was_edited and comment.body.strip().casefold() == ACCEPT


def _joined(old: Iterable[Comment], new: Iterable[Comment]) -> tuple[Comment, ...]:
    by_id = {comment.id: comment for comment in (*old, *new)}
    return tuple(by_id[comment_id] for comment_id in sorted(by_id))
