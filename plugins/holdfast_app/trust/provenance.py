"""Which passages of the stored memory agents may have: those written here, and those that the user has seen.

A clone, a pull or an unpacked archive can bring documents and facts meant to mislead an agent. So every write of this
machine is recorded (:mod:`holdfast_app.trust.seen`), and an unrecorded passage is checked once. A passage typed
or committed in this checkout, or committed by one of the user's ``[trust] authors``, is recorded too; any other is
*withheld* from agents until ``holdfast trust`` shows it. A store on a server is never withheld, because the user named
the server.

A second list, ``state/stored``, names the documents created here and read back, and those deleted by a call. A document
that disappeared from the store without such a call is missing (:mod:`holdfast_app.data_loss`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final

from holdfast.config import settings
from holdfast.errors import ConfigError, HoldfastError
from holdfast.fs import durable, private, safeopen
from holdfast.text import untrusted
from holdfast.text.humanize import count
from holdfast_app.project_settings import resolved, trust
from holdfast_app.trust import passages
from holdfast_app.trust.gitlines import Origins
from holdfast_app.trust.passages import Passage
from holdfast_app.trust.seen import BEFORE, FOREIGN, OWN, TRUSTED, LineList, Seen
from holdfast_app.trust.store import Sifted, Trusting

if TYPE_CHECKING:
    from holdfast.models import Fact

STORED: Final = "stored"
#: The lists' name for the facts. No document can have this name.
FACTS: Final = "*facts"
NEXT_STEP: Final = "`holdfast trust` shows it and gives it to agents."
#: Limit for comparing two versions of a document. In a longer document with withheld passages nothing counts as new.
_MOST_COMPARED: Final = 4_000_000
#: Limits of a document's lines and characters. A longer one is split by sections, or where it has more of them not at
#: all, so that many short lines cost no more memory than a few long ones.
_MOST_LINES: Final = 10_000
_MOST_CHARS: Final = 1_000_000
#: Limit of lines for asking git, which takes seconds for a longer document.
_MOST_BLAMED: Final = 40_000
#: Limit of what all unrecorded passages may cost, in characters: a passage costs 100 and a document 1,000 more, and a
#: second of git a million. Beyond it a document with such a passage is withheld whole, unsplit. At the beginning the
#: limit is five times that.
_MOST_FOREIGN: Final = 2_000_000
_EVERYTHING: Final = "*everything"  # no passage's key
_DELETED: Final = "*deleted "
_TYPED: Final = "typed"  # with it, the digest of a passage of the user's own that holdfast did not write
_FENCE: Final = "\n+++"
#: What a fact's digest covers.
_STATED: Final = ("id", "content", "category", "source")

#: A passage's digest, its lines' numbers and its text.
_Pending = tuple[str, Sequence[int], str]


class Provenance(Trusting):
    """Provenance in a project whose store is on this machine. Safe for several processes.

    ``folder`` and ``facts`` name the store's folder and facts file relative to ``root`` where documents are files that
    git and an editor can change; otherwise they are empty. ``repeating`` returns those of the passages, typed here,
    that an agent may have taken from a stranger.
    """

    withholds = True

    def __init__(
        self,
        root: str,
        state: str,
        *,
        folder: str = "",
        facts: str = "",
        repeating: Callable[[Iterable[str]], set[str]] = lambda _: set(),
    ) -> None:
        self._root = root
        self._repeating = repeating
        self._state = state
        self._folder = folder
        self._facts = facts
        self._stored = LineList(os.path.join(state, STORED))
        self._costs: dict[str, int] = {}  # by document

    @cached_property
    def _seen(self) -> Seen:
        return Seen(self._root, self._state)

    # recording

    def begin(self, documents: Iterable[tuple[str, str]], facts: Iterable[Fact]) -> None:
        if self._seen.has_begun or self._seen.take_over():
            return
        digests, cost = list[str](), 0
        for name, text in documents:
            cost += 1_000 + len(text) + 100 * text.count("\n")
            digests += [self._seen.digest(name, _EVERYTHING)] if cost > 5 * _MOST_FOREIGN else self._digests(name, text)
        self._seen.begin([*digests, *map(self._fact_digest, facts)])

    def record(self, name: str, before: str, after: str) -> None:
        """See :meth:`Trusting.record`. Before writing, so that a crash in between does not withhold
        the user's own memory.

        ``before`` is judged first, because git can no longer say where a line came from once this machine changed it.
        A withheld passage that the write moves or changes stays withheld.
        """
        flush = not self._folder
        withheld = self._withheld(name, before)
        if not withheld and not self._seen.listed(TRUSTED):
            self._seen.add(OWN, [*self._digests(name, _added(before, after)), self._whole(name, after)], flush=flush)
            return
        old, new = self._digests(name, before) if withheld else {}, self._digests(name, after)
        foreign = {self._seen.digest(name, passage.key) for passage in withheld}
        tainted = foreign | _changed(list(old), list(new), foreign)
        same = {part for passage in withheld for part in (passage.text, passage.identity) if part}
        tainted |= {digest for digest, passage in new.items() if passage.text in same or passage.identity in same}
        self._seen.add(BEFORE, tainted, flush=flush)
        self._seen.add(OWN, (digest for digest in new if digest not in old and digest not in tainted), flush=flush)

    def record_facts(self, facts: Iterable[Fact]) -> None:
        digests = (digest for fact in facts for digest in (self._fact_digest(fact), self._exact_digest(fact)))
        self._seen.add(OWN, digests, flush=False)
        self.settle()

    def settle(self) -> None:
        self._seen.settle(OWN)

    def accept(self, documents: Mapping[str, Iterable[Passage]], facts: Iterable[Fact]) -> None:
        facts = tuple(facts)
        parts = ((name, part) for name in documents for passage in documents[name] for part in _parts(passage))
        digests = [self._seen.digest(name, part.key) for name, part in parts]
        self._seen.add(TRUSTED, [*digests, *map(self._fact_digest, facts), *map(self._exact_digest, facts)])

    # judging

    @property
    def stamp(self) -> str:
        return f"{self._seen.stamp} {trusts_all(self._root)}"

    def file_stamp(self, name: str) -> str:
        with suppress(OSError):
            status = os.stat(os.path.join(self._root, self._folder, name)) if self._folder else None
            return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {self.stamp}" if status else ""
        return ""

    def sift(self, name: str, text: str) -> Sifted:
        is_whole = sum(self._costs.values()) - self._costs.get(name, 0) > _MOST_FOREIGN
        shown = withheld = [] if not text or trusts_all(self._root) else self._withheld(name, text, is_whole=is_whole)
        if any(passage.identity for passage in withheld):  # below the tables, a handoff repeats all of them for people
            end = text.find(_FENCE, 1) + len(_FENCE)
            text = text[:end] + _blank(text[end:])
            shown = [passage for passage in withheld if passage.end <= end]
        parts, at = [], 0
        for passage in shown:
            parts += [text[at : passage.start], _blank(text[passage.start : passage.end])]
            at = passage.end
        return Sifted("".join([*parts, text[at:]]), tuple(withheld))

    def withheld_facts(self, facts: Iterable[Fact]) -> list[Fact]:
        listed = self._seen.listed(OWN, TRUSTED)
        unknown = [(fact, digest) for fact in facts if (digest := self._fact_digest(fact)) not in listed]
        if not unknown or trusts_all(self._root):
            return []
        withheld = [fact for fact, _ in unknown]
        foreign = self._seen.listed(FOREIGN)
        pending = {digest for _, digest in unknown if self._foreign_digest(digest) not in foreign}
        if not pending or not self._facts or not self._seen.has_begun:
            return withheld
        data = b""
        with suppress(OSError):
            data = safeopen.read(os.path.join(self._root, self._facts), private=False)
        lines = [line.rstrip() for line in data.decode("utf-8", "replace").split("\n")]
        sealed: list[_Pending] = []
        typed: list[_Pending] = []
        for number, line in enumerate(lines, 1):
            row = untrusted.table(line.encode()) if line else None
            if row is None:
                continue
            values = [str(row.get(key, "")) for key in _STATED]
            if (digest := self._seen.digest(FACTS, *values)) in pending:
                # The store seals each line that it writes, also a remote's, so only an editor leaves an unsealed line.
                (sealed if "crc" in row else typed).append((digest, [number], values[1]))
        if not typed and not self._trusted_authors:
            return withheld
        origins = self._origins(self._facts, lines)
        own = self._settle(typed, origins) | self._settle(sealed, origins._replace(here=()) if origins else None)
        return [fact for fact, digest in unknown if digest not in own]

    def _withheld(self, name: str, text: str, *, is_whole: bool = False) -> list[Passage]:
        """The passages that are neither recorded nor the user's own, or ``is_whole`` all of it where there are any.
        Those below a heading that the user accepted need only lines of their own."""
        self._costs.pop(name, None)
        allowed, whole = self._seen.listed(OWN, TRUSTED), _as_one(text)
        if not text or self._whole(name, text) in allowed.lists[0] or self._seen.digest(name, whole.key) in allowed:
            return []
        known: set[int] = set()
        unknown: list[tuple[Passage, str]] = []
        for passage in _passages(text):
            digest = self._seen.digest(name, passage.key)
            if digest in allowed:
                known.add(passage.line)
            elif is_whole:
                return [whole]
            else:
                unknown.append((passage, digest))
        if unknown:
            self._costs[name] = 1_000 + 100 * len(unknown)
        foreign = self._seen.listed(FOREIGN)
        pending = [(passage, digest) for passage, digest in unknown if self._foreign_digest(digest) not in foreign]
        is_long = len(text) > _MOST_CHARS or text.count("\n") > _MOST_BLAMED
        if not pending or is_long or not self._folder or not self._seen.has_begun:
            return [passage for passage, _ in unknown]
        began = time.monotonic()
        origins = self._origins(f"{self._folder}/{name}", [line.rstrip() for line in text.split("\n")])
        self._costs[name] += len(text) + int(1_000_000 * (time.monotonic() - began))
        if origins and self._seen.digest(name, _EVERYTHING) in self._seen.listed(BEFORE):
            origins = origins._replace(here=())
        rows: list[_Pending] = [
            (digest, [*passage.lines, *(number for _, number in passage.above if number not in known)], passage.text)
            for passage, digest in pending
        ]
        if origins and origins.shared:
            keys = [passage.key if passage.above else "" for passage, _ in pending]
            here = frozenset(origins.here)
            rows = [_unless_rearranged(origins, here, *both) for both in zip(keys, rows, strict=True)]
        settled = self._settle(rows, origins)
        return [passage for passage, digest in unknown if digest not in settled]

    def _settle(self, rows: Sequence[_Pending], origins: Origins | None) -> set[str]:
        """Record and return the digests whose lines are all the user's own; record the others as foreign."""
        if origins is None:
            return set()
        authors, before = frozenset(origins.authors), self._seen.listed(BEFORE)
        own = {digest for digest, numbers, _ in rows if authors.issuperset(numbers)}
        here = authors.union(origins.here)
        typed = {d: text for d, numbers, text in rows if d not in own and d not in before and here.issuperset(numbers)}
        strange = self._repeating(typed.values()) if typed else set()
        own.update(digest for digest, text in typed.items() if text not in strange)
        self._seen.add(OWN, [*sorted(own), *(self._seen.digest(_TYPED, digest) for digest in sorted(own))], flush=False)
        foreign = (self._foreign_digest(digest) for digest, _, _ in rows if digest not in own)
        self._seen.add(FOREIGN, foreign, flush=False)
        return own

    def _origins(self, path: str, lines: Sequence[str]) -> Origins | None:
        from holdfast_app.trust import gitlines  # only when something is new

        return gitlines.origins(self._root, os.path.normpath(path), lines, self._trusted_authors)

    @cached_property
    def _trusted_authors(self) -> tuple[str, ...]:
        """``[trust] authors`` of the user's own file, sorted. A project cannot say whose commits count."""
        try:
            table = settings.user_raw()[0].get("trust")
        except ConfigError:
            return ()  # reported by the code that needs the settings
        authors = table.get("authors") if isinstance(table, dict) else None
        return tuple(sorted({name for name in authors if isinstance(name, str)})) if isinstance(authors, list) else ()

    def _foreign_digest(self, digest: str) -> str:
        return self._seen.digest("foreign", digest, *self._trusted_authors)

    def _whole(self, name: str, text: str) -> str:
        """A whole document's digest when nothing of it is withheld, so that its passages are not judged again."""
        return self._seen.digest("whole", name, text)

    def _digests(self, name: str, text: str) -> dict[str, Passage]:
        """The document's passages by their digests, in order."""
        return {self._seen.digest(name, passage.key): passage for passage in _passages(text)}

    def _fact_digest(self, fact: Fact) -> str:
        return self._seen.digest(FACTS, *(str(getattr(fact, key)) for key in _STATED))

    def _exact_digest(self, fact: Fact) -> str:
        """With all fields, also those that a store may change without the user."""
        return self._seen.digest(FACTS, self._fact_digest(fact), str(fact.confidence), fact.created_at.isoformat())

    def is_as_written(self, name: str, text: str) -> bool:
        """Whether this machine wrote the whole document so. Unknown, so true, once the user accepted something."""
        return bool(self._seen.listed(TRUSTED)) or self._whole(name, text) in self._seen.listed(OWN)

    def unrecorded(self, name: str, text: str) -> list[Passage]:
        """The passages that neither holdfast wrote here nor the user accepted, in order."""
        own = self._seen.listed(OWN, TRUSTED)
        if self._whole(name, text) in own:
            return []
        parts = self._digests(name, text).items()
        return [part for digest, part in parts if digest not in own or self._seen.digest(_TYPED, digest) in own]

    def unrecorded_facts(self, facts: Iterable[Fact]) -> list[Fact]:
        """The facts with a field that neither holdfast wrote here nor the user accepted."""
        own = self._seen.listed(OWN, TRUSTED)
        return [fact for fact in facts if self._exact_digest(fact) not in own]

    # documents that must still exist

    def stored(self) -> list[str]:
        lines = filter(None, self._stored.read().data.decode("utf-8", "replace").split("\n"))
        there = {line.removeprefix(_DELETED): not line.startswith(_DELETED) for line in lines}
        return sorted(name for name, is_there in there.items() if is_there)

    def confirm(self, name: str, text: str) -> None:
        """Record a document created here. After a power cut the record can be gone."""
        if name in self.stored():
            return
        first, own = next(iter(_passages(text)), None), self._seen.listed(OWN)
        if first is None or self._seen.digest(name, first.key) in own or self._whole(name, text) in own:
            private.make(self._state)
            durable.append(self._stored.path, f"\n{name}\n".encode(), flush=False, undo=False)

    def delete(self, name: str) -> None:
        if name in self.stored():
            durable.append(self._stored.path, f"\n{_DELETED}{name}\n".encode(), undo=False)


