"""``holdfast hook CLIENT``: the command that a client runs at every event, with the event as JSON on stdin.

At a compaction every failure (broken input, an unexpected error, a hang) gives the answer that makes the client block.
At other events a failure is only logged in ``state/hook.log``, and shown to the user where the client can. An unknown
event gets an empty answer.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

from holdfast.errors import HoldfastError, StorageError
from holdfast.text import untrusted
from holdfast_agents import asking, dialects, events, turns
from holdfast_agents.events import NO_REPLY, Event, Reply
from holdfast_memory import nested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import NoReturn

    from holdfast import Holdfast
    from holdfast_agents.events import Answer
    from holdfast_agents.watchdog import Watchdog

#: The help section that lists the command, and its line there.
HEADING = "Guard a client"
SUMMARY = "answer one client event (run by the installed hooks)"

CLIENTS = ("claude-code", "codex", "opencode", "kilo", "pi", "deepagents", "qwen", "gemini", "copilot", "kimi", "droid")
_MAX_STDIN_BYTES = 64 * 1024 * 1024
_HEAD_BYTES = 16_384
#: Claude Code names the project in it.
_PROJECT = "CLAUDE_PROJECT_DIR"
#: Events that carry part of the conversation. An unreadable event may be such an event.
_JOURNALLED = frozenset({events.PROMPT, events.TOOL, events.STOP, events.OTHER})
_SPOKEN = frozenset({events.START, events.PROMPT, events.STOP})
#: Share of the time limit for calls to the store, low enough that the answer can still name a slow server.
_STORES_SHARE = 0.8
#: Events that the hook in the user's settings leaves to the same one in the project's.
_REPEATED = frozenset({events.START, events.PROMPT, events.TOOL, events.STOP, events.COMPACTED, events.END})
#: Clients and their events after which the brief comes with the next prompt: no start follows, or none is heeded.
_LATE = {"gemini": (events.COMPACTING,), "copilot": (events.COMPACTING,), "kimi": (events.COMPACTING, events.START)}
_OF_AGENTS = (events.TOOL, events.COMPACTING, events.COMPACTED)
_HEAVY = frozenset({events.START, events.COMPACTING, events.COMPACTED, events.END})


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("client", choices=CLIENTS, metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument("event", nargs="?", default="", metavar="EVENT", help="the client's name for the event")
    parser.add_argument(
        "--deadline", type=float, metavar="SECONDS", help="time limit (default: less than the client waits)"
    )
    parser.add_argument(
        "--allow",
        type=int,
        default=0,
        metavar="CODE",
        help="exit code that allows a compaction (default: 0). The installed guards choose another one, so that a "
        "program that ends without an answer allows nothing",
    )
    parser.epilog = (
        "examples:\n  holdfast-memory hook claude-code PreCompact --allow 10; [ $? = 10 ] || exit 2"
        "\n  holdfast-memory hook codex < event.json"
        "\n\nClients run this, and people rarely do. `holdfast install CLIENT` writes it into the client's settings."
        "\nTake only the exit code of --allow for permission: a plugin that ends the process at once can give 0."
    )


def run(args: Namespace) -> int:
    _hook(args.client, args.event, args.root, args.deadline or 0.0, args.allow)


def quick(words: list[str], root: str | None) -> int | None:
    """Parse the plain form without argparse. None for anything else, help and mistakes included."""
    options: dict[str, str] = {}
    plain: list[str] = []
    rest = iter(words)
    try:
        for word in rest:
            if word in ("--root", "--deadline", "--allow"):
                options[word] = next(rest)
            else:
                plain.append(word)
        limit_s, allow = float(options.get("--deadline", 0)), int(options.get("--allow", 0))
    except (StopIteration, ValueError):
        return None
    if not 1 <= len(plain) <= 2 or plain[0] not in CLIENTS or plain[-1].startswith("-"):
        return None
    _hook(plain[0], plain[1] if len(plain) == 2 else "", options.get("--root", root), limit_s, allow)


def _hook(client: str, expected: str, root: str | None, limit_s: float, allow: int) -> NoReturn:
    import gc

    gc.disable()  # the process ends before a collection would pay off
    from holdfast_agents.watchdog import Watchdog

    if nested.inside():
        raise SystemExit(allow)  # holdfast runs this agent as a model, so its session is not remembered
    if sys.stdin is not None and sys.stdin.isatty():
        from holdfast_cli.problem import UsageError

        raise UsageError(
            "`holdfast hook` reads an event as JSON from stdin. Clients run it.",
            next_step=f"Run `holdfast install {client}` to set it up, or `holdfast doctor` to check the setup.",
        )
    call = _Call(client, expected, root, allow)
    watchdog = Watchdog(limit_s or dialects.limit_s(client, events.COMPACTING), call.late)
    watchdog.answer(call.answered(watchdog, limit_s))


class _Call:
    """One run of the hook. ``kind`` is the event's kind as far as known. An unknown event counts as a compaction."""

    def __init__(self, client: str, expected: str, root: str | None, allow: int = 0) -> None:
        self.client = client
        self.root = root
        self.allow = allow
        self.state = ""
        named = dialects.event_in({"hook_event_name": expected, "event": expected}, client)
        self.expected = named.kind if expected else ""
        self.kind = self.expected or events.COMPACTING
        self.session = ""
        self.folder = ""
        self.limit_s = 0.0
        self.past = ""  # the sentence about a compaction past the gate
        self.event: Event | None = None
        self.began = time.monotonic() - time.process_time()  # with the interpreter's start

    def late(self) -> Answer:
        self._missed()
        reply = self._unforeseen(
            "holdfast did not answer in time. Either the conversation is very long, and the next attempt continues "
            "where this one stopped, or something hangs."
        )
        return dialects.answer_of(self.client, self.kind, reply)

    def answered(self, watchdog: Watchdog, limit_s: float) -> Answer:
        try:
            event = self.event = self._event()
            self.kind, self.session, self.folder = event.kind, event.session, event.cwd
            self.limit_s = limit_s or dialects.limit_s(self.client, event.kind)
            watchdog.limit(self.limit_s)
            reply = self._reply(event)
        except HoldfastError as error:
            self._missed()
            reply = self._failure(error)
        except BaseException as error:  # noqa: BLE001 - a gate: whatever went wrong, the context stays
            from traceback import extract_tb

            # Without the message, which may quote the conversation.
            place = extract_tb(error.__traceback__)[-1]
            self._log(f"{type(error).__name__} at {os.path.basename(place.filename)}:{place.lineno}")
            self._missed()
            reply = self._unforeseen(f"Something unforeseen happened: {type(error).__name__}: {error}.")
        self._beat(reply)
        notice = "\n".join(filter(None, (self.past, reply.notice)))
        answer = dialects.answer_of(self.client, self.kind, _cleaned(reply._replace(notice=notice)))
        return answer if reply.block or self.kind != events.COMPACTING else answer._replace(code=self.allow)

    # reading

    def _event(self) -> Event:
        """The event on stdin. An unreadable event counts as a compaction if anything in it says so."""
        raw = sys.stdin.buffer.read(_MAX_STDIN_BYTES + 1) if sys.stdin is not None else b""
        try:
            payload = untrusted.from_json(raw) if len(raw) <= _MAX_STDIN_BYTES else None
        except ValueError:
            payload = None
        while len(raw) > _MAX_STDIN_BYTES and sys.stdin.buffer.read(1 << 20):
            pass  # drain stdin, so that the client does not get a broken pipe
        if isinstance(payload, dict):
            event = dialects.event_in(payload, self.client)
            return event._replace(kind=self.expected) if self.expected == events.COMPACTING else event
        plain = raw.replace(b"\0", b"")
        gated = self.expected == events.COMPACTING or dialects.is_gated(self.client, plain)
        self.kind = events.COMPACTING if gated else events.OTHER
        if not gated:
            self._unread(raw)
        raise HoldfastError(
            "The client's hook event cannot be read.",
            next_step="Compact again. If this repeats, this version of the client is not supported.",
        )

    def _unread(self, raw: bytes) -> None:
        """Take the session id from the start or end of an unreadable payload."""
        import re

        ends = (raw[:_HEAD_BYTES] + raw[-_HEAD_BYTES:]).decode("utf-8", "replace")
        matches = re.findall(r'"(session_id|sessionID|cwd|directory)"\s*:\s*"([^"\\]+)"', ends)
        pairs = dict(reversed(matches))  # the first per name
        if native := pairs.get("session_id") or pairs.get("sessionID"):
            self.session = events.session_of(self.client, native)
            self.folder = pairs.get("cwd") or pairs.get("directory", "")

    def _missed(self) -> None:
        """Mark a session with an event missing from its journal. Its next compaction needs the transcript."""
        if not self.session or self.kind not in _JOURNALLED:
            return
        from holdfast.fs import durable, private
        from holdfast_app.trust import statefolders

        with suppress(HoldfastError, OSError):  # a flush cannot write here either
            state = statefolders.of_files(_root(Event(self.client, self.kind, cwd=self.folder), self.root))
            private.make(state, "agents")
            durable.replace(turns.gap(state, self.session), b"")

    # answering

    def _reply(self, event: Event) -> Reply:
        if event.kind == events.OTHER or (event.agent and event.kind not in _OF_AGENTS):
            return NO_REPLY  # a sub-agent's work returns to its parent as a tool result
        if event.agent and event.kind == events.TOOL:  # but what strangers wrote is evidence
            if not turns.is_from_outside(event):
                return NO_REPLY
            event = self.event = event._replace(session=events.session_of(event.client, event.native))
        root = _root(event, self.root)
        if event.client == "claude-code" and event.kind in _REPEATED and _is_repeated():
            return NO_REPLY
        from holdfast.gate import is_plain

        if not is_plain(event.session):
            from holdfast_app.capture import stored_id

            event = self.event = event._replace(session=stored_id(root, event.session))
        # Without its text the answer is only in the transcript.
        silent = event.kind == events.STOP and not (event.text or event.parts)
        if event.kind in _HEAVY or (silent and (event.transcripts or event.messages)):
            return self._with_store(event, root)
        if event.kind == events.CONFIG:
            return self._config(event, root)
        self.state, broken = turns.journal(event, root)
        if event.kind == events.TOOL:
            return Reply(context=asking.question(event, root, self.state) if not (broken or event.agent) else "")
        if broken is not None:
            return self._failure(broken)
        if event.kind == events.STOP:
            from holdfast_app import background

            background.after_turn(root)
            return Reply(block=asking.question(event, root, self.state), notice=self._held_back(event))
        asked = asking.question(event, root, self.state)
        if self.client in _LATE and os.path.exists(turns.brief_due(self.state, event.session)):
            asked = "\n\n".join(filter(None, (self._with_store(event, root).context, asked)))
        return Reply(context=asked, notice=self._held_back(event))

    def _with_store(self, event: Event, root: str) -> Reply:
        from holdfast import Holdfast, Session
        from holdfast.fs import durable, private
        from holdfast.storage import deadline
        from holdfast_agents import gated, restore
        from holdfast_agents.records import follow

        if event.kind == events.COMPACTED or (event.kind == events.START and event.source == "compact"):
            event = self.event = follow.owner(event)
        with Holdfast.open(root, lenient=True) as memory, deadline(self.limit_s * _STORES_SHARE):
            self.state = memory.services.state
            memory.services.hurried = True  # a client waits for the answer, so models are called later
            if event.kind in _LATE.get(event.client, ()):
                private.make(self.state, "agents")
                durable.replace(turns.brief_due(self.state, event.session), b"", flush=False)
            if event.kind == events.START:
                if event.source == "compact":
                    self.past = gated.at_start(memory.services, event)
                # The brief is for the parent. A sub-agent has its own task.
                again = event.agent or restore.has_brief(memory, event)
                reply = NO_REPLY if again else restore.start(memory, event)
                memory.services.later(goes_on=event.source == "compact", flushed=False)
                return reply
            if event.kind == events.PROMPT:
                durable.remove(turns.brief_due(self.state, event.session))
                return restore.opening(memory, event)
            if event.kind == events.COMPACTING:
                # The context's owner may be unknown. Then everything that may be dropped must be durable.
                replies = [gated.compacting(memory, owner) for owner in (event, *follow.running(event))]
                return next((reply for reply in replies if reply.block), replies[0])
            if event.kind == events.STOP:
                from holdfast_app import background

                follow.follow(memory.services, Session(memory.services, event.session), event, patience_s=0.1)
                background.after_turn(root)
                return Reply(notice=self._held_back(event))
            if event.kind == events.COMPACTED:
                asking.forget(self.state, event.session)
                gated.compacted(memory, event)
            else:
                gated.ending(memory, event)
                return Reply(notice=self._unfinished(memory))
        return NO_REPLY

    def _unfinished(self, memory: Holdfast) -> str:
        """A sentence that names open workflows at a session's end. Unreadable records are only logged."""
        try:
            names = memory.unfinished_workflows()
        except HoldfastError as error:
            self._log(f"{type(error).__name__}: {error.message}")
            return ""
        commands = " and ".join(f"`holdfast workflow end {name}`" for name in names)
        return f"holdfast: unfinished at the end of this session: {', '.join(names)}. Run {commands}." if names else ""

    def _config(self, event: Event, root: str) -> Reply:
        from holdfast.config import settings
        from holdfast.fs import private
        from holdfast_agents import clientfiles
        from holdfast_agents.records import memo
        from holdfast_app.project_settings import resolved

        self.state = settings.state_folder(root, settings.preset(resolved.hot(root)))
        private.check(self.state)
        return clientfiles.changed(event, memo.read(self.state, event.session).guards)

    def _held_back(self, event: Event) -> str:
        if not turns.is_unsafe(self.state, event.session):
            return ""
        from holdfast.journal import safety

        marker = safety.read(self.state, event.session)
        return events.refusal(event.client, marker.error, marker.way_out, event.session) if marker else ""

    # failing

    def _unforeseen(self, why: str) -> Reply:
        block = f"{events.unsaved(self.client)} {why} Run `holdfast doctor`, then compact again."
        return Reply(block=block) if self.kind == events.COMPACTING else NO_REPLY

    def _failure(self, error: HoldfastError) -> Reply:
        self._log(f"{type(error).__name__}: {error.message}")
        if self.kind == events.COMPACTING:
            return Reply(block=f"{events.unsaved(self.client)} {error.message} {error.next_step}".rstrip())
        if self.kind == events.END:
            return Reply(notice=f"holdfast: this session is not saved. {error.message} {error.next_step}".rstrip())
        if self.kind in _SPOKEN:
            notice = f"holdfast: {error.message} {error.next_step} {events.until(self.client)}"
            # A store's error can name a file, and a clone chooses the names.
            why = "`holdfast doctor` says why." if isinstance(error, StorageError) else error.message
            context = f"holdfast cannot read this project's memory now: {why} Do not assume that it is empty."
            return Reply(notice=notice, context=context if self.kind == events.START else "")
        return NO_REPLY

    def _beat(self, reply: Reply) -> None:
        """Record the hook's run and cost, unless it did not need the project."""
        event = self.event
        if event is None or not self.state:
            return
        from holdfast_agents.records import heartbeat

        seconds, chars = time.monotonic() - self.began, len(reply.context) + len(reply.block)
        with suppress(HoldfastError):  # `doctor` then reports that hooks do not run
            heartbeat.beat(self.state, event.client, event.name, event.session, seconds, chars)

    def _log(self, line: str) -> None:
        if self.state:
            from holdfast_agents.records.heartbeat import log

            log(self.state, self.client, self.kind, line)


