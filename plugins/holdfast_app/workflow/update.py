"""Reading and updating the three files of document 004. Checks precede all writes, entries go only under their anchors,
all existing text stays, and the files use the same gate and store as other documents."""

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from operator import itemgetter

from attrs import evolve, frozen

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError, NotFound
from holdfast.fs import paths
from holdfast.models import CuratedEntry, Written
from holdfast.storage import Document
from holdfast_app.authorship import witness
from holdfast_app.base import Services
from holdfast_app.validation import validate
from holdfast_app.workflow import sections
from holdfast_app.workflow.three import ANCHORS, FILES, TITLES, Deliverable, MemoryUpdate, entries_of, path_of

#: The line that records an explicit "no change" (reading A55). It is replaced each time, so it does not accumulate.
_NO_CHANGE = "No change:"
_NO_CHANGE_ANCHOR = "## Decisions"

Table = Mapping[Surface, Mapping[str, Sequence[CuratedEntry]]]
Edited = Callable[[str | None], sections.Edit]


@frozen(kw_only=True)
class FileChange:
    """The change to one file: ``added`` entries and those already ``known``, both as ``(anchor, text)``. ``written`` is
    the proof, None when the file did not change."""

    surface: Surface
    name: str
    added: tuple[tuple[str, str], ...] = ()
    known: tuple[tuple[str, str], ...] = ()
    written: Written | None = None


@frozen(kw_only=True)
class Updated:
    """The three files in order. ``deferred`` lists deliverables without evidence, with reasons. ``repeated`` is true
    when the same update was already applied and nothing was left to do."""

    files: tuple[FileChange, ...]
    deferred: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    repeated: bool = False


def load(services: Services) -> tuple[Document, ...]:
    """The three files in the order active context, patterns, progress, each with its anchors checked.

    Raises: NotFound for a missing file; Corrupt for an unreadable file, or a missing or duplicate anchor;
    Unavailable. Nothing is written.
    """
    loaded = []
    for surface in FILES:
        name = services.layout.name(surface)
        document = services.store.read(name)
        if document is None:
            step = "`holdfast init --three-files` creates it; if it existed before, restore it from a copy."
            raise NotFound(f"{services.store.backend.where(name)} is missing.", next_step=step)
        sections.locate(document.text, ANCHORS[surface], name)
        loaded.append(document)
    return tuple(loaded)


def create(services: Services) -> tuple[list[str], list[str]]:
    """Create missing files and add missing anchors. Returns the names of files created or changed, and of files already
    complete. All are checked before the first is written, and changes made in between are kept.

    Raises: Corrupt when one cannot be read or added to; Refused; Conflict; Unavailable.
    """
    made, complete = dict[str, Surface](), list[str]()
    for surface in FILES:
        name = services.layout.name(surface)
        document = services.store.read(name)
        before = document.text if document else None
        if completed(services, surface, before) == before:
            complete.append(name)
        else:
            made[name] = surface
    for name, surface in made.items():
        services.store.change(surface, name, functools.partial(completed, services, surface))
    return [*made], complete


def completed(services: Services, surface: Surface, text: str | None) -> str:
    """The file with its missing anchors added, ready to store. Raises: Corrupt; Refused."""
    name = services.layout.name(surface)
    new = sections.complete(text, title=TITLES[surface], anchors=ANCHORS[surface], name=name)
    return new if new == text else services.gate.admit(new, surface=surface, name=name, previous=text, verbatim=True)


def admit(services: Services, table: Table) -> dict[Surface, dict[str, list[CuratedEntry]]]:
    """The entries as stored: redacted, without this machine's paths, on one line. Raises: Refused."""

    def clean(surface: Surface, text: str) -> str:
        line = paths.rewrite(text, services.root)
        for _ in range(2):  # as given, and as one line, where a secret that was wrapped looks like two words
            line = sections.line_of(services.gate.admit(line, surface=surface)) if line else line
        return line

    return {
        surface: {
            anchor: [evolve(e, text=clean(surface, e.text), replaces=clean(surface, e.replaces)) for e in entries]
            for anchor, entries in anchors.items()
        }
        for surface, anchors in table.items()
    }


