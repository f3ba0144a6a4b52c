"""Documents as logs of versions, blocks and deletions."""

import re
from contextlib import suppress
from typing import Final, NamedTuple

from holdfast import storage
from holdfast.errors import Corrupt, NotFound, Refused
from holdfast.storage import (
    ABSENT,
    ComposedBackend,
    Document,
    block_ids,
    changed_between,
    check_block,
    check_name,
    no_document,
    sha256,
)
from holdfast_gitea.index import PREFIX, Entry, decoded, encoded
from holdfast_gitea.log import TRIES, Log
from holdfast_gitea.log_view import LogView, overtaken
from holdfast_gitea.marker import readable
from holdfast_gitea.replay import BLOCK, DELETED, VERSION, number

TITLE: Final = PREFIX + "doc:"
#: Bytes of UTF-8. A proxy in front of the server often accepts at most 1 MB, and JSON escapes add to the length.
MOST_OF_DOCUMENT: Final = 512 << 10
MOST_OF_BLOCK: Final = 64 << 10
#: The line above the text in an issue body.
COPY: Final = "The newest version, as a copy: what counts are the comments."
#: Maximum length of a title, in bytes of UTF-8. Servers silently cut off the rest.
_MOST_OF_TITLE: Final = 255
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class State(NamedTuple):
    """A document's state in its log. ``text`` is None when the document does not exist."""

    text: str | None
    blocks: frozenset[str]

    @property
    def revision(self) -> str:
        return ABSENT if self.text is None else sha256(self.text)


class Documents(ComposedBackend):
    log: Log

    def read(self, name: str) -> Document | None:
        title = _title(name)
        with self.log.reading():
            state = state_of(self.log.load(title))
        return None if state.text is None else Document(name=name, text=state.text, revision=state.revision)

    def write(self, name: str, text: str, expected: str | None = None) -> str:
        title = _title(name)
        check_text(text, name, MOST_OF_DOCUMENT)
        with self.log.writing():
            for _ in range(TRIES):
                view = self.log.load(title)
                state = state_of(view)
                if expected not in (None, state.revision):
                    raise changed_between(name)
                if state.text == text:
                    return state.revision
                with suppress(NotFound):  # the issue was removed meanwhile, see :mod:`holdfast_gitea.compaction`
                    if self._version(view, state, name, text):
                        return sha256(text)
        raise overtaken(title)

    def append(self, name: str, block: str, header: str, block_id: str) -> str:
        title = _title(name)
        check_text(header + block, name, MOST_OF_BLOCK)
        check_block(name, block, header, block_id)
        record_id = ""
        with self.log.writing():
            for _ in range(TRIES):
                view = self.log.load(title)
                state = state_of(view)
                if block_id in state.blocks:
                    return state.revision
                if len((state.text or "").encode()) + len(block.encode()) > MOST_OF_DOCUMENT:
                    raise _too_long(name, MOST_OF_DOCUMENT)
                top = "" if state.text else header
                size = len(top.encode()) or ""
                note = readable(top + block) or "A block was added."
                try:
                    view = self.log.room(view)
                    view, record_id = self.log.post(
                        view, BLOCK, top + block, note, record_id, fold=1, block=encoded(block_id), top=size
                    )
                except NotFound:
                    continue  # the issue was removed meanwhile, see :mod:`holdfast_gitea.compaction`
                if view.accepts(record_id):
                    if state.text is None:
                        self.log.unmark(title)
                        self._close_past(title)
                    return state_of(view).revision
        raise overtaken(title)

    def delete(self, name: str) -> None:
        title = _title(name)
        with self.log.writing():
            for _ in range(TRIES):
                view = self.log.load(title)
                if state_of(view).text is None:
                    raise no_document(name)
                self.log.mark_deleted(view)
                view, record_id = self.log.post(view, DELETED, "", "It was deleted.")
                if view.accepts(record_id):
                    return
        raise overtaken(title)

    def names(self, prefix: str = "") -> list[str]:
        with self.log.reading():
            self.log.index.refresh()
            self.log.index.check_members()
            titles = self.log.index.titles()
            return sorted(
                title.removeprefix(TITLE)
                for title, entries in titles.items()
                if title.startswith(TITLE + prefix) and _is_name(title) and self._is_there(title, entries)
            )

    def number_of(self, name: str) -> int | None:
        """The document's issue number, as far as this machine knows."""
        known = self.log.index.known(TITLE + name)
        return known[-1].number if known else None

    def _is_there(self, title: str, entries: tuple[Entry, ...]) -> bool:
        used = [entry for entry in entries if entry.comments]
        if not used or not used[-1].deleted:
            return bool(used)  # without comments the issue was created, but nothing has been written to it yet
        with suppress(Corrupt):  # the mark is set before the deletion, so it has to be checked
            return state_of(self.log.load(title)).text is not None
        return True  # reading it reports the damage

    def _version(self, view: LogView, state: State, name: str, text: str) -> bool:
        full = view.is_full
        view = self.log.room(view)
        if full and state_of(view) != state:
            return False  # another writer was faster while this one made room
        note = "This is the document now." if state.text is None else "A new version."
        view, record_id = self.log.post(view, VERSION, text, note, root=1 if full else "")
        if not view.accepts(record_id):
            return False
        return self.log.show(view, record_id, text, COPY).accepts(record_id)

    def _close_past(self, title: str) -> None:
        """Close the issues of earlier days when a new day begins. This is for people, and nothing else reads it."""
        for other, entries in self.log.index.titles().items() if _DAY.search(title) else ():
            if other < title and _DAY.sub("\0", other) == _DAY.sub("\0", title):
                for entry in entries:
                    if entry.is_open:
                        self.log.close(entry.number)


