"""The Python face: one :class:`Holdfast` is one opened project."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, overload

from holdfast.config import inforce, settings
from holdfast.config.provenance import Provenance
from holdfast.config.values import Config
from holdfast.errors import BadValue, HoldfastError
from holdfast.fs import private, tracked
from holdfast.gate import Gate, clean
from holdfast.journal import journal, safety
from holdfast.plugin import discovery, options
from holdfast.plugin.features import Features
from holdfast.plugin.manager import Dispatch, PluginSettings
from holdfast.session.services import Services
from holdfast.session.session import Session
from holdfast.session.store import Store
from holdfast.storage import Capability

if TYPE_CHECKING:
    from holdfast.facts.extract import ExtractResult, Said
    from holdfast.facts.lifecycle import Facts
    from holdfast.flush.publish.delivery import Deliveries
    from holdfast.flush.validation import Validation
    from holdfast.journal.safety import Marker
    from holdfast.models import Profile
    from holdfast.session.bootstrap import Brief
    from holdfast.session.work import WorkList
    from holdfast.text.rows.reading import Transcript

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger(__name__)
logging.getLogger("holdfast").addHandler(logging.NullHandler())  # what is logged is the application's to show


def _system_clock() -> datetime:
    return datetime.now().astimezone()


class Holdfast(Features):
    """Memory of one project. Made by :meth:`open`; ``close`` it or use it as a context manager.

    ``config``, ``layout`` and ``store`` are there to be read. Sessions that are still open when the process exits are
    ended through the gate.
    """

    def __init__(self, services: Services, found: Sequence[discovery.Found]) -> None:
        self.services = services
        self._found = tuple(found)
        self._sessions: dict[str, Session] = {}
        self._closed = False

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str] | None = None,
        *,
        config: Config | None = None,
        clock: Callable[[], datetime] | None = None,
        plugins: Iterable[tuple[str, object]] = (),
        lenient: bool = False,
    ) -> Self:
        """Open the project at ``root`` (default: ``HOLDFAST_ROOT``, else found from the working directory).

        ``config`` replaces what the files say and is fully in force, as the caller's own word; settings of the
        project's file that need the user's trust count only with it (docs/trust.md). ``clock`` returns an aware time;
        ``plugins`` are ``(name, object)`` pairs registered besides the installed ones. ``lenient`` leaves out settings
        of the project's file that cannot be used, as agents' hooks need it: a clone must not be able to block them.
        Nothing is written, except that private state that this user did not make is put aside.
        Raises: ConfigError, NotTrusted when these decide where memory is stored; PluginNotFound, PluginLoadFailed.
        A broken *plugin* does not raise here: it closes the gates and is listed by :meth:`plugin_statuses`.
        """
        folder = settings.find_root(os.fspath(root) if root is not None else None)
        settled, notices = (config, ()) if config is not None else inforce.settled(folder, lenient=lenient)
        state = os.path.join(folder, *settings.STATE_FOLDERS[settled.layout.preset].split("/"))
        private.check(state)
        tracked.check(folder, state)
        found = discovery.scan()
        dispatch = Dispatch()
        dispatch.load(
            [
                PluginSettings(name, settled.plugin(name).deadline_s, settled.plugin(name).settings)
                for name in settled.enabled_plugins
            ],
            found,
            root=folder,
            state=state,
        )
        for name, plugin in plugins:
            dispatch.register(plugin, name)
        entry = discovery.choose(found, discovery.BACKENDS, settled.storage.backend)
        module = discovery.import_object(entry)
        if settled.storage.options:
            options.check_storage(module, settled.storage.options, found)
        backend = dispatch.storage_backend(module, entry, settled.storage, Path(folder))
        provenance = Provenance(folder, state, remote=Capability.REMOTE in backend.capabilities)
        services = Services(
            root=folder,
            state=state,
            config=settled,
            layout=settled.layout,
            dispatch=dispatch,
            gate=Gate(dispatch),
            store=Store(backend, settled.layout, state, provenance),
            clock=clock or _system_clock,
            notices=(*notices, *filter(None, [private.notice(state)])),
        )
        return cls(services, found)

    @property
    def config(self) -> Config:
        return self.services.config

    @property
    def store(self) -> Store:
        return self.services.store

    @property
    def facts(self) -> Facts:
        """The facts: create, get, update, delete, list, import and export."""
        from holdfast.facts.lifecycle import Facts

        return Facts(self.services)

    @property
    def outbox(self) -> Deliveries:
        """What waits to be published on a forge: list it, send it, drop it with a reason."""
        from holdfast.flush.publish.delivery import Deliveries

        return Deliveries(self.services)

    @property
    def work(self) -> WorkList:
        """The work of all sessions: list it, close it, reopen it."""
        from holdfast.session.work import WorkList

        return WorkList(self.services)

    @property
    def profile(self) -> Profile:
        """Who the user is and what went on, as stored. Raises: Corrupt, Unavailable."""
        from holdfast.facts.profile import load

        return load(self.services)

    def update_profile(self, **sections: str) -> Profile:
        """Set sections (work, personal, top_of_mind, recent, earlier, background); an empty text clears one.

        Returns the profile. Raises: BadValue for another name; Refused and PluginError from the gate.
        """
        from holdfast.facts.profile import update

        return update(self.services, sections)

    def prompt(
        self, max_tokens: int | None = None, *, counter: Callable[[str], int] | None = None, fenced: bool = False
    ) -> str:
        """Profile and facts as a block for a system prompt, of at most ``max_tokens`` (2000 unless configured).

        ``counter`` counts the tokens of a text, as ``[prompt] counter`` says by default. ``fenced`` marks the block
        as recalled data, so that it is never extracted again. Empty when nothing is stored or nothing fits.
        Raises: BadValue for a negative budget; ConfigError for an unusable counter; PluginError; Corrupt.
        """
        from holdfast.facts.prompt import prompt
        from holdfast.plugin.counters import counter as named

        settled = self.config.prompt
        budget = settled.max_tokens if max_tokens is None else max_tokens
        return prompt(self.services, budget, counter or named(settled.counter), fenced=fenced)

    def extract(self, messages: Said | Iterable[Said], *, source: str = "") -> ExtractResult:
        """Let the extractors read what was said, and store the facts that are good; nothing is journalled.

        ``messages`` are dicts of the Chat Completions or the Messages interface, or :class:`~holdfast.models.Message`
        and :class:`~holdfast.models.Turn` values.
        Texts are redacted before any extractor sees them, and what was recalled from memory is left out. What became
        of each candidate is in the result. Turns that an extractor failed on wait to be tried again: by the next
        extraction or flush, or by :meth:`extract_queued`. ``source`` is kept with the facts.
        Raises: BadValue for anything else, and for a source that is no text; Refused, PluginError; Corrupt,
        Unavailable.
        """
        from holdfast.flush.backlog import extract_now

        return extract_now(self.services, messages, source=source)

    def extract_queued(self) -> ExtractResult:
        """Try everything that waits, due or not, once; turn by turn that includes the turns that have just ended."""
        from holdfast.session.turnwise import everything

        return everything(self.services)

    # sessions

    def session(self, session_id: str = "default") -> Session:
        """The session of that id, as its journal tells it; a new one when there is no journal yet.

        Touches nothing else: see :meth:`begin` for the start of a conversation.
        A secret in the id is masked: the session has the masked id everywhere, also in the names of files.
        Raises: ValueError for an id that is blank, holds control characters or is not a string; Corrupt when its
        journal is damaged; Refused and PluginError from the gate.
        """
        if not isinstance(session_id, str):
            raise BadValue("session_id", f"must be a str, not {type(session_id).__name__}", next_step="Give a string.")
        if not session_id.strip() or clean(session_id) != session_id or not set(session_id).isdisjoint("\n\t"):
            raise ValueError("a session needs an id without control characters")
        session_id = self.services.gate.identifier(session_id)
        if not self._sessions:
            import atexit

            atexit.register(self._at_exit)
        if session_id not in self._sessions:
            self._sessions[session_id] = Session(self.services, session_id)
        return self._sessions[session_id]

    def begin(self, session_id: str = "default") -> Session:
        """The session of that id at the start of a conversation, after what waits was seen to.

        Other sessions that were left idle (``[session] idle_minutes``) are ended, as far as that succeeds, and what is
        due to be published is sent. Agents' hooks do the same when a session starts. Raises: as :meth:`session`.
        """
        session = self.session(session_id)
        self.outbox.send_due()
        self.end_idle(but=session.id)
        return session

    def sessions(self) -> list[str]:
        """Ids of all sessions that have a journal, sorted."""
        ids = (journal.session_id_of(path) for path in journal.session_files(self.services.state))
        return sorted(i for i in ids if i)

    def end_idle(self, *, but: str = "", limit_s: float = 60.0) -> list[str]:
        """End every session whose last turn is older than ``idle_minutes``; returns their ids.

        A session that cannot be ended is left UNSAFE and logged. No further one is tried after ``limit_s`` seconds.
        """
        from holdfast.session.idle import end_idle

        return end_idle(self.services, but={but, *self._sessions}, limit_s=limit_s)

    def unsafe(self) -> list[Marker]:
        """The sessions whose last flush did not succeed, with why and what to do."""
        return safety.all_unsafe(self.services.state)

    def import_transcript(self, transcript: Transcript, session_id: str = "") -> Session:
        """Journal ``transcript.kept`` as far as the session does not hold it; returns the session."""
        session = self.session(session_id or transcript.session_id or "default")
        known = {e.record["id"] for e in session.journal.entries() if e.record["kind"] == "message"}
        session.extend(m for m in transcript.kept if m.id not in known)
        session.branch = self.services.gate.label(transcript.branch) or session.branch
        return session

    @overload
    def guard(
        self,
        compact: Callable[P, R],
        /,
        *,
        session: str | Callable[P, str] = "default",
        messages: Callable[P, Iterable[object]] | None = None,
        kept: Callable[[Any], Iterable[object]] | None = None,
    ) -> Callable[P, R]: ...

    @overload
    def guard(
        self,
        compact: None = None,
        /,
        *,
        session: str | Callable[..., str] = "default",
        messages: Callable[..., Iterable[object]] | None = None,
        kept: Callable[[Any], Iterable[object]] | None = None,
    ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...

    def guard(
        self,
        compact: Callable[..., Any] | None = None,
        /,
        *,
        session: str | Callable[..., str] = "default",
        messages: Callable[..., Iterable[object]] | None = None,
        kept: Callable[[Any], Iterable[object]] | None = None,
    ) -> Any:
        """Any function that drops context, sync or async, as one that cannot run unflushed; also as a decorator.

        Each call passes the flush gate of ``session`` first (an id, or a function of the call's arguments). Where that
        fails, FlushRefused goes out and ``compact`` is not called. ``messages`` gets the call's arguments and returns
        the rows in context, as dicts of the Chat Completions, the Messages or the Responses interface or as an SDK's
        own objects: what the session does not hold yet is journalled before. Without it they are the call's first
        argument that is a list of such rows; when there is none, the loop calls ``session.add`` itself.
        Afterwards the session drops what was dropped: what is left is ``kept(result)``, else the result when that is a
        list, else what ``messages`` returns then.
        Raises: TypeError for a generator function.
        """
        from holdfast.session.guard import Guard

        wrap = Guard(memory=self, session=session, messages=messages, kept=kept).wrap
        return wrap if compact is None else wrap(compact)

    # what is stored

    def load(self, *, max_chars: int | None = None, session: str = "") -> Brief:
        """Where to go on, from files alone: handoff, curated memory, newest notes. Reads no transcript and no journal.

        ``max_chars`` bounds ``str(brief)``. ``session`` is the session that reads it: its own work comes first, marked.
        Raises: Corrupt when a document cannot be read: never taken as empty.
        """
        from holdfast.session.bootstrap import load

        return load(self.services, max_chars=max_chars, session=session)

    def validate(self, names: Iterable[str] = ()) -> Validation:
        """What the validators say of the stored documents (of ``names``, by default all). Changes nothing.

        What cannot be read is a finding too. Raises: NotFound for an unknown name; PluginError; Unavailable.
        """
        from holdfast.flush.validation import validate

        return validate(self.services, names)

    def reread(self) -> None:
        """Read the open sessions again after their journals were changed: removed text must not stay in memory."""
        for one in self._sessions.values():
            try:
                one.catch_up()
            except HoldfastError as error:
                logger.warning("an open session could not be read again: %s", type(error).__name__)

    def plugin_statuses(self) -> list[discovery.Status]:
        """Every installed or enabled plugin and backend, sorted, with what became of it and why."""
        return discovery.statuses(self.services.dispatch.statuses, self._found, self.config.storage.backend)

    # leaving

    def close(self) -> None:
        """Release the store. Open sessions are not ended by this; they are in their journals."""
        if not self._closed:
            self._closed = True
            if self._sessions:
                import atexit

                atexit.unregister(self._at_exit)
            self.services.store.backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _at_exit(self) -> None:
        self.services.hurried = True  # who ends a program does not wait for a model
        for session in self._sessions.values():
            try:
                if session.unflushed:
                    session.end()
            except HoldfastError as error:
                logger.error("session %s is UNSAFE at exit: %s", session.id, error.message)  # noqa: TRY400
