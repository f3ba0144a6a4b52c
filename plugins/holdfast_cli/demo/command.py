"""``holdfast demo``: the promise kept, defended and used, on a coding session in a real client's transcript format.

The journal, the flush and the files are those of any project, the second process is a real process, and the store
really cannot be written to. No model, no key, no server.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from holdfast import Holdfast, Session
from holdfast.config.serde import payload_from
from holdfast.errors import ConfigError, FlushRefused
from holdfast.models import Message, Payload
from holdfast.text.untrusted import from_json
from holdfast_app.transcripts import read
from holdfast_cli.command import Call, Command, argument
from holdfast_cli.terminal import Term
from holdfast_memory import nested

SESSION = "webhook-fix"
#: Share of the session before the first compaction.
FIRST_ACT = 0.8
#: Number of messages that stay in context after each compaction.
KEEP = 4


@Command(
    "Get started",
    "see the promise kept in a few seconds, in a new folder",
    argument("--dir", metavar="DIR", help="folder for the demo project (must not exist yet)"),
    examples=("holdfast demo", "holdfast demo --dir try-holdfast"),
    json=False,
)
def demo(call: Call) -> int:
    """Play all acts; 0 when the promise held in each."""
    out, folder = call.out, _folder(call.args.dir)
    data = resources.files("holdfast_cli.demo")
    with resources.as_file(data / "session.jsonl") as path:
        messages = read(path).messages
    payload = payload_from(from_json((data / "payload.json").read_bytes()))
    first = int(len(messages) * FIRST_ACT)
    out.say(out.bold("Nothing is dropped until it is durable."))
    out.say(f"A coding session of {len(messages)} messages, in a new project: {folder}")
    with Holdfast.open(folder) as memory:
        stage = _Stage(out, memory, memory.session(SESSION))
        held = stage.kept(messages[:first]) and stage.refused(messages[first:], payload) and stage.resumed()
    out.say()
    rows = [
        (f'cd "{folder}"' if " " in str(folder) else f"cd {folder}", "plain files, nothing else"),
        ("holdfast search 'unique index'", "every message stays searchable"),
        ("holdfast install", "guard your own agent"),
    ]
    out.say(out.table(rows))
    return 0 if held else 1


def _folder(wanted: str | None) -> Path:
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="holdfast-demo-"))
    try:
        Path(wanted).mkdir(parents=True)
    except OSError as error:
        step = "Name a folder that does not exist."
        raise ConfigError(f"{wanted!r} cannot be made: {error.strerror}.", next_step=step) from error
    return Path(wanted).resolve()


class _Stage:
    """The acts, on one terminal with one project and one session."""

    def __init__(self, out: Term, memory: Holdfast, session: Session) -> None:
        self.out = out
        self.memory = memory
        self.session = session

    def kept(self, messages: Sequence[Message]) -> bool:
        """Journal the messages and compact. True when the session is safe and the context small."""
        self.out.say(f"\n{self.out.bold('1. Kept')}")
        self.capture(messages)
        masked = [line for m in self.session.messages for line in m.text.splitlines() if "[REDACTED:" in line]
        self.step(f"Secrets are masked before they are written: {masked[0].partition('=')[2]}")
        self.compact()
        return not self.session.unsafe and len(self.session.messages) < len(messages)

    def refused(self, messages: Sequence[Message], payload: Payload) -> bool:
        """Compact while the notes cannot be written, with a payload that the agent states itself. True when nothing
        was lost and the repaired store holds it."""
        self.out.say(f"\n{self.out.bold('2. Refused')}")
        self.capture(messages)
        notes = Path(self.memory.services.root, self.memory.config.storage.path, "memory")
        aside = notes.with_name("memory.aside")
        notes.rename(aside)
        notes.write_text("This is a file where a folder should be.\n", encoding="utf-8")
        self.step("The notes folder is now a file. The agent asks for compaction.")
        before = len(self.session.messages)
        try:
            self.session.compact(KEEP, payload)
        except FlushRefused as refused:
            self.out.say(f"    {self.out.mark('fail')} {self.out.red('blocked', bold=True)}")
            self.out.fill(refused.message, "      ")
            self.out.fill(refused.next_step, "      next: ")
        kept = len(self.session.messages)
        state = self.out.red("UNSAFE", bold=True) if self.session.unsafe else self.out.bold(self.session.state.upper())
        self.step(f"{kept} of {before} messages are still in context. The session is {state}.")
        notes.unlink()
        aside.rename(notes)
        self.step("The folder is repaired. The agent asks again.")
        self.compact(payload)
        return kept == before and not self.session.unsafe

    def resumed(self) -> bool:
        """Print the restart point as a new agent receives it, without the documents after it. True when it has one."""
        self.out.say(f"\n{self.out.bold('3. Resumed')}")
        self.step("A new process, with an empty context, reads only the files:")
        command = [*nested.THIS, "--root", self.memory.services.root, "load", "--max-chars", "9000"]
        env = {**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": str(self.out.width - 6)}
        done = subprocess.run(command, capture_output=True, encoding="utf-8", env=env, check=False)  # noqa: S603
        brief = done.stdout + done.stderr
        rules, title, rest = brief.partition("# Where to resume")
        lines = [*rules.splitlines()[2:], title, *rest.partition("\n\n<!-- ")[0].splitlines()]
        self.quote("\n".join(filter(None, lines)))
        return "Next action: " in brief

    def capture(self, messages: Sequence[Message]) -> None:
        """Journal the messages one by one."""
        for message in messages:
            said = message.role, message.text
            self.session.add(*said, message_id=message.id, at=message.at, tool=message.tool, failed=message.failed)
        self.step(f"{len(messages)} messages captured, each on disk before the next one.")

    def compact(self, payload: Payload | None = None) -> None:
        """Compact, and show the written documents. Raises: FlushRefused."""
        before = len(self.session.messages)
        kept = self.session.compact(KEEP, payload)
        done = self.session.last_receipt
        if done is not None:
            self.step(
                f"Flushed: {len(done.written)} documents are written and read back, {done.written[0].name} first."
            )
        self.step(f"The context is dropped only now. {len(kept)} of {before} messages stay.")

    def step(self, text: str) -> None:
        """Print one step."""
        self.out.fill(text, f"  {self.out.mark('dot')} ")

    def quote(self, text: str) -> None:
        """Print output from elsewhere, such as a file, another process or a server."""
        bar = self.out.dim("│" if self.out.unicode else "|")
        for line in text.strip("\n").splitlines():
            long = len(line) > self.out.width - 6  # a printed table keeps its layout
            quoted = self.out.wrapped(line, first=f"    {bar} ", rest=f"    {bar}   ") if long else f"    {bar} {line}"
            self.out.say(quoted.rstrip())
