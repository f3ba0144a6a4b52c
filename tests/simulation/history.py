"""One history: what processes do, what they were told, where it breaks, and what must be true afterwards."""

import errno
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import cache
from random import Random
from typing import Any

from attrs import define
from tests.simulation.disk import Node, below
from tests.simulation.reading import CHANGED, DOCUMENTS, Reader, curated, items, payload, statements
from tests.simulation.world import ROOT, Dead, Process, World

from holdfast import Holdfast, project
from holdfast.api import Extraction, Message, hookimpl
from holdfast.config.values import PluginConfig
from holdfast.errors import BadValue, Conflict, Corrupt, FlushRefused, HoldfastError, NotFound, NothingToFlush
from holdfast.fs.records import decode, encode
from holdfast.journal.journal import file_stem
from holdfast.journal.safety import State
from holdfast.plugin import discovery
from holdfast_app.authorship import sessions
from holdfast_app.base import Plugins
from holdfast_app.checkup import verify
from holdfast_app.config import Config
from holdfast_app.data_loss import apart, newest, proofs
from holdfast_app.journal.journal import every

PLUGINS = ("anchors", "curated", "git", "grounding", "offline", "redaction")
CONFIG = Config(zone="UTC", plugins={name: PluginConfig(enabled=False) for name in PLUGINS})
#: What is counted: messages, decisions and facts.
TOKEN = re.compile(r"\b[mdf]\d+q\b")
#: What processes do, and how often; the second ones not in histories that are ``plain``.
KINDS = {
    "add": 8, "flush": 2, "state": 6, "lack": 1, "compact": 2, "end": 2, "fact": 2, "forget": 1, "override": 1,
    "reopen": 1, "purge": 0.3,
}  # fmt: skip
MORE = {"lack": 2, "override": 3, "trim": 2, "switch": 1, "hand": 1, "update": 2, "close": 1, "open": 1, "age": 0.2}
#: What happens to a file behind its back.
DAMAGE = (lambda one: one[: one.rfind(b"\n", 0, -1) + 1], lambda one: one[:-9], lambda one: one[:-9] + bytes(9))
#: Of a session's work, by command.
DECIDES = ("close", "open")
#: What a process may do instead, one after the other, because chance alone hardly does it.
SCENES = (
    ("flush", "end"), ("lack", "override", "flush"), ("lack", "state", "lack"),
    ("add", "state", "close", "flush", "open", "flush"), ("add", "flush", "add", "compact", "add", "trim", "end"),
    ("fact", "state", "forget", "update", "fact"), ("add", "state", "hand"),
)  # fmt: skip
#: The same for every eighth seed, so that other seeds play as when they were kept.
EIGHTH = (("fact", "state", "forget", "update", "age"), ("add", "state", "purge", "add", "state"))
DROPS = ("compact", "trim", "end")
SAVES = ("flush", "state", "hand")
FLUSHES = (*SAVES, "lack", "switch", *DROPS)
#: What receipts warn of, at any time and after a fault.
ANY_TIME = ("The clock was set back", "Not kept")
CROWDED = r"The handoff has open work of more than 8 sessions, .*: (\S+, ){4}\S+ and [1-9]\d* more\. "
AFTER_A_FAULT = ("The UNSAFE marker", "A turn or a flush", "A flush failed", "These messages' facts could not")
#: What a session that stays in memory knows of itself.
STAYS = ("messages", "unflushed", "summary", "state", "ended", "provider", "branch", "last_receipt")
WAITING, BEGUN, DONE, REFUSED = "waiting", "begun", "done", "refused"


class Broken(AssertionError):
    """A rule that a history breaks. In this class nothing is lost: a call is refused, or a text stands twice."""


class Lost(Broken):
    """Something acknowledged is lost or unreadable, or lost data counts as safe."""


class TellsAll:
    """Puts every message into the summary, so that a note shows which it covers."""

    EXTRACTS_AT_ONCE = True

    @hookimpl
    def on_extract(self, turns: Any) -> Extraction:
        return Extraction(summary=" ".join(f"<{TOKEN.findall(m.text)[0]}>" for t in turns for m in t.messages))


@define(eq=False)
class Op:
    """One call of one process. ``token`` of a message, a decision or a fact; ``fact`` of a payload."""

    kind: str
    session: str = "s"
    token: str = ""
    fact: str = ""
    payload: dict[str, Any] | None = None
    size: int = 0
    was: str = WAITING
    answer: str = ""
    faulted: bool = False
    noted: bool = False  # that it was refused, on a full disk
    warned: bool = False
    again: bool = False  # repeated, although the session may have gone on since
    left: int = 0  # how often its session went on without its answer

    def __str__(self) -> str:
        tail = f" -> {self.was} {self.answer}" if self.was != WAITING else ""
        return f"{self.kind}({self.session}, {self.token or '-'}{', ' + self.fact if self.fact else ''}){tail}"


