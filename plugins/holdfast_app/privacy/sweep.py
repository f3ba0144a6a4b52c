"""Every place that can hold session content, and a single walk through them all.

A purge and a scrub differ only in how they change a string, given as an :class:`~holdfast_app.privacy.transforms.Edit`.
:class:`Walk` applies it to facts, documents, journals, UNSAFE markers and every other file in the private folder and
the store folder. A new holdfast component that keeps a file there is covered without being named here. Repeating the
walk completes an interrupted one.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from typing import Any, Final

from attrs import define, field

from holdfast.config.layout import Surface
from holdfast.config.serde import moment
from holdfast.errors import Corrupt, DuplicateFact, HoldfastError, NotFound
from holdfast.fs import durable, private, safeopen
from holdfast.journal import emergency_log, safety
from holdfast.journal.journal import file_stem
from holdfast.models import Fact
from holdfast.storage import Capability, Remove, delete_fact
from holdfast_app import progress
from holdfast_app.authorship.sessions import PURGED, note_purged
from holdfast_app.base import Services
from holdfast_app.data_loss import FORGOTTEN, note_forgotten, rewrite
from holdfast_app.facts.rejected import Rejected, key_of
from holdfast_app.journal import past
from holdfast_app.journal.journal import Journal, retire, session_files, session_id_of
from holdfast_app.privacy import transforms
from holdfast_app.privacy.transforms import Changed, Edit, Left, Report, edited, is_database, is_temporary
from holdfast_app.project_settings.files import config_file
from holdfast_app.project_settings.statefolder import INDEX_SEEN
from holdfast_app.records import packs
from holdfast_app.sessions import rewriting
from holdfast_app.trust import statefolders
from holdfast_redaction.mark import KEY_FILE

#: The purge's own files.
TOMBSTONES, TOMBSTONE_KEY = "tombstones.jsonl", "tombstones.key"
#: Files that hold nothing from memory. Plugins declare theirs, see docs/hooks.md.
_WITHOUT_CONTENT: Final = frozenset(
    {".gitignore", private.MARK, INDEX_SEEN, TOMBSTONES, TOMBSTONE_KEY, FORGOTTEN, KEY_FILE, PURGED}
)

#: Maximum wait, in seconds, for a session being flushed.
_WAIT_S: Final = 20.0
_ROUNDS: Final = 3


@contextmanager
def alone(services: Services) -> Iterator[None]:
    """While no other purge, scrub or retention runs. Raises: Unavailable when one does."""
    private.make(services.state)
    with durable.lock(services.private("purge.lock"), timeout_s=0.2):
        yield


def carry_out(services: Services, edit: Edit, forget: Callable[[], None], *, dry_run: bool = False) -> Report:
    """Edit every place, walk them all again and search every byte, up to three times, because a flush in progress may
    write removed data again. No dream runs meanwhile, because it would write data it read earlier. With ``dry_run``
    walk once and write nothing.

    Raises: Unavailable when a dream is in progress.
    """
    if dry_run:
        walk = Walk(services=services, edit=edit, dry_run=True)
        walk.run()
        return Report(dry_run=True, changed=tuple(walk.changed), left=tuple(walk.left), elsewhere=tuple(walk.foreign))
    held = services.private("dream.lock") if os.path.isdir(services.state) else ""
    changed: list[Changed] = []
    failed: dict[str, Left] = {}  # also what is gone now, because a failing disk can bring it back
    why, step = "It still holds data that should have been removed.", "Remove it manually."
    with durable.lock(held, timeout_s=_WAIT_S) if held else nullcontext():
        for _ in range(_ROUNDS):
            walk = Walk(services=services, edit=edit, held=held, forget=forget)
            walk.run()
            changed += walk.changed
            check = Walk(services=services, edit=edit, dry_run=True)
            check.run()
            holding, files, size = check.search()
            foreign = {*check.foreign, *filter(check.is_foreign, holding)}
            names = [*(change.name for change in check.changed), *(name for name in holding if name not in foreign)]
            left = {name: Left(name=name, why=why, next_step=step) for name in names}
            left |= {place.name: place for place in check.left}
            failed |= {place.name: place for place in walk.left}
            if not left and not walk.left:
                break
    remaining, elsewhere = tuple((failed | left).values()), tuple(sorted(foreign))
    return Report(dry_run=False, changed=tuple(changed), left=remaining, elsewhere=elsewhere, files=files, size=size)


@define(kw_only=True)
class Walk:
    """One walk through all places. With ``dry_run`` nothing is written, not even a lock."""

    services: Services
    edit: Edit
    dry_run: bool = False
    held: str = ""  # a lock file already held by the caller
    forget: Callable[[], None] = field(default=lambda: None)  # removes from derived files what was removed
    changed: list[Changed] = field(factory=list)
    left: list[Left] = field(factory=list)
    #: Third-party files in folders shared with the store: read, never changed.
    foreign: list[str] = field(factory=list)
    #: Names of the removed journals, which packs may still have.
    unpacked: set[str] = field(factory=set)

    def run(self) -> None:
        """Edit every place. A place that fails is reported in ``left``, and the others are still edited."""
        self.edit.begin(self.services)
        for aside in statefolders.apart(self.services.root, self.services.state):
            why = "This state is of another user, machine or layout, or of a copied project, and is never read."
            step = "Run `holdfast trust --adopt-state` and repeat this, or remove the state manually."
            self.left.append(Left(name=self._shown(aside), why=why, next_step=step))
        doing = "Checking" if self.dry_run else "Editing"
        self._guarded("facts", self._facts, f"{doing} facts")
        for path in progress.each(list(self._loose_files()), f"{doing} files"):
            self._guarded(self._shown(path), self.file, path)
        surface_of = self.services.layout.surface_of  # trails first: notes identify a session's blocks in them
        names = sorted(self.services.store.names(), key=lambda name: (surface_of(name) is not Surface.TRAIL, name))
        for name in progress.each(names, f"{doing} documents"):
            self._guarded(name, self._document, name)
        # Journals last, because they identify a session's data, even when an interrupted walk is repeated.
        for path in progress.each(session_files(self.services.state, packed=True), f"{doing} journals"):
            self._guarded(self._shown(path), self._session, path)
        if not self.dry_run:
            self._guarded(past.FOLDER, packs.compact, self.services.state, self.unpacked)
        for note in emergency_log.notes(self.services.state):
            if note.away and self.edit.session(note.stem, None):  # only the user's folder names this session
                if not self.dry_run:
                    self._guarded(note.stem, emergency_log.clear, self.services.state, note.stem)
                self._note("journals", note.stem, removed=True)
        if not self.dry_run:
            # Even when nothing changed, because an interrupted run may have left only this undone.
            self._guarded(f"{private.DERIVED} files", self.forget)
            self._guarded("the store", self.services.store.backend.compact)

    def _guarded(self, name: str, step: Callable[..., object], *args: Any) -> None:
        try:
            step(*args)
        except HoldfastError as error:
            self.left.append(Left(name=name, why=error.message, next_step=error.next_step))

    def _shown(self, path: str) -> str:
        return os.path.relpath(path, self.services.root).replace(os.sep, "/")

    # --- sessions

    def _session(self, path: str) -> None:
        session_id = session_id_of(path)
        if session_id is None and not self.dry_run:  # its writer may have just created it
            with private.lock(path, timeout_s=_WAIT_S):
                session_id = session_id_of(path)
        if session_id is None or (journal := Journal(self.services.state, session_id)).path != path:
            self.file(path)  # damaged at its beginning, or not written by holdfast
            return
        if self.dry_run:
            self._edit_session(journal)
        elif os.path.lexists(path) or self._would_change(journal):  # an unchanged packed journal needs no lock
            with durable.lock(journal.flush_lock_path, timeout_s=_WAIT_S):  # a flush in progress would write it again
                if self._edit_session(journal):
                    retire(journal.flush_lock_path)

    def _would_change(self, journal: Journal) -> bool:
        return self.edit.session(journal.session_id, last_said(journal)) or self._rewrite(journal, dry_run=True) > 0

    def _rewrite(self, journal: Journal, *, dry_run: bool) -> int:
        edit = self.edit
        return rewriting.rewrite(journal, edit.record, lambda line: edit.other("", line) == line, dry_run=dry_run)

    def _edit_session(self, journal: Journal) -> bool:
        """Edit the journal and the UNSAFE marker. Returns whether the whole session was removed."""
        marker = safety.path_of(self.services.state, journal.session_id)
        if self.edit.session(journal.session_id, last_said(journal)):
            if not self.dry_run:
                forget_marker(self.services.state, journal.session_id)
                rewriting.erase(journal)
                self.unpacked.add(journal.stem)
            self._note("journals", self._shown(journal.path), removed=True)
            return True
        if os.path.exists(marker):
            self.file(marker)
        if count := self._rewrite(journal, dry_run=self.dry_run):
            self._note("journals", self._shown(journal.path), count)
        return False

    # --- the store

    def _document(self, name: str) -> None:
        services = self.services
        surface = services.layout.surface_of(name)
        try:
            document = services.store.read(name)
        except Corrupt:
            self._unreadable(surface, name)
            return
        if document is None:
            return
        new = self.edit.document(surface, name, document.text)
        if new == document.text:
            return
        if surface is None and services.layout.prefixes() != [""]:
            self.foreign.append(name)
            return
        if not self.dry_run:
            self._forget(name)
            note_purged(services.state, document.text, new or "")
            with services.store.turn(""):  # a flush reads back what it wrote first
                if new is None:
                    services.store.delete(name)
                else:
                    services.store.change(
                        surface or "", name, lambda text: self.edit.document(surface, name, text or "") or ""
                    )
        self._note("documents", name, removed=new is None)

    def _forget(self, name: str) -> None:
        if not self.edit.session("", None):  # all receipts are removed, too
            note_forgotten(self.services, name)

    def _unreadable(self, surface: Surface | None, name: str) -> None:
        """Remove a document the store cannot read, or edit its bytes when it is a file. Raises: Corrupt."""
        if self.edit.document(surface, name, "") is None:
            if not self.dry_run:
                self._forget(name)
                self.services.store.delete(name)
            self._note("documents", name, removed=True)
        elif Capability.LOCAL_FILES in self.services.store.backend.capabilities:
            self.file(os.path.join(self.store_folder, *name.split("/")))
        else:
            self.services.store.read(name)

    def _facts(self, activity: str) -> None:
        backend = self.services.store.backend
        pairs = [(fact, self.edit.fact(fact)) for fact in progress.each(list(backend.facts()), activity)]
        gone = [fact for fact, new in pairs if new is None]
        changed = [(fact, new) for fact, new in pairs if new is not None and new != fact]
        if not self.dry_run:
            if gone:
                if self.edit.rejects:
                    Rejected(self.services).add([key_of(fact.content) for fact in gone], self.services.clock())
                backend.commit([Remove(fact.id) for fact in gone])
            for old, new in changed:
                self._update(old, new)
        for count, removed in ((len(gone), True), (len(changed), False)):
            if count:
                self._note("facts", "facts", count, removed=removed)

    def _update(self, old: Fact, new: Fact) -> None:
        store = self.services.store
        try:
            store.update_fact(old.id, content=new.content, source=new.source)
        except DuplicateFact:  # without their difference two facts are duplicates
            delete_fact(store.backend, old.id)
        except NotFound:
            return  # another process removed it first

    # --- files

    def _loose_files(self) -> Iterator[str]:
        """Every file in the private and store folders except documents, journals and the store's own files."""
        state = self.services.state
        sessions = filter(None, map(session_id_of, session_files(state)))
        apart = {safety.path_of(state, session) for session in sessions}
        apart |= {os.path.join(state, name) for name in _WITHOUT_CONTENT}
        derived = tuple(os.path.join(state, name, "") for name in (private.DERIVED, past.FOLDER))
        journals = os.path.join(state, "sessions", "")  # also those that another process has just begun
        for path in transforms.files(state):
            is_loose = path not in apart and not path.startswith(derived) and not path.endswith(".lock")
            if is_loose and not (path.startswith(journals) and path.endswith((".jsonl", ".hint"))):
                yield path
        ours = self.services.layout.prefixes() == [""]
        local = Capability.LOCAL_FILES in self.services.store.backend.capabilities
        stored = {self.services.config.storage.facts, *self.services.store.names()} if local else set()
        for path in self.store_files():
            name = os.path.relpath(path, self.store_folder).replace(os.sep, "/")
            loose = ours and name not in stored and not name.rpartition("/")[2].startswith(".git")
            if is_temporary(path) or (loose and not _is_database(path) and not name.endswith(".lock")):
                yield path

    def store_files(self) -> Iterator[str]:
        """The files in the store's folders, without the private folder."""
        prefixes = self.services.layout.prefixes()
        elsewhere = (self.services.state + os.sep, self.services.state + private.ASIDE)
        if prefixes != [""]:
            yield from transforms.files(self.store_folder, deep=False)
        for prefix in prefixes:
            folder = os.path.join(self.store_folder, prefix) if prefix else self.store_folder
            yield from (path for path in transforms.files(folder) if not path.startswith(elsewhere))

    @property
    def store_folder(self) -> str:
        return os.path.normpath(os.path.join(self.services.root, self.services.config.storage.path))

    def file(self, path: str) -> None:
        """Edit a file by its format, see :mod:`holdfast_app.privacy.transforms`."""
        lock = os.path.splitext(path)[0] + ".lock"
        shared = path.endswith((".jsonl", ".log"))  # other processes append to it, and may have just created it
        is_locked = not self.dry_run and lock != self.held and (shared or os.path.exists(lock))
        with private.lock(path, timeout_s=_WAIT_S) if is_locked else nullcontext():
            data = None
            with durable.reporting(path, "read"), suppress(FileNotFoundError):
                data = safeopen.read(path, private=False)
            new, count = edited(self.edit, path, data) if data is not None else (None, 0)
            if new == data:
                return
            if not self.dry_run:
                rewrite(path, new)
                if self._shown(path).endswith(f"/{self.services.config.storage.facts}"):  # of a file store not in use
                    durable.remove(self.services.private("facts.mark"))  # it would miss what was removed
            kind = "markers" if os.path.basename(os.path.dirname(path)) == "unsafe" else "private files"
            self._note(kind, self._shown(path), count, removed=new is None)

    def _note(self, kind: str, name: str, count: int = 1, *, removed: bool = False) -> None:
        self.changed.append(Changed(kind=kind, name=name, count=count, removed=removed))

    # --- the proof

    def search(self) -> tuple[list[str], int, int]:
        """Search every byte of every file, and all file and document names, for data that must be gone.

        Returns the places that hold it, and how many files and bytes were searched. Raises: Unavailable.
        """
        needles = self.edit.traces()
        holding: list[str] = []
        files = size = 0
        settings_file = config_file(self.services.root)  # mostly in the store's folder, too
        places = (*transforms.files(self.services.state), *self.store_files(), *filter(None, [settings_file]))
        for path in progress.each(list(dict.fromkeys(places)), "Searching every file"):
            files += 1
            with suppress(OSError):  # removed meanwhile
                size += os.path.getsize(path)
            shown = self._shown(path)
            if any(needle.in_text(shown) for needle in needles) or transforms.in_file(path, needles):
                holding.append(shown)
        return holding, files, size

    def is_foreign(self, shown: str) -> bool:
        """Whether the file is a user's file or the settings, not holdfast's own."""
        path = os.path.join(self.services.root, *shown.split("/"))
        if path.startswith(self.services.state + os.sep):
            return False
        if path == config_file(self.services.root):
            return True
        if self.services.layout.prefixes() == [""] or _is_database(path):
            return False
        name = os.path.relpath(path, self.store_folder).replace(os.sep, "/")
        return name != self.services.config.storage.facts and self.services.layout.surface_of(name) is None


