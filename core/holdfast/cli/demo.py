"""``holdfast demo``: the promise, kept and then defended, on a coding session in a real client's transcript format.

Everything is the real thing: the journal, the flush and the files are those of any project, the other process is a
process, and the store that cannot be written cannot be written. No model, no key, no server.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli import dreaming, receipt
from holdfast.cli.args import examples
from holdfast.cli.term import Term
from holdfast.dreamlog import Status
from holdfast.errors import ConfigError, FlushRefused
from holdfast.layout import Surface

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.engine import Holdfast
    from holdfast.models import Message, Payload
    from holdfast.session import Session

SESSION = "webhook-fix"
KEEP = 4
#: How much of the session is said before compaction is first asked for.
FIRST_ACT = 0.8


def configure(parser: ArgumentParser) -> None:
    parser.epilog = examples("holdfast demo", "holdfast demo --dir try-holdfast")
    parser.add_argument("--dir", metavar="DIR", help="make the demo's project here; DIR must not exist yet")


def run(args: Namespace) -> int:
    """Play all acts; 0 when the promise held in each."""
    from holdfast import Holdfast
    from holdfast.serde import payload_from_json
    from holdfast.transcripts import read

    out = Term()
    folder = _folder(args.dir)
    data = resources.files("holdfast") / "demo"
    with resources.as_file(data / "session.jsonl") as path:
        messages = read(path).messages
    payload = payload_from_json((data / "payload.json").read_text(encoding="utf-8"))
    out.say(out.bold("Nothing is dropped until it is durable."))
    out.say(f"A coding session of {len(messages)} messages, in a project of its own: {folder}")
    first = int(len(messages) * FIRST_ACT)
    with Holdfast.open(folder) as memory:
        stage = _Stage(out, memory, memory.session(SESSION))
        held = stage.compaction(messages[:first]) and stage.compaction_with_a_broken_store(messages[first:], payload)
        held = held and stage.dream()
    stage.look_yourself(folder)
    return 0 if held else 1


def _folder(wanted: str | None) -> Path:
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="holdfast-demo-"))
    try:
        Path(wanted).mkdir(parents=True)
    except FileExistsError as error:
        raise ConfigError(f"{wanted!r} exists already.", next_step="Name a folder that does not exist.") from error
    except OSError as error:
        raise ConfigError(
            f"{wanted!r} cannot be made: {error.strerror}.", next_step="Name a folder that can be."
        ) from error
    return Path(wanted).resolve()


class _Stage:
    """Where the acts are played: one terminal, one project, one session."""

    def __init__(self, out: Term, memory: Holdfast, session: Session) -> None:
        self.out = out
        self.memory = memory
        self.session = session

    def compaction(self, messages: Sequence[Message]) -> bool:
        """Capture, compact, and start again in another process. True when the session is safe and the context small."""
        self._title("1", "Compaction, and a new start from files alone")
        self._capture(messages)
        self._show_masks()
        self._compact()
        self._step("A new process, with nothing but these files, says where to go on:")
        self._resume()
        return not self.session.unsafe and len(self.session.messages) < len(messages)

    def compaction_with_a_broken_store(self, messages: Sequence[Message], payload: Payload) -> bool:
        """The same while the notes cannot be written, with a payload that the agent states itself. True when nothing
        was lost and the repaired store holds it."""
        self._title("2", "The same, with a store that cannot be written")
        self._capture(messages)
        notes = Path(self.memory.services.root, self.memory.config.storage.path, "memory")
        aside = notes.with_name("memory.aside")
        notes.rename(aside)
        notes.write_text("This is a file where a folder should be.\n", encoding="utf-8")
        self._step(
            "The folder of the notes is now a file. Compaction is asked for, with a payload that the agent states."
        )
        before = len(self.session.messages)
        try:
            self.session.compact(KEEP, payload)
        except FlushRefused as refused:
            self.out.say(f"    {self.out.mark('fail')} {self.out.red('blocked', bold=True)}")
            self.out.say(self.out.wrapped(refused.message, first="      "))
            self.out.say(self.out.wrapped(refused.next_step, first="      next: "))
        kept = len(self.session.messages)
        self._step(f"{kept} of {before} messages are still in context. The session is {self._state()}.")
        self._quote(self._another_process("status"))
        notes.unlink()
        aside.rename(notes)
        self._step("The store is repaired. Compaction is asked for again.")
        self._compact(payload)
        self._step(f"The session is {self._state()}. A new process:")
        self._resume()
        return kept == before and not self.session.unsafe

    def dream(self) -> bool:
        """Consolidate the notes of both acts, without a model. True when that went well."""
        self._title("3", "A dream: the notes become memory, checked line by line")
        result = self.memory.deep_dream()
        self._step(f"Nobody was asked but the notes: {dreaming.counts(result) or result.reason}. The diary tells it:")
        if result.diary:
            self._quote(self._another_process("show", result.diary))
        self._step("MEMORY.md was backed up before: `holdfast dream --undo` puts it back.")
        return result.status is Status.DONE

    def look_yourself(self, folder: Path) -> None:
        """What to try next."""
        handoff = self.memory.services.layout.name(Surface.HANDOFF)
        self.out.say()
        self.out.say(self.out.bold("Look yourself"))
        rows = [
            (f'cd "{folder}"' if " " in str(folder) else f"cd {folder}", "plain files and nothing else"),
            (f"holdfast show {handoff}", "the restart point"),
            ("holdfast report", "what an operator wants to know"),
            ("holdfast init", "begin, in a project of yours"),
        ]
        self.out.say(self.out.table(rows))

    def _capture(self, messages: Sequence[Message]) -> None:
        start = time.perf_counter()
        for number, message in enumerate(messages, 1):
            self.session.add(
                message.role,
                message.text,
                message_id=message.id,
                at=message.at,
                tool=message.tool,
                failed=message.failed,
            )
            if self.out.is_tty:
                self._progress(f"{number} of {len(messages)} messages")
        each_ms = (time.perf_counter() - start) * 1000 / len(messages)
        if self.out.is_tty:
            self._progress("")
        self._step(
            f"{len(messages)} messages captured, each on disk before the next ({each_ms:.1f} ms each). "
            f"In context: {len(self.session.messages)} messages, about {self.session.token_usage} tokens."
        )

    def _show_masks(self) -> None:
        lines = [line for m in self.session.messages for line in m.text.splitlines() if "[REDACTED:" in line]
        if lines:
            self._step("The user pasted credentials. What reached the disk, and what any model is shown:")
            self._quote("\n".join(lines))

    def _compact(self, payload: Payload | None = None) -> None:
        before = len(self.session.messages)
        kept = self.session.compact(KEEP, payload)
        self.out.say()
        if self.session.last_receipt is not None:
            receipt.show(self.out, self.session.last_receipt, now=self.memory.services.now())
        self.out.say()
        self._step(f"Only now the context is dropped: {before} messages became {len(kept)}.")

    def _resume(self) -> None:
        """The resume point as a new agent is given it, without the notes that follow it."""
        text = self._another_process("load", "--max-chars", "9000")
        self._quote(text.split("\n<!-- ", 1)[0].removeprefix("<recalled-memory>\n"))

    def _another_process(self, *words: str) -> str:
        """What ``holdfast WORDS`` prints in a process of its own."""
        command = [sys.executable, "-m", "holdfast", "--root", self.memory.services.root, *words]
        env = {**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": str(self.out.width - 6)}
        done = subprocess.run(command, capture_output=True, encoding="utf-8", env=env, check=False)  # noqa: S603
        return done.stdout + done.stderr

    def _state(self) -> str:
        return self.out.red("UNSAFE", bold=True) if self.session.unsafe else self.out.bold(self.session.state.upper())

    def _progress(self, text: str) -> None:
        self.out.stream.write(f"\r\x1b[K  {text}" if text else "\r\x1b[K")
        self.out.stream.flush()

    def _title(self, number: str, text: str) -> None:
        self.out.say()
        self.out.say(self.out.bold(f"{number}. {text}"))
        self.out.say()

    def _step(self, text: str) -> None:
        self.out.say(f"  {self.out.mark('dot')} {text}")

    def _quote(self, text: str) -> None:
        bar = self.out.dim("│" if self.out.unicode else "|")
        for line in text.strip("\n").splitlines():
            long = len(line) > self.out.width - 6  # what was printed as a table stays one
            quoted = self.out.wrapped(line, first=f"    {bar} ", rest=f"    {bar}   ") if long else f"    {bar} {line}"
            self.out.say(quoted.rstrip())