def state_of(view: LogView) -> State:
    """The document in a log. Raises: Corrupt when its records were edited or deleted manually."""
    view.check()
    accepted = view.replay.accepted
    start = max((place for place, r in enumerate(accepted) if r.kind in (VERSION, DELETED)), default=0)
    there = False
    pieces: list[str] = []
    blocks: set[str] = set()
    for record in accepted[start:]:
        added: list[str] = []
        if record.kind == VERSION:
            there, added = True, [view.check_text(record)]
        elif record.kind == BLOCK:
            data, size = view.check_text(record).encode(), number(record.fields.get("top", ""))  # bytes of the header
            top, block = data[:size].decode(errors="ignore"), data[size:].decode(errors="ignore")
            if decoded(record.fields.get("block", "")) in blocks:
                continue  # two machines sent it at once
            last = pieces[-1] if pieces else top
            gap = "" if not last or last.endswith("\n") else "\n"
            there, added = True, [*([] if pieces else [top]), gap, block]
        pieces += [piece for piece in added if piece]
        blocks.update(block_id for piece in added for block_id in block_ids(piece))
    return State(text="".join(pieces) if there else None, blocks=frozenset(blocks))


def check_text(text: str, name: str, most: int) -> None:
    """Raises: Refused for a string that cannot be stored unchanged, or is longer than ``most`` bytes."""
    if len(storage.check_text(text, name).encode()) > most:
        raise _too_long(name, most)


def _title(name: str) -> str:
    title = TITLE + check_name(name)
    if len(title.encode()) > _MOST_OF_TITLE:
        raise Refused(f"The document name {name[:40]!r}... is too long for an issue title.", next_step="Shorten it.")
    return title


def _is_name(title: str) -> bool:
    """Whether a document can have this title. People may create issues with any title."""
    with suppress(Refused):
        return bool(check_name(title.removeprefix(TITLE)))
    return False


def _too_long(name: str, most: int) -> Refused:
    step = "Make it shorter, or use another backend for it."
    return Refused(f"The text for {name!r} is longer than {most >> 10} KiB, the limit for one issue.", next_step=step)