def forget_marker(state: str, session_id: str) -> None:
    """Remove every record that the session is UNSAFE, for a purge. Raises: Unavailable."""
    path, stem = safety.path_of(state, session_id), file_stem(session_id)
    folder, name = os.path.split(path)
    with suppress(OSError):
        for file in safeopen.names(folder):
            if file.startswith(f"{name}.damaged-"):
                durable.remove(os.path.join(folder, file))
    durable.remove(safety.copy_of(state, stem))
    durable.remove(path)
    if os.path.isdir(folder):
        durable.fsync_dir(folder)  # a finished flush's marker was removed without, and would be flushed again
    emergency_log.clear(state, stem)


def forget_derived(state: str, but: str) -> None:
    """Remove files derived from stored data after an edit, except ``but``. Each is removed under its lock, so a process
    that derives from data it read earlier has ended by then. Raises: Unavailable."""
    for path in list(transforms.files(os.path.join(state, private.DERIVED))):
        if not path.endswith(".lock") and not path.startswith(but):
            with private.lock(path, timeout_s=_WAIT_S):
                durable.remove(path)


def last_said(journal: Journal) -> datetime | None:
    """The journal's newest record time, or the file's time when the journal cannot be read."""
    last: datetime | None = None
    try:
        for entry in journal.entries():
            if at := entry.record.get("at") or (entry.record.get("receipt") or {}).get("at"):
                last = max(filter(None, (last, moment(at))))
    except (HoldfastError, ValueError, TypeError, AttributeError):
        return datetime.fromtimestamp(os.stat(journal.path).st_mtime, UTC) if os.path.exists(journal.path) else None
    return last


def _is_database(path: str) -> bool:
    for side in ("-wal", "-shm", "-journal"):
        path = path.removesuffix(side)
    return is_database(path)