def write(services: Services, table: Table, *, no_change: str = "") -> tuple[FileChange, ...]:
    """Write admitted entries to the files. ``no_change`` records the files left unchanged.

    All three are read, changed in memory and passed through the gate before the first is written. Each is then written
    by compare-and-swap and read back. Repeating adds nothing twice, so a retry completes work that a crash interrupted.
    Raises: NotFound, Corrupt or Refused, with nothing written; Conflict; Unavailable.
    """
    plans = []
    for surface, file in zip(FILES, load(services), strict=True):
        note, entries = no_change if surface is Surface.ACTIVE_CONTEXT else "", table.get(surface, {})
        edited = functools.partial(_edited, services, surface, entries, note)
        plans.append((surface, file.text, edited, edited(file.text)))
    return tuple(_write(services, *plan) for plan in plans)


def _edited(
    services: Services, surface: Surface, table: Mapping[str, Sequence[CuratedEntry]], no_change: str, text: str | None
) -> sections.Edit:
    """The file's ``text`` with the entries; called again with new text when another process wrote in between."""
    name = services.layout.name(surface)
    if text is None:
        raise NotFound(f"{name} has just been removed.", next_step="Restore it, then try again.")
    located = sections.locate(text, ANCHORS[surface], name)
    entries = {anchor: list(some) for anchor, some in table.items() if some}
    if no_change:
        old = next((item.text for item in located[_NO_CHANGE_ANCHOR].items if item.text.startswith(_NO_CHANGE)), "")
        entries.setdefault(_NO_CHANGE_ANCHOR, []).append(CuratedEntry(text=f"{_NO_CHANGE} {no_change}", replaces=old))
    edit = sections.insert(text, entries, name=name)
    if edit.text == text:
        return edit
    return edit._replace(text=services.gate.admit(edit.text, surface=surface, name=name, previous=text, verbatim=True))


def _write(services: Services, surface: Surface, old: str, edited: Edited, edit: sections.Edit) -> FileChange:
    def change(text: str | None) -> str:
        nonlocal edit
        edit = edited(text)
        return edit.text

    name = services.layout.name(surface)
    written = services.store.change(surface, name, change) if edit.text != old else None
    added, known = (tuple(sorted(some, key=itemgetter(0))) for some in (edit.added, edit.known))
    return FileChange(surface=surface, name=name, added=added, known=known, written=written)


def update(services: Services, changes: MemoryUpdate, *, no_change: str = "") -> Updated:
    """Run a whole UPDATE: admit entries, sort deliverables by evidence, write files.

    Raises: Refused for a pointer that exists only on this machine, and as :func:`write`.
    """
    for deliverable in changes.verified_deliverables:
        paths.check_pointer(paths.rewrite(deliverable.evidence.strip(), services.root), "evidence")
    changes = evolve(changes, verified_deliverables=[_checked(services, d) for d in changes.verified_deliverables])
    admitted = admit(services, entries_of(changes))
    # Apart, because within an entry neither is a sentence.
    parts = (part for entry in changes.verified_deliverables for part in (entry.text, entry.command) if part)
    witness.check(services, parts, services.layout.name(Surface.PROGRESS))
    for surface, anchors in admitted.items():
        texts = (entry.text for entries in anchors.values() for entry in entries)
        witness.check(services, texts, services.layout.name(surface))
    files = write(services, admitted, no_change=no_change)
    deferred = [f"{d.text}: {d.problem}" for d in changes.verified_deliverables if not d.proof]
    written = [change.name for change in files if change.written]
    findings = validate(services, written).findings if written else ()
    unmasked = (finding for finding in findings if finding.replacement is None)
    warnings = tuple(f"{finding.name}: {finding.message} ({finding.rule})" for finding in unmasked)
    masked = services.gate.admit_all(deferred, surface=Surface.PROGRESS)
    return Updated(files=files, deferred=tuple(masked), warnings=warnings)


def _checked(services: Services, deliverable: Deliverable) -> Deliverable:
    """The deliverable, its evidence marked when it is a path that does not exist."""
    path = path_of(paths.rewrite(deliverable.evidence.strip(), services.root))
    inside = os.path.normpath(os.path.join(services.root, *path.split("/")))
    if not path or (os.path.commonpath((inside, services.root)) == services.root and os.path.exists(inside)):
        return deliverable
    with suppress(HoldfastError):
        if services.store.read(path) is not None:
            return deliverable
    return evolve(deliverable, evidence=f"{deliverable.evidence.strip()} (not in the project)")