def _unless_rearranged(origins: Origins, here: frozenset[int], key: str, row: _Pending) -> _Pending:
    """``row``, without a line of the user's where all are from here and only others put them together. ``key`` is
    empty for a passage below nothing."""
    digest, numbers, text = row
    is_judged = not key or not here.issuperset(numbers)
    return row if is_judged or all(made.has_put(key, numbers) for made in origins.shared) else (digest, (0,), text)


def _is_long(text: str) -> bool:
    return len(text) > _MOST_CHARS or text.count("\n") > _MOST_LINES


def _passages(text: str) -> Iterable[Passage]:
    if not _is_long(text):
        return passages.split(text)
    return passages.sections(text) if text.count("\n#") <= _MOST_LINES else [_as_one(text)]


def _as_one(text: str) -> Passage:
    return Passage(0, len(text), 1, text.rstrip(), ())


def _parts(passage: Passage) -> Iterable[Passage]:
    """The passage, and those in it where it is a whole document."""
    return (passage, *_passages(passage.text)) if passage.key == _as_one(passage.text).key else (passage,)


def _added(before: str, after: str) -> str:
    """The part of ``after`` whose passages may be new: a block added below the title, or all of it."""
    added = after.removeprefix(before).lstrip("\n")
    if not before or len(added) >= len(after) or not added.startswith("## ") or _is_long(after):
        return after
    title = before[before.rfind("\n# ") + 1 :] if "\n# " in before else before
    return (title.partition("\n")[0] + "\n\n" if title.startswith("# ") else "") + added