class History:
    """The history of one seed, which may have given work and break in a given way; ``again``: the client only
    repeats what had no answer. It breaks ``once`` at most. A ``plain`` one does less, as it did when its seed was kept.
    ``log`` tells it."""

    def __init__(
        self,
        seed: int,
        work: list[Op] | None = None,
        *,
        way: str = "",
        at: int = 0,
        again: bool = False,
        once: bool = False,
        lived_in: bool = False,
        plain: bool = False,
    ) -> None:
        self.seed, self.chance = seed, Random(f"history {seed}")
        self.plain = plain or once or bool(work)
        self.world = World(Random(f"world {seed}"), plugins())
        if not self.plain:
            self.world.fills_up, self.world.walks, self.world.is_small = True, seed % 16 == 5, seed % 4 == 2
            self.world.faults += [errno.EACCES] * (seed % 2)
            self.world.is_interrupted, self.world.is_cleaned = seed % 16 == 11, seed % 16 == 13
        self.log: list[str] = []
        self.ops: list[list[Op]] = [work] if work else []
        self.lied = self.faulted = self.gone_on = False
        self.purged: list[Op] = []
        self.repeated: list[Op] = []
        self.between = set[str]()  # sessions in which a payload was refused before the repeats
        self._again, self._once, self._later = again, once or again, Random(f"later {seed}")
        self._count = 10 * len(self.ops)
        self._told: dict[str, tuple[str, ...]] = {}
        if not work:
            self._plan()
            lived_in = self.chance.random() < 0.7
        self.is_full = not self.plain and seed % 128 == 12
        if lived_in or self.is_full:
            self.world.disk.restore(lived_in_disk(40) if self.is_full else lived_in_disk())
        if lived_in and not self.plain and seed % 8 == 3:
            self._open_to_others()
        cost = {"add": 12, "fact": 12, "forget": 12, "override": 8, "reopen": 1}
        changes = sum((cost.get(op.kind, 60) for op in self._all()), 5 if self.world.disk.find(ROOT).names else 45)
        way = way or self.chance.choice(("cut", "cut", "cut", "kill", "kill", "fault", "fault", "lie"))
        at = at or self.chance.randrange(1, changes)
        at = at if self.plain or seed % 8 != 6 else 1 + at % 40  # before a first flush is through
        at_sync = not work and (self.chance.random() < 0.5 or (way == "kill" and not self.plain))
        self.world.break_at(at // 3 + 1 if at_sync else at, way, at_sync=at_sync)
        self.log.append(f"seed {seed}: {len(self.ops)} processes, {way} at {'sync' if at_sync else 'change'} {at}")

    def _open_to_others(self) -> None:
        """As a copy with another program leaves the private folder, or a pull its list for git."""
        state = self.world.disk.find(f"{ROOT}/.holdfast/state")
        for folder in (state, state.names["sessions"]):
            folder.mode = folder.disk_mode = folder.mode | 0o55
        state.names[".gitignore"].data[:] = state.names[".gitignore"].disk = b"!*\n"

    # what is done

    def play(self) -> None:
        """Work, break, look, go on, look again. Raises: Broken."""
        with self.world.installed():
            try:
                self._work()
                self._look()
                goes_on = self._again or self.chance.random() < 0.7 or not (self.plain or self.was_cut)
                while goes_on and not self.lied and self._go_on():
                    pass
                if self.seed % 8 == 1 and not (self.plain or self.lied):
                    self._edit()
                    self._edit_between()
                if self.is_full and not self.lied:
                    self._check_oldest()
                if self.seed % 8 == 4 and not (self.plain or self.lied):
                    self._damage()
                if self.seed % 8 == 5 and not (self.plain or self.lied):
                    self._misuse()
                if self.seed % 8 == 7 and not (self.plain or self.lied):
                    self._clean()
            except Broken:
                raise
            except Exception as error:
                raise Broken(f"{type(error).__name__}: {error}") from error

    def _plan(self) -> None:
        chance = self.chance
        processes = chance.choices((1, 2, 3), (5, 4, 1))[0]
        shared = chance.random() < 0.7
        for number in range(processes):
            session = ("s" if shared else f"s{number}") + ("" if self.plain or self.seed % 4 else "/Ü")
            kinds = [""] * chance.randrange(2, 6 if processes == 1 else 4)
            if not self.plain and self._later.random() < 0.25:
                kinds[:] = self._later.choice(SCENES)
            if not self.plain and self.seed % 8 == 2:
                kinds[:] = self._later.choice(EIGHTH)
            self.ops.append([self._op(session, kind) for kind in kinds])

    def _new(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}q"

    def _op(self, session: str, kind: str) -> Op:
        kinds = KINDS if self.plain else KINDS | MORE
        kind = kind or self.chance.choices([*kinds], [*kinds.values()])[0]
        op = Op(kind, session)
        if kind == "add":
            op.token, op.size = self._new("m"), self.chance.choice((0, 0, 0, 700, 3000))
        elif kind == "fact":
            op.token = self._new("f")
        elif kind in ("state", "lack") or (kind in (*DROPS, "switch", "hand") and self.chance.random() < 0.5):
            op.token, op.fact = self._new("d"), self._new("f") if kind != "lack" else ""
            op.payload = self._payload(op)
        return op

    def _payload(self, op: Op) -> dict[str, Any]:
        return payload(op.token, op.fact, plain=self.plain)

    def _said(self, op: Op) -> dict[str, Any]:
        """A message. Its number decides who says it."""
        number = 0 if self._once else int(op.token[1:-1])
        tool, tokens = {"tool": f"t{number}", "failed": True}, {"tokens": number}
        role, more = (("user", {}), ("assistant", tokens), ("tool", tool))[number % 3]
        return {"role": role, "text": f"{op.token} {'long ' * (op.size // 5)}", **more}

    def _work(self) -> None:
        world, chance = self.world, self.chance
        jobs = []
        for number, ops in enumerate(self.ops, 1000):
            process = Process(number, timedelta(seconds=chance.choice((0, 0, 0, 5, -3600, 86400))))
            jobs.append((process, self._job(process, ops)))
        world.run(jobs, chance.choice((0.02, 0.1, 0.3)))
        self.log += [f"process {n}: " + "; ".join(map(str, ops)) for n, ops in enumerate(self.ops)]
        self.log.append(f"hit: {world.hit or 'nothing'}, after {world.changes} changes")
        for ops in self.ops:
            purges = [at for at, op in enumerate(ops) if op.kind == "purge" and op.was == DONE and not op.warned]
            self.purged += [
                op for op in ops[: max(purges, default=0)] if op.was == DONE and (op.kind == "add" or op.payload)
            ]
        self.lied, self.faulted = world.lying, bool(world.fault_at > 0 and world.hit)
        files = [] if world.hit else [path for path, _ in below("", world.disk.find(ROOT))]
        left = [path for path in files if re.search(r"/locks/.+/|\.tmp$", path)]  # tickets, too
        self._expect(not left, f"nobody needs {left}", is_loss=False)
        is_cut_off = world.kills and len(self.ops) == 1 and not self.plain  # a cut would be that of an earlier moment
        self.was_cut = not (world.kills or world.fault_at > 0) or (chance.random() < 0.5 and not is_cut_off)
        world.mend()
        if self.was_cut:
            world.cut_power()

    def _job(self, process: Process, ops: list[Op]) -> Callable[[], None]:
        def job() -> None:
            memory = _opened(self.world)
            for op in ops:
                memory = self._do(memory, op)
            if not self.world.hit and not self.world.switching:
                self._check_stays(memory)
            if self.gone_on:
                self._states: dict[str, State] = {
                    one: memory.session(one).state for one in sorted({op.session for op in self._all()})
                }
            memory.close()
            self._check_closed()

        def guarded() -> None:
            try:
                job()
            except HoldfastError as error:
                if self.world.fault_at < 0 and not self.world.is_over:
                    raise
                self.log.append(f"process {process.number} could not begin: {error}")

        return guarded

    def _do(self, memory: Holdfast, op: Op) -> Holdfast:
        """Make one call, and note what it answered."""
        self.world.running.offset += timedelta(seconds=self.chance.choice((1, 1, 1, 60, 40000, -30)))
        op.was = BEGUN
        session, let_go = None, ""
        try:
            if op.kind == "reopen":
                memory.close()
                memory = _opened(self.world)
            elif op.kind in ("add", "override", *FLUSHES):
                session = memory.session(op.session)
                let_go = session.override_reason if op.kind in DROPS and not self.world.switching else ""
            goes_on = op.token.endswith("9q") if session else op.kind == "purge" and self._number(op) % 2
            if goes_on and not self.plain:
                with _opened(self.world) as other:  # another process goes on with the session that this one has open
                    op.answer = self._call(other, session and other.session(op.session), op) or ""
                memory.reread()
            else:
                op.answer = self._call(memory, session, op) or ""
            op.was = DONE
        except NothingToFlush:
            op.was, op.payload, op.answer = DONE, None, ""
            let_go = session.override_reason if op.kind == "flush" and self._is_alone and not self.world.hit else ""
            self._expect(not let_go, f"{op} uses up no override")
        except HoldfastError as error:
            if self.world.is_over:
                raise Dead from error
            self._check_names(error)
            if isinstance(error, FlushRefused):
                self._expect(not let_go, f"{op} is refused after an override")
                self._check_refused(memory, op, error)
            op.was, op.faulted = REFUSED, self.world.faulted
            op.answer = f"({type(error).__name__})"
            if not (op.faulted or self.world.lying or self._may_refuse(op, error)):
                raise (Lost if isinstance(error, Corrupt) else Broken)(f"{op} failed: {error}") from error
        is_saved = op.kind == "state" or (op.kind in SAVES and not self.world.hit)
        if op.was == DONE and is_saved and self._is_alone and not self._may_be_unsafe(session):
            self._expect(session.state is State.SAFE, f"{op.session} is {session.state} after {op}", is_loss=False)
        return memory

    def _check_refused(self, memory: Holdfast, op: Op, error: FlushRefused) -> None:
        """The session is UNSAFE for all processes, as was told, unless its marker failed. A full disk holds a note."""
        self._expect("failed at the step" not in str(error), f"{op} failed: {error}", is_loss=False)
        asks = all(f'"{name}"' in error.next_step for name in error.missing) and "given before are kept" in str(error)
        self._expect(asks or not error.missing, f"{op} does not ask for what it lacks: {error}", is_loss=False)
        is_reserved = "/.holdfast/state/unsafe.reserve" in dict(below("", self.world.disk.find(ROOT)))
        op.noted = self.world.faulted and self.world.fault == errno.ENOSPC and is_reserved and not self.plain
        markers = memory.unsafe() if self._is_alone else []
        if self._is_alone and (op.noted or not (self.world.lasting or "Not even the UNSAFE marker" in str(error))):
            marked = {one.session for one in markers} & {op.session, file_stem(op.session)}
            self._expect(marked, f"{op} is refused, and UNSAFE are {markers}")
        if self._is_alone and not self.world.faulted:
            told = [one.target for one in markers if one.session == op.session and one.error in str(error)]
            self._expect(told == [error.target], f"{op}: {error} {markers}", is_loss=False)

    def _call(self, memory: Holdfast, session: Any, op: Op) -> str | None:
        told: list[str] = []
        receipt = None
        if op.kind == "add" and not self.plain and op.token[-2] in "36":
            session.extend([Message(at=self.world.now(), id=op.token, **self._said(op))])
        elif op.kind == "add":
            session.add(**self._said(op), message_id=op.token)
        elif op.kind in ("compact", "trim"):
            self._drop(session, op)
        elif op.kind in FLUSHES:
            receipt = self._flush(session, op, told.append)
        elif op.kind == "fact":
            memory.facts.create(f"The {op.token} is green", category="knowledge", confidence=0.5)
        elif op.kind in ("forget", "update") and (facts := memory.facts.list()):
            op.token = TOKEN.findall(facts[0].content)[0]
            try:
                if op.kind == "forget":
                    memory.facts.delete(facts[0].id)
                else:
                    memory.facts.update(facts[0].id, confidence=0.75)
            except NotFound:
                op.token = ""  # another process forgot it
        elif op.kind == "override" and session.unsafe:
            session.override("an operator said so")
        elif op.kind in (*DECIDES, "age"):
            return self._tend(memory, op)
        elif op.kind == "purge":
            op.warned = bool(memory.purge(session=op.session).left)
        if receipt is None:
            return None
        summaries = [receipt.summary] if receipt.summary and not receipt.repeated else []
        is_whole = (told == summaries or (op.kind == "end" and not told)) and not receipt.pending
        self._expect(is_whole, f"{op}: told {told} of {receipt}", is_loss=False)
        strange = [one for one in receipt.warnings if not self._may_warn(op.session, one)]
        purges = any(one.kind == "purge" and one.was != WAITING for one in self._all())
        self._expect(not strange or purges or self.world.lying, f"{op} warns: {strange}", is_loss=False)
        op.warned = any("facts could not" in one for one in receipt.warnings)
        self._expect(not {*receipt.derived} & {*receipt.not_found}, f"{op}: {receipt}", is_loss=False)
        lines = items(op.payload["curated"], "memory") if op.payload and self._is_alone and not receipt.repeated else []
        old = [f"- {one.partition('instead of: ')[2][:-1]}\n" for one in lines if "instead of" in one]
        self._expect(not any(one in memory.store.read("MEMORY.md").text for one in old), f"{op}: {old} stays")
        before = self._told.get(receipt.flush_id, receipt.warnings) if self._is_alone else receipt.warnings
        self._expect(not receipt.repeated or receipt.warnings == before, f"{op} repeats {receipt}", is_loss=False)
        self._told[receipt.flush_id] = receipt.warnings
        return str(receipt.flush_id)

    def _tend(self, memory: Holdfast, op: Op) -> str:
        """Close or reopen the session's work, if it has any; remove what is old, which nothing is."""
        if op.kind != "age":
            with suppress(NotFound):
                work = memory.work.close(op.session) if op.kind == "close" else memory.work.reopen(op.session)
                self._expect((work.status == "open") is work.is_open is (op.kind == "open"), f"{op}: {work}")
                return op.kind
        elif self._is_alone:  # to a clock ahead, temporary files of others look old
            gone = [one for one in memory.retention().removed if one.count and not one.name.endswith(".tmp")]
            self._expect(not gone, f"nothing is old, and {gone} went")
            memory.store.backend.compact()
            files = [node for path, node in below("", self.world.disk.find(ROOT)) if path.endswith("/facts.jsonl")]
            most = len(memory.facts.list()) + 1  # one line names those that went
            self._expect(sum(node.data.count(b"\n") for node in files) <= most, "lines of facts that went")
        return ""

    def _flush(self, session: Any, op: Op, tell: Callable[[str], None]) -> Any:
        if op.kind == "end":
            return session.end(op.payload, on_summary=tell)
        if op.kind in ("switch", "hand"):
            flush = session.switch_provider if op.kind == "switch" else session.hand_over
            return flush(self._tag(op), op.payload, on_summary=tell)
        return session.flush(op.payload, on_summary=tell)

    def _tag(self, op: Op) -> str:
        """A name for a provider or an agent."""
        return f"x{self._number(op)}"

    def _number(self, op: Op) -> int:
        return next(number for number, one in enumerate(self._all()) if one is op)

    def _drop(self, session: Any, op: Op) -> None:
        """What is over a limit leaves context, oldest first. Compacting keeps a tool's call with its result."""
        keep, before = 0 if self.plain else self._number(op) % 3, session.messages
        at = max(0, len(before) - keep)
        if op.kind == "compact":
            kept = session.compact(keep, op.payload)
            while 0 < at < len(before) and before[at].role == "tool":
                at -= 1
        else:
            kept = session.trim(6 * keep, op.payload)
            at = next(at for at in range(len(before) + 1) if sum(one.tokens for one in before[at:]) <= 6 * keep)
            while 0 < at < len(before) and before[at].role == "tool":
                at += 1
        refused = {one.token for one in self._all() if one.kind == "add" and one.was == REFUSED}
        extra = [one for one in kept if one not in before and one.text.split()[0] in refused]
        if extra:  # its line stayed on the disk, and counts among those to keep
            kept = [one for one in kept if one not in extra]
            at = max(at, len(before) - len(kept))
        self._expect(self.world.switching > 0 or kept == before[at:], f"{op} keeps {kept} of {before}")

    # what must be true

    def _all(self) -> Iterator[Op]:
        return (op for ops in self.ops for op in ops)

    def _look(self) -> None:
        """Open it as a new process, and compare it with what was answered."""
        self.world.running = Process(2000, timedelta())
        try:
            with _opened(self.world) as memory:
                (self._weak_look if self.lied else self._strict_look)(memory)
        except HoldfastError:
            if not self.lied:
                raise
        self.world.disk.kill(self.world.running)

    def _weak_look(self, memory: Holdfast) -> None:
        """After false syncs anything may be lost, but errors are holdfast's own."""
        for session in sorted({op.session for op in self._all()}):
            memory.session(session).flush(payload("d0q", ""))

    def _strict_look(self, memory: Holdfast) -> None:
        self._check_private(memory)
        documents = self._documents(memory)
        notes = "".join(text for name, text in documents.items() if name.startswith("memory/2"))
        in_notes, self._is_named = Counter(TOKEN.findall(notes)), "\n- Not kept: " in notes
        self._carried = {*TOKEN.findall("".join(re.findall(r"### Stated before.*\n((?:\n- .*)+)", notes)))}
        found = [(token, fact) for fact in memory.facts.list() for token in TOKEN.findall(fact.content)]
        facts = Counter(token for token, _ in found)
        changed = {op.token for op in self._all() if op.kind == "update" and op.was == DONE}
        old = [fact for token, fact in found if token in changed and fact.confidence != 0.75]
        self._expect(not old or any(op.kind == "forget" for op in self._all()), f"changed, and as before: {old}")
        stated = {op.token: self._payload(op) for op in self._all() if op.token.startswith("d")}
        decided = {op.session for op in self._all() if op.kind in DECIDES and op.was != WAITING}
        reader = Reader(documents, stated | {"d0q": payload("d0q", "f0q")}, decided)
        carried = [stated[token] for token in self._carried & {*stated}]
        texts = [text for one in carried for text in (*statements(one), *items(one["curated"], "memory"))]
        self._expect(all(one in notes for one in texts), f"refused, and not in the notes: {texts} {notes}")
        blocks_of = {name: reader.blocks.get(one["flush"]) for name, one in reader.work.items()}
        work = {name: reader.token(block[0]) for name, block in blocks_of.items() if block}
        self._expect("d0q" in work.values() or "d0q" not in notes, "the handoff lacks the work from before")
        said: Counter[str] = Counter()
        purged = {op.session for op in self._all() if op.kind == "purge" and op.was != WAITING}
        self._expect(bool(purged) or None not in blocks_of.values(), f"the handoff names notes without: {blocks_of}")
        for name in sorted({op.session for op in self._all()}):
            session = memory.session(name)
            records = [entry.record for entry in session.journal.of_kinds("message")]
            found = [record["id"] for record in records]
            versions = [entry.record["v"] for entry in session.journal.entries() if entry.record["kind"] == "session"]
            self._expect(versions in ([], [1]), f"{name}'s journal is of versions {versions}")
            said.update(found)
            if name not in purged:
                self._check_session(session, found, in_notes)
                self._check_messages(session, records, [op for op in self._all() if op.session == name])
                self._check_last(session, work, reader)
        blocks = re.findall(r"holdfast:block id=(\S+)", notes)
        edited = [block for block in blocks if "-" in block]  # as an override after an unfinished flush makes it
        is_overridden = any(op.kind == "override" and op.was != WAITING for op in self._all())
        self._expect(not edited or is_overridden, f"a torn block counts as edited: {blocks}")
        self._expect(len(blocks) == len(set(blocks)), f"a block stands twice: {blocks}", is_loss=False)
        self._expect(is_overridden or "an operator overrode it" not in notes, "nobody overrode anything", is_loss=False)
        proved = proofs(memory.services)
        receipts = {receipt.flush_id for receipt, _ in proved}
        forgotten = {op.token for op in self._all() if op.kind == "forget" and op.was != WAITING}
        for op in self._all():
            if op.kind == "add":
                self._check(op, said[op.token], purged, "in the journal")
            elif op.kind == "fact" and op.token not in forgotten:
                self._check(op, facts[op.token], set(), "in the facts")
            elif op.kind == "forget" and op.token and op.was == DONE:
                stated_anew = any(op.token in (one.token, one.fact) for one in self.repeated)
                self._expect(stated_anew or not facts[op.token], f"{op}: still in the facts")
            elif op.payload:
                self._check(op, in_notes[op.token], purged, "in the notes")
                if op.fact and op.fact not in forgotten:
                    # A fact that cannot be stored is a warning.
                    is_unsure = op.warned or (op.kind in ("compact", "trim") and self.world.hit)
                    self._check(op, facts[op.fact], {op.session} if is_unsure else purged, "in the facts")
            if op.kind in FLUSHES and op.was == DONE and op.answer and op.session not in purged:
                self._expect(op.answer in blocks, f"{op}: its block is not in the notes")
                self._expect(op.answer in receipts, f"{op}: its receipt is not in the journal")
        faults = [] if purged else list(reader.faults(proved))
        self._expect(not faults, "; ".join(faults))
        sift = memory.store.provenance.sift
        hidden = [one.text for name, text in documents.items() for one in sift(name, text).withheld]
        hidden += [fact.content for fact in memory.store.withheld_facts()]
        kept = {token for text in hidden for token in (*TOKEN.findall(text), *re.findall(r"Reach (o\d+)", text))}
        done = [op for op in self._all() if op.was == DONE and op.session not in purged]
        told = [str(op) for op in done if kept & {op.token, op.fact, f"o{op.token[1:-1]}"}]
        self._expect(not told, f"answered, and withheld from agents: {told} {hidden}")
        if self.seed % 8 == 0 and not purged:
            text, actions = str(memory.load()), [one.get("next_action", "") for one in reader.work.values()]
            unsaid = [one for one in actions if one not in text]
            self._expect(not unsaid, f"the brief lacks {unsaid}")
        back = [str(op) for op in self.purged if in_notes[op.token] + said[op.token]]
        self._expect(not back, f"purged, and there: {back}")
        bad = [] if purged else list(verify._journals(memory.services, list(every(memory.services.state, packed=True))))
        self._expect(not bad, f"nobody changed a journal: {bad}", is_loss=False)
        losses = [] if self.faulted else [one for one in newest(memory.services) if one.kind != "lines"]
        store = memory.store.backend.check(thorough=True)
        self._expect(self.faulted or not (store.lost or store.damage), f"the store reports {store}")
        self._expect(not losses or bool(purged), f"losses are reported: {losses}")

    def _check_stays(self, memory: Holdfast) -> None:
        """A process that stays knows what a new one reads."""
        with _opened(self.world) as new:
            self._expect([*memory.facts.list()] == [*new.facts.list()], "a process that stays knows other facts")
            for name in sorted({op.session for op in self._all()}):
                there, read = memory.session(name), new.session(name)
                for field in STAYS:
                    known, stored = str(getattr(there, field)), str(getattr(read, field))
                    self._expect(known == stored, f"{name}.{field} is {known} for one that stays, not {stored}")

    def _check_names(self, error: HoldfastError) -> None:
        self._expect("simulated/.holdfast" not in str(error), f"it names a folder above: {error}", is_loss=False)

    def _check_closed(self) -> None:
        process = self.world.running
        left = [handle.node for handle in self.world.disk.fds.values() if handle.owner is process]
        self._expect(not left, f"{process.number} leaves {len(left)} files open", is_loss=False)

    def _check_private(self, memory: Holdfast) -> None:
        """Others cannot open what is private, git leaves it, and only sessions that are UNSAFE have markers."""
        there = dict(below("", self.world.disk.find(ROOT)))
        added = any(op.kind == "add" and op.was == DONE for op in self._all())
        private = {path for path in there if path.startswith(("/home", "/.holdfast/state"))}
        private -= set() if added else {"/.holdfast/state/sessions"}
        opened = [f"{path} {there[path].mode:o}" for path in sorted(private) if there[path].mode & 0o77]
        self._expect(not opened, f"open to others: {opened}")
        ignored = [node.data for path, node in there.items() if path == "/.holdfast/state/.gitignore"]
        self._expect("/.holdfast/state/owner" not in there or ignored == [b"*\n"], "git would take the private folder")
        marked = {marker.session for marker in memory.unsafe()}
        for name in {op.session for op in self._all()}:
            state = memory.session(name).state
            noted = [path for path in there if path.startswith("/home") and path.endswith(f".{file_stem(name)}")]
            may_stay = state is not State.SAFE or self.was_cut or self.faulted
            self._expect(may_stay or not noted, f"{name} is SAFE, and a note stays: {noted}", is_loss=False)
            names = {name} if memory.session(name).journal.exists() else {name, file_stem(name)}
            is_marked = bool(marked & names)
            self._expect((state is State.UNSAFE) == is_marked, f"{name} is {state}, and marked are {marked}")

    def _documents(self, memory: Holdfast) -> dict[str, str]:
        found = {name: memory.store.read(name) for name in memory.store.names()}
        self._expect(None not in found.values(), f"listed and missing: {found}")
        return {name: document.text for name, document in found.items() if document}

    def _check_last(self, session: Any, work: dict[str, str], reader: Reader) -> None:
        """What the next session goes on with is the last flush that was answered; an ended session stays so."""
        mine = [op for op in self.ops[-1] if op.session == session.id and op.kind in (*FLUSHES, *DECIDES, "add")]
        if not mine or mine[-1].was != DONE or not self._is_alone:
            return
        state = reader.work.get(session.id, {}).get("state", "closed")
        self._expect(mine[-1].answer not in DECIDES or state.startswith(mine[-1].answer), f"{mine[-1]}: {state} work")
        if mine[-1].kind == "hand" and mine[-1].answer and state == "open":
            self._expect(reader.work[session.id].get("agent") == self._tag(mine[-1]), f"{mine[-1]}: no agent")
        is_open = mine[-1].kind == "end" and mine[-1].payload and not session.ended
        self._expect(not is_open, f"{session.id} is open", is_loss=False)
        last = next(op for op in reversed(mine) if op.kind == "add" or op.payload or op is mine[0])
        is_old = last.kind == "lack" and session.id in self.between  # what was repeated came after it
        if last.was == DONE and last.payload and not (is_old or (self.world.hit and self._overridden(session.id))):
            told, is_open = work.get(session.id, ""), "handoff" in last.payload and session.id not in reader.decided
            self._expect(told == last.token or not (told or is_open), f"{last}: the handoff has {told}")

    def _check_messages(self, session: Any, records: list[dict[str, Any]], ops: list[Op]) -> None:
        """They are as they were added, and in context until something is dropped."""
        said = {op.token: {"kind": "message", "id": op.token, **self._said(op)} for op in ops if op.kind == "add"}
        changed = [one for one in records if {name: one[name] for name in one if name != "at"} != said[one["id"]]]
        self._expect(not changed, f"other messages were added than {changed}")
        drops = any(op.kind in DROPS and op.was != WAITING for op in ops)
        there, all_ids = [one.id for one in session.messages], [one["id"] for one in records]
        wanted = all_ids[len(all_ids) - len(there) :] if drops else all_ids
        self._expect(there == wanted, f"only {there} are in context")
        unsaid = [one for one in all_ids if one not in there and f"<{one}>" not in session.summary]
        last = ops[-1] if ops and ops[-1:] == self.ops[-1][-1:] and self._is_alone else None  # no other came after it
        if last and last.kind == "end" and last.was == DONE and last.payload:
            unsaid += [one for one in statements(last.payload) if one not in session.summary]
        self._expect(not unsaid or self._overridden(session.id), f"{unsaid} left context, and no summary has them")

    def _check(self, op: Op, number: int, purged: set[str], where: str) -> None:
        dropped = bool(op.payload and self.world.hit and self._overridden(op.session))  # by the operator
        least = int(op.was == DONE and op.session not in purged and not dropped)
        most = int(op.was != WAITING) + (self._said_again(op) if op.payload else self._added_again(op))
        self._expect(least <= number, f"{op}: {number} times {where}")
        self._expect(number <= most, f"{op}: {number} times {where}", is_loss=False)

    def _added_again(self, op: Op) -> int:
        """A message that left context before the client repeated it is a new one."""
        left = any(o.kind in DROPS and o.was != WAITING for o in self._all() if o.session == op.session)
        return int(op.kind == "add" and op in self.repeated and left)

    def _said_again(self, op: Op) -> int:
        """How many more blocks may have a flush that had no answer: the session went on, and the client repeated it, or
        a flush without a payload took it up, together with what was added. An override makes it another block, too."""
        mine = [o for o in self._all() if o.session == op.session and o.was != WAITING and o is not op]
        bare = any(o.kind in FLUSHES and not o.payload for o in mine) and any(o.kind == "add" for o in mine)
        again = int(op.again) + int(self._overridden(op.session)) + max(0, op.left - 1)
        refused = [o for o in mine if o.payload and (o.was != DONE or o.left)]  # in between, or with its lines
        again += int(bool(refused) and (op in self.repeated or op.token in self._carried))
        return again + int(bare and (op.was != DONE or op.again))

    def _check_session(self, session: Any, found: list[str], in_notes: Counter[str]) -> None:
        """SAFE means that all is in the notes; a refused flush is UNSAFE."""
        mine = [op for op in self._all() if op.session == session.id and op.was != WAITING]
        unsure = [op for op in mine if op.kind in FLUSHES and op.was != DONE]
        missing = [one for one in found if not in_notes[one]]
        if session.state is State.SAFE:
            self._expect(not missing, f"{session.id} is SAFE, and {missing} are in no note")
            kept = [op for op in unsure if op.was == REFUSED and op.payload]
            kept = [op for op in kept if not (self._is_named if op.noted else op.faulted)]
            lost = [op.token for op in kept if not in_notes[op.token] and not self._overridden(session.id)]
            self._expect(not lost, f"{session.id} is SAFE, and {lost} were refused")
        if session.state is State.DIRTY and len(self.ops) == 1 and mine and mine[-1].was == REFUSED:
            self._expect(mine[-1].faulted or not unsure, f"{session.id} is DIRTY after {mine[-1]}", is_loss=False)
        switch = next((op for op in reversed(mine) if op.kind == "switch"), None)
        if switch and switch.was == DONE and self._is_alone and switch in self.ops[-1]:
            provider = self._tag(switch)
            self._expect(session.provider == provider, f"{session.id} is {session.provider!r}'s, not {provider}'s")
        last = mine[-1] if mine and len(self.ops) == 1 else None
        if last and last.kind == "add" and last.was == DONE:
            self._expect(session.state is not State.SAFE, f"{session.id} is SAFE after {last}")
        if last and last.was == BEGUN and last.payload and in_notes[last.token]:
            what = f"{session.id} is DIRTY, and the block of {last} is there"
            self._expect(session.state is not State.DIRTY, what, is_loss=False)
        dropped = [op for op in mine if op.kind in DROPS and op.was == DONE]
        if dropped and not session.messages:
            self._expect(not missing or self._overridden(session.id), f"{missing} left context and are in no note")

    @property
    def _is_alone(self) -> bool:
        """Whether no other process runs."""
        return len(self.ops) == 1 or self.gone_on

    def _may_refuse(self, op: Op, error: HoldfastError) -> bool:
        """Whether a stated payload must be completed, lacking a field or its process, or a purge interfered."""
        unwritten = any(one.faulted and one.payload for one in self._all() if one.session == op.session)
        if isinstance(error, FlushRefused) and not (error.missing or "could not be kept" in error.message):
            return False
        if isinstance(error, FlushRefused) and (unwritten or any(one.dead for one in self.world.processes)):
            return True
        if op.kind == "purge" and sum(one.kind == "purge" for one in self._all()) > 1:
            return True  # one at a time
        if op.kind == "override" and isinstance(error, BadValue):
            return len(self.ops) > 1  # another process's flush made the session safe after this one looked
        kind = "lack" if isinstance(error, FlushRefused) else "purge" if isinstance(error, Conflict) else ""
        if kind == "purge" and op.kind in DECIDES and not self._is_alone:
            return True  # its session wrote an entry meanwhile
        return any(one.kind == kind and one.session == op.session and one.was != WAITING for one in self._all())

    def _may_warn(self, session: str, text: str) -> bool:
        """Whether the history explains the warning: by a clock, a fault, a forgotten fact or an override."""
        if stated := re.fullmatch(r"Stated fact \d was not stored \(The (\w+) is green\): it was removed .*", text):
            return any(op.kind == "forget" and op.token == stated[1] and op.was != WAITING for op in self._all())
        if text.startswith("Dropped by an override although it was not saved"):
            return self.world.faulted and self._overridden(session)
        if text == "Data of the last flush was no longer stored and was written again: continuity/active.md.":
            # The same payload's next flush had begun to write its entry when the power was cut again, or reopening it.
            mine = [op for op in self._all() if op.session == session and op.was != WAITING]
            may_reopen = self.world.hit or not self._is_alone
            return any((op.kind == "open" and may_reopen) or (op.left > 1 and op.payload) for op in mine)
        if re.match(CROWDED, text):
            return self.is_full
        if text == "MEMORY.md has no line 'Know c2' to replace, so the new line was added.":
            return not self.plain
        return text.startswith((*ANY_TIME, *(AFTER_A_FAULT if self.world.hit else ())))

    def _overridden(self, session: str) -> bool:
        return any(op.kind == "override" and op.session == session and op.was != WAITING for op in self._all())

    def _may_be_unsafe(self, session: Any) -> bool:
        """Whether a session need not be SAFE after a flush. One that was refused during a purge leaves its note."""
        is_purged = any(op.kind == "purge" and op.session == session.id and op.was != WAITING for op in self._all())
        return is_purged or session.unmarked or session.id in self.between

    def _expect(self, holds: bool, what: str, *, is_loss: bool = True) -> None:
        if not holds:
            raise (Lost if is_loss else Broken)(what)

    def _check_oldest(self) -> None:
        """Work is no loss that left a full handoff for newer."""
        with _opened(self.world) as memory:
            text = self._documents(memory)["continuity/active.md"]
            is_right = '"before"' in text or text.count('state = "open"') >= 40
            receipt = memory.session("before").flush()
            self._expect(receipt.repeated is is_right, f"old work, of a handoff that was full: {receipt} {text}")

    def _damage(self) -> None:
        """What is cut or garbled is told by the next process, and never counts as empty."""
        self.world.running, name, stem = Process(5000, timedelta()), "z/Ü", file_stem("z/Ü")
        with _opened(self.world) as memory:
            memory.facts.create("The sky is blue", category="knowledge", confidence=0.5)
            memory.session(name).add("user", "m0q")
            memory.session(name).end()
            with suppress(FlushRefused):
                memory.session(name).flush(payload("d0q", ""))
            note = next(one for one in memory.store.names() if one.startswith("memory/2"))
        tells: list[tuple[str, tuple[Callable[[bytes], bytes], ...], Callable[[Holdfast], object]]] = [
            ("facts.jsonl", DAMAGE, lambda new: (one := new.store.backend.check(thorough=True)).lost or one.damage),
            (f"state/sessions/{stem}.jsonl", (*DAMAGE, _from_afar), lambda new: not new.session(name)),
            (f"state/unsafe/{stem}.json", DAMAGE, lambda new: name in [one.session for one in new.unsafe()]),
            (note, (lambda one: one + b"\xff",), lambda new: not new.store.read(note)),
        ]
        for path, kinds, tell in tells:
            node = self.world.disk.find(f"{ROOT}/.holdfast/{path}")
            before, node.mtime = bytes(node.data), node.mtime + 1
            node.data[:] = self._later.choice(kinds)(before)
            try:
                with _opened(self.world) as memory:
                    self._expect(tell(memory), f"{path} is damaged, and nothing tells: {node.data!r}")
            except Corrupt as error:
                self._check_names(error)
            node.data[:] = before
        self._check_closed()

    def _misuse(self) -> None:
        """What cannot be used is refused."""
        self.world.running = Process(6000, timedelta())
        with _opened(self.world) as memory, Holdfast.open(ROOT, config=CONFIG, clock=lambda: "now") as timeless:
            session, stated = memory.session("z"), payload("d1q", "f1q")
            session.add("user", "m0q")
            there = "/etc/passwd"
            calls: list[Callable[[], object]] = [
                lambda: timeless.session("z").add("user", "m0q"),
                lambda: session.add("nobody", "m0q"),
                lambda: session.add("user", "m0q", tokens=-1),
                lambda: session.flush({**stated, "artifacts": [there]}),
                lambda: session.flush({**stated, "handoff": {**stated["handoff"], "branch": there}}),
                lambda: session.flush({**stated, "state_mutations": [{**CHANGED, "target": there}]}),
                lambda: session.compact(-1),
                lambda: session.hand_over(" "),
            ]
            if self.world.walks:
                self.world.disk.find(session.journal.path).uid += 1  # is another account's
                calls.append(lambda: session.add("user", "m1q"))
            for number, call in enumerate(calls):
                with suppress(HoldfastError):
                    call()
                    self._expect(False, f"call {number} is not refused", is_loss=False)

    def _clean(self) -> None:
        """Git removes the private folder, as when a commit has a file in its place."""
        disk, self.world.running = self.world.disk, Process(7000, timedelta())
        disk.mkdir("/.git")
        disk.close(disk.open("/.git/description", os.O_CREAT))
        for is_lost in (False, True):
            with suppress(FileNotFoundError, KeyError):  # when a history broke before it was made
                disk.remove(f"{ROOT}/.holdfast/state")
            with _opened(self.world) as memory:
                told = apart(ROOT, memory.services.state)
                self._expect(bool(told) is is_lost, f"the private folder was removed: {told}")
                memory.session("z").add("user", "m0q")

    # a person edits

    def _edit(self) -> None:
        """What a person removes of a session's last flush is written again by the next one, as it was."""
        self.world.running = Process(4000, timedelta())
        with _opened(self.world) as memory:
            sessions = [memory.session(name) for name in sorted({op.session for op in self._all()})]
            whole = [one for one in sessions if one.state is State.SAFE and one.last_receipt]
            if not whole or any(op.kind in ("override", "purge") and op.was != WAITING for op in self._all()):
                return
            session = self._later.choice(whole)
            name = self._later.choice(session.last_receipt.written).name
            before = self._documents(memory)
            mine, entry = self._written(session, name, before), Reader(before, {}).work.get(session.id, {})
            if not any(mine) or (name.endswith("active.md") and entry.get("state") != "open"):
                return
            self.world.disk.edit(f"{ROOT}/.holdfast/{name}", mine)
            receipt, again = session.flush(), session.flush()
            told = any("was written again" in text for text in receipt.warnings) and not receipt.repeated
            self._expect(told and again.repeated, f"{mine} of {name} is gone: {receipt}, {again}")
            after = self._documents(memory)
            now = Reader(after, {}).work.get(session.id, {})
            missing = [one for one in mine if one not in after.get(name, "")] if name.startswith("m") else []
            self._expect(not missing, f"not written again in {name}: {missing}")
            same = {**now, "rules": 0, "agent": 0} == {**entry, "rules": 0, "agent": 0}
            is_compared = entry.get("state") == "open" and "short" not in entry  # a closed one may have gone
            self._expect(same or not is_compared, f"the handoff has {now}, not {entry}")

    def _edit_between(self) -> None:
        """A person's line, added after a write and before it is read back, stays. A line that was replaced since does
        not come back with what a person removed."""
        self.world.running, disk, line = Process(4001, timedelta()), self.world.disk, "- By hand\n"
        with _opened(self.world) as memory:
            backend, session, write = memory.store.backend, memory.session("y"), memory.store.backend.write

            def edited(name: str, text: str, expected: str | None = None) -> str:
                revision = write(name, text, expected)
                if name == "MEMORY.md" and line not in text:
                    disk.find(f"{ROOT}/.holdfast/{name}").data += line.encode()
                return revision

            backend.write = edited  # type: ignore[method-assign]
            session.flush(payload("d2q", "f2q") | {"curated": {"memory": ["Know c2", "Know c92"]}})
            memory.session("z").flush(payload("d97q", "f97q", plain=False))
            note = next(one.name for one in session.last_receipt.written if one.surface == "daily")
            disk.edit(f"{ROOT}/.holdfast/{note}", self._written(session, note, self._documents(memory)))
            disk.edit(f"{ROOT}/.holdfast/MEMORY.md", ["- Know c92\n"])
            receipt, text = session.flush(), memory.store.read("MEMORY.md").text
            there = [one in text for one in (line, "Know c97\n", "Know c92\n", "Know c2\n")]
            self._expect(there == [True, True, True, False], f"edited meanwhile, and replaced since: {text} {receipt}")

    def _written(self, session: Any, name: str, documents: dict[str, str]) -> list[str]:
        """What the session's last flush wrote to that document."""
        if name in DOCUMENTS.values():
            lines = curated(session.last_flush["payload"]["curated"], name)
            return [one for one in lines if one in documents[name] and not re.search(r"Know c\d?7", documents[name])]
        if name.startswith("memory/"):
            start = rf"\n## [^\n]*\n<!-- holdfast:block id={session.last_receipt.flush_id} -->\n"
            return re.findall(rf"(?s){start}.*?(?=\n## |\Z)", documents[name])
        text = documents.get(name, "")
        return [
            one for one in re.findall(r"(?s)\[\[work]]\n.*?(?=\[\[work]]|\+\+\+)", text) if f'"{session.id}"' in one
        ]

    # the client goes on

    def _go_on(self) -> bool:
        """Repeat what had no answer, or go on with something else, then end every session. Whether it broke again."""
        repeats = self._again or self.chance.random() < 0.6
        self.log.append(f"then the client {'repeats' if repeats else 'goes on'} and ends")
        more: list[Op] = []
        for op in list(self._all()):
            op.left += op.was in (BEGUN, REFUSED)
            if repeats and op.was in (BEGUN, REFUSED) and op.kind not in ("lack", "forget", "override"):
                others = [o for o in self._all() if o.session == op.session and o is not op and o.was != WAITING]
                op.again = op.again or any(
                    o.kind in ("add", "lack") or (o.kind in FLUSHES and (o.was != REFUSED or o in more)) for o in others
                )
                more.append(op)
        self.repeated += more
        if more and not self.plain and self._later.random() < 0.2:  # refused in between
            more.insert(0, self._op(more[0].session, "lack"))
            self.between.add(more[0].session)
        unanswered = [op for op in self._all() if op.payload and op.was in (BEGUN, REFUSED) and not op.noted]
        sessions = sorted({op.session for op in self._all()})
        for session in () if self._again or (more and self.chance.random() < 0.4) else sessions:
            more.append(Op("add", session, self._new("m")))
            if self.chance.random() < 0.6:
                more.append(Op("state", session, self._new("d"), self._new("f")))
                more[-1].payload = self._payload(more[-1])
            elif any(op.session == session for op in unanswered):
                more.pop()  # a payload that was left out, or had no answer, has to be stated
                continue
            more.append(Op("end", session))
        self.ops.append([op for op in more if op.was == WAITING])
        self.gone_on = True
        process, way = Process(2999 + len(self.ops), timedelta()), self._later.choice(("cut", "kill", "fault"))
        if not self._once and self._later.random() < 0.4:
            self.world.break_at(self.world.changes + self._later.randrange(1, 30 * len(more) + 2), way)
        self.world.run([(process, self._job(process, more))], 0)
        breaks, self.faulted = self.world.is_over or self.world.faulted, self.world.faulted
        self.log.append(f"then: {'; '.join(map(str, more))}{f' ({self.world.hit})' if breaks else ''}")
        self.world.mend()
        is_cut = not breaks or way == "cut" or self._later.random() < 0.5
        self.was_cut |= is_cut  # a note that went without a sync may be back, and stays until its session's next flush
        if is_cut:
            self.world.cut_power()
        ended = {name for name, op in {op.session: op for op in more}.items() if op.kind == "end" and op.was == DONE}
        ended -= {op.session for op in self._all() if op.kind == "lack" and op.was == REFUSED}  # to be completed
        unsafe = [name for name in ended if not breaks and self._states[name] is not State.SAFE]
        self._expect(not unsafe, f"after the end: {unsafe}", is_loss=False)
        self._look()
        return breaks


def _from_afar(journal: bytes) -> bytes:
    """As if another machine had begun it."""
    first, _, rest = journal.partition(b"\n")
    return encode({**(decode(first) or {}), "made": "0"}) + rest


def _opened(world: World) -> Holdfast:
    sessions._messages.cache_clear()
    return Holdfast.open(ROOT, config=CONFIG, clock=world.now)


@cache
def plugins() -> Plugins:
    """Of every project, because no crash changes them."""
    made = Plugins()
    project._register_backend(CONFIG, made, discovery.scan())
    made.register(TellsAll(), "tells-all")
    return made


@cache
def lived_in_disk(sessions: int = 1) -> Node:
    """The disk of a project in which sessions were flushed."""
    world = World(Random("lived in"), plugins())
    with world.installed(), _opened(world) as memory:
        for number in range(sessions):
            session = memory.session(f"before{number or ''}")
            session.add("user", "m0q")
            session.end(payload("d0q", "f0q"))
        world.disk.cut_power(world.chance, kind="kept")
    return world.disk.top
