"""``holdfast demo``: the promise kept, then defended, on a coding session in a real client's transcript format.

The journal, the flush and the files are those of any project, the second process is a real process, and the store
really cannot be written to. No model, no key, no server.
"""

from __future__ import annotations

import tempfile
from argparse import ArgumentParser, Namespace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.config.layout import Surface
from holdfast.errors import ConfigError, FlushRefused
from holdfast_app.dream.dreamlog import Status
from holdfast_cli.args import examples, file_name
from holdfast_cli.demo.demo_runner import KEEP, Stage
from holdfast_cli.dream import shown
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.models import Message, Payload

#: The help heading for the command, and its summary line.
HEADING = "Get started"
SUMMARY = "see the promise kept in a few seconds, in a new folder"

SESSION = "webhook-fix"
#: Share of the session before the first compaction.
FIRST_ACT = 0.8


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--dir", metavar="DIR", type=file_name, help="folder for the demo project (must not exist yet)")
    parser.epilog = examples("holdfast demo", "holdfast demo --dir try-holdfast")


def run(args: Namespace) -> int:
    """Play all acts; 0 when the promise held in each."""
    from holdfast import Holdfast
    from holdfast.config.serde import payload_from_json
    from holdfast_app.transcripts import read

    out = Term()
    folder = _folder(args.dir)
    data = resources.files("holdfast_cli.demo")
    with resources.as_file(data / "session.jsonl") as path:
        messages = read(path).messages
    payload = payload_from_json((data / "payload.json").read_text(encoding="utf-8"))
    first = int(len(messages) * FIRST_ACT)
    out.say(out.bold("Nothing is dropped until it is durable."))
    out.say(f"A coding session of {len(messages)} messages, in a new project: {folder}")
    with Holdfast.open(folder) as memory:
        stage = _Acts(out, memory, memory.session(SESSION))
        held = stage.compaction(messages[:first]) and stage.compaction_with_a_broken_store(messages[first:], payload)
        held = held and stage.dream()
    stage.look_yourself(
        (f"holdfast show {memory.services.layout.name(Surface.HANDOFF)}", "the restart point"),
        ("holdfast report", "a summary for operators"),
        ("holdfast init", "start in your own project"),
    )
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


class _Acts(Stage):
    """The promise kept, the promise defended, and a dream."""

    def compaction(self, messages: Sequence[Message]) -> bool:
        """Capture, compact, and start again in another process. True when the session is safe and the context small."""
        self.title("1", "Compaction, then a fresh start from files alone")
        self.capture(messages)
        self.show_masks()
        self.compact()
        self.step("A new process reads only these files and shows where to continue:")
        self.resume()
        return not self.session.unsafe and len(self.session.messages) < len(messages)

    def compaction_with_a_broken_store(self, messages: Sequence[Message], payload: Payload) -> bool:
        """The same while the notes cannot be written, with a payload that the agent states itself. True when nothing
        was lost and the repaired store holds it."""
        self.title("2", "The same with a store that cannot be written")
        self.capture(messages)
        notes = Path(self.memory.services.root, self.memory.config.storage.path, "memory")
        aside = notes.with_name("memory.aside")
        notes.rename(aside)
        notes.write_text("This is a file where a folder should be.\n", encoding="utf-8")
        self.step("The notes folder is now a file. The agent states its payload and asks for compaction.")
        before = len(self.session.messages)
        try:
            self.session.compact(KEEP, payload)
        except FlushRefused as refused:
            self.out.say(f"    {self.out.mark('fail')} {self.out.red('blocked', bold=True)}")
            self.out.say(self.out.wrapped(refused.message, first="      "))
            self.out.say(self.out.wrapped(refused.next_step, first="      next: "))
        kept = len(self.session.messages)
        self.step(f"{kept} of {before} messages are still in context. The session is {self.state()}.")
        self.quote(self.another_process("status"))
        notes.unlink()
        aside.rename(notes)
        self.step("The store is repaired. The agent asks for compaction again.")
        self.compact(payload)
        self.step(f"The session is {self.state()}. A new process shows where to continue:")
        self.resume()
        return kept == before and not self.session.unsafe

    def dream(self) -> bool:
        """Consolidate the notes of both acts, without a model. True when the dream succeeded."""
        self.title("3", "A dream turns the notes into memory and checks each line")
        result = self.memory.deep_dream()
        self.step(f"No model was used: {shown.counts(result) or result.reason}. The dream diary:")
        if result.diary:
            self.quote(self.another_process("show", result.diary))
        self.step("The old MEMORY.md is backed up: `holdfast dream --undo` restores it.")
        return result.status is Status.DONE