def _changed(old: list[str], new: list[str], foreign: set[str]) -> set[str]:
    """The digests in ``new`` that replace a foreign digest of ``old``, as masking or shortening does."""
    replacing: set[str] = set()
    if not foreign:
        return replacing
    from difflib import SequenceMatcher

    if len(old) * len(new) > _MOST_COMPARED:
        return set(new) - set(old)
    for kind, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "replace" and not foreign.isdisjoint(old[start:end]):
            replacing.update(new[first:last])
    return replacing


def _blank(text: str) -> str:
    return "\n" * text.count("\n")


def trusts_all(root: str) -> bool:
    """Whether ``HOLDFAST_TRUST`` gives agents all memory of the project at ``root``, as in CI.

    It holds the digest of all project settings that need trust. For a project without such settings, that is the
    digest of ``{}``. Never raises because of a project's contents.
    """
    named = os.environ.get(trust.VARIABLE, "").strip()
    with suppress(HoldfastError):
        return bool(named) and named == trust.digest(resolved.portable(root))
    return False


def sentence(withheld: Mapping[str, int], *, facts: int = 0, names: bool = False) -> str:
    """A sentence that counts withheld passages. Empty without any. With ``names`` it lists documents: for people,
    or the layout's own, because a clone can choose other names."""
    number = sum(withheld.values())
    parts = [f"{count(number, 'passage')} of {count(len(withheld), 'document')}"] if number else []
    parts += [f"{facts:,} of the stored facts"] if facts else []
    if not parts:
        return ""
    shown = f" ({', '.join(sorted(withheld)[:3])}{', ...' if len(withheld) > 3 else ''})" if withheld and names else ""
    why = "they may have come with a clone, a pull or a page that an agent read"
    return f"Withheld, because {why}: {' and '.join(parts)}{shown}."
