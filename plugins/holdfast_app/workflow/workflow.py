"""LOAD when a workflow starts, UPDATE when it ends, and nothing in between (document 004, FR-2 to FR-4).

    (none)  --start-->  open    the three files were read, in order; only the record was written
    open    --start-->  open    read again
    open    --end-->    ended   its condition is stated and each file got an entry or an explicit "no change"

Open workflows are recorded in the private folder, so start and end may be different processes. Between the two, only
the triggers of :mod:`holdfast_app.workflow.observations` and explicit updates write to the memory.

The condition and the evidence are the caller's statements. holdfast does not judge the commands an agent runs.
"""

import hashlib
import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress

from attrs import evolve, frozen

from holdfast.config.serde import moment, stamp, unstructure
from holdfast.errors import BadValue, Corrupt, Refused
from holdfast.fs import private
from holdfast.storage import Document
from holdfast.text.plain import BOM
from holdfast_app.base import Services
from holdfast_app.records import json_file, recalled
from holdfast_app.trust import provenance
from holdfast_app.workflow import observations, update
from holdfast_app.workflow.three import CONDITIONS, WORKFLOWS, MemoryUpdate, update_from
from holdfast_app.workflow.update import Updated

_FOLDER = "workflows"


@frozen(kw_only=True)
class Record:
    """The stored record of a workflow. ``state`` is open or ended. Times are ISO-8601. ``key`` identifies the update
    that ended it. Raises: ValueError for an unknown state or an unreadable time, which a damaged record can have."""

    name: str
    state: str
    started: str
    loaded: tuple[str, ...] = ()
    ended: str = ""
    key: str = ""

    def __attrs_post_init__(self) -> None:
        if self.state not in ("open", "ended"):
            raise ValueError("the state is neither open nor ended")
        moment(self.started)
        if self.ended or self.state == "ended":
            moment(self.ended)


@frozen(kw_only=True)
class Start:
    """The documents that a LOAD read, in reading order. ``str()`` is the text for the agent, fenced as data."""

    workflow: str
    files: tuple[Document, ...]

    def __str__(self) -> str:
        return recalled.fence_parts((file.name, file.text.removeprefix(BOM)) for file in self.files)


class Workflow:
    """One of a project's five workflows. Raises: ValueError for another name."""

    def __init__(self, services: Services, name: str) -> None:
        if name not in WORKFLOWS:
            raise BadValue("the workflow", f"cannot be {name!a}", next_step=f"Use one of: {', '.join(WORKFLOWS)}.")
        self.name = name
        self._services = services

    @property
    def record(self) -> Record | None:
        """The stored record. Raises: Corrupt when the record is damaged; Unavailable."""
        return _read(self._path, self.name)

    @property
    def is_open(self) -> bool:
        """Whether it has been started and not ended."""
        record = self.record
        return record is not None and record.state == "open"

    def start(self) -> Start:
        """LOAD: read the three files in order, and durably record the load.

        Raises: NotFound, Corrupt or Unavailable for a missing or invalid file; Refused for a file from an untrusted
        clone; PluginError. The workflow is then not started, and nothing was written.
        """
        files = update.load(self._services)
        for file in files:
            if self._services.store.sifted(file).withheld:
                why = f"{file.name} has lines that are withheld until you have seen them."
                raise Refused(why, next_step=provenance.NEXT_STEP)
        files = tuple(map(self._services.shown, files))
        now = stamp(self._services.now())
        self._note(Record(name=self.name, state="open", started=now, loaded=tuple(file.name for file in files)))
        return Start(workflow=self.name, files=files)

    def end(self, given: MemoryUpdate | Mapping[str, object], *, confirmed: Collection[str] = ()) -> Updated:
        """UPDATE: write ``given``, as for ``memory.update``, together with waiting observations.

        ``confirmed`` states the condition of FR-4 (:data:`holdfast_app.workflow.three.CONDITIONS`). Repeating an update
        writes nothing.
        Raises: Refused without a LOAD, without the condition, or when a file gets neither an entry nor an explicit "no
        change"; NotFound, Corrupt, Conflict or Unavailable from the files. The workflow then stays open.
        """
        given = update_from(given)
        key = hashlib.sha256(json.dumps([self.name, unstructure(given)], sort_keys=True).encode()).hexdigest()
        private.make(self._services.state, _FOLDER)
        with private.lock(self._path, timeout_s=60.0):
            record = self.record
            wanted = CONDITIONS[self.name]
            if unknown := sorted(set(confirmed) - set(wanted)):
                why = f"{unknown[0]!r} is not a condition of the workflow {self.name}."
                raise Refused(why, next_step=f"It ends when {' and '.join(wanted.values())}: {', '.join(wanted)}.")
            if missing := [name for name in wanted if name not in confirmed]:
                why = f"The workflow {self.name} cannot end before {' and '.join(wanted[m] for m in missing)}."
                step = "When that is true, pass " + " ".join(f"--{m}" for m in missing) + ". Nothing was written."
                raise Refused(why, next_step=step)
            repeated = record is not None and record.state == "ended" and record.key == key
            if record is None or (record.state != "open" and not repeated):
                why = f"The workflow {self.name} cannot end, because it was not started and the memory was not loaded."
                raise Refused(why, next_step=f"Run `holdfast workflow start {self.name}` and read its output.")
            if names := ", ".join(f"{s}.md" for s in given.unsaid):
                step = "Pass an entry for each of the three files, or `--no-change FILE`."
                raise Refused(f"The workflow {self.name} cannot end without an entry for {names}.", next_step=step)
            now = self._services.now()
            if repeated:
                return Updated(files=update.write(self._services, {}), repeated=True)
            left = ", ".join(f"{s}.md" for s in given.no_change)
            note = f"{left} ({self.name}, {now:%Y-%m-%d})" if left else ""
            done = update.update(self._services, given, no_change=note)
            done = observations.write_due(self._services, done)
            self._note(evolve(record, state="ended", ended=stamp(now), key=key))
        return done

    @property
    def _path(self) -> str:
        return self._services.private(_FOLDER, f"{self.name}.json")

    def _note(self, record: Record) -> None:
        private.make(self._services.state, _FOLDER)
        json_file.save(self._path, record)


def records(services: Services) -> list[Record]:
    """Records of all workflows ever started, in the order of :data:`WORKFLOWS`."""
    stored = (_read(services.private(_FOLDER, f"{name}.json"), name) for name in WORKFLOWS)
    return [record for record in stored if record is not None]


def unfinished(services: Services) -> tuple[str, ...]:
    """Names of open workflows. Raises: Corrupt for a damaged record; Unavailable."""
    return tuple(record.name for record in records(services) if record.state == "open")


def _read(path: str, name: str) -> Record | None:
    """Raises: Corrupt for a damaged record, and for one of another workflow; Unavailable."""
    with suppress(Corrupt):
        record = json_file.load(path, Record)
        if record is None or record.name == name:
            return record
    raise Corrupt(
        f"The record of the workflow {name} ({os.path.basename(path)}) is damaged.",
        next_step=f"Run `holdfast workflow start {name}` to replace the record.",
    )