def _cleaned(reply: Reply) -> Reply:
    """``reply`` without invisible characters, which files written by others can hold and a model reads."""
    if all(part.isascii() and part.isprintable() for part in reply):
        return reply
    from holdfast.text.plain import clean

    return Reply(*map(clean, reply))


def _is_repeated() -> bool:
    """Whether this is the user's hook, by the interpreter's path, and the project's settings have the same one, which
    finds its program. Claude Code runs both."""
    project = os.environ.get(_PROJECT)
    if not project or "-m" not in sys.orig_argv:
        return False
    from holdfast_agents import clientfiles

    settings = clientfiles.read_or_empty(os.path.join(project, ".claude", "settings.json"))
    folders = os.environ.get("PATH", "").split(os.pathsep)
    return b'"holdfast-memory hook claude-code"' in settings and any(
        os.access(os.path.join(folder, "holdfast-memory"), os.X_OK) for folder in folders
    )


def _root(event: Event, named: str | None) -> str:
    """The project root, from the ``--root`` option or the client's working folder."""
    from holdfast_app.project_settings import files

    if named is None:
        for folder in (os.environ.get(_PROJECT) if event.client == "claude-code" else None, event.cwd):
            if folder and os.path.isdir(folder):
                os.chdir(folder)  # the process handles one event, and the search for the project starts here
                break
    root = files.find_root(named)
    asked = named or os.environ.get("HOLDFAST_ROOT") or (event.client == "claude-code" and _PROJECT in os.environ)
    return root if asked or not event.session else _begun_in(root, event.session)


def _begun_in(root: str, session: str) -> str:
    """The project above ``root`` that has the session's journal; ``root`` without one. An agent can enter a stranger's
    repository inside the project."""
    from holdfast.config import settings
    from holdfast.fs.paths import upwards
    from holdfast.journal.journal import file_stem

    name = f"{file_stem(session)}.jsonl"
    for folder in upwards(os.path.dirname(root)):
        if any(os.path.exists(os.path.join(folder, s, "sessions", name)) for s in settings.STATE_FOLDERS.values()):
            return folder
    return root
