"""``holdfast demo``: the promise kept, defended and used, on a coding session in a real client's transcript format.

The journal, the flush and the files are those of any project, the second process is a real process, and the store
really cannot be written to. No model, no key, no server.
"""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from holdfast.api import ConfigError, FlushRefused, Holdfast, Message, Payload, Session
from holdfast.config.serde import payload_from
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
    out, wanted = call.out, call.args.dir
    folder = Path(wanted).resolve() if wanted else Path(tempfile.mkdtemp(), "holdfast-demo")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        step = "Name a folder that does not exist."
        raise ConfigError(f"{wanted!r} cannot be made: {error.strerror}.", next_step=step) from error
    data = resources.files("holdfast_cli.demo")
    with resources.as_file(data / "session.jsonl") as path:
        messages = read(path).messages
    payload = payload_from(from_json((data / "payload.json").read_bytes()))
    first = int(len(messages) * FIRST_ACT)
    out.say(out.bold("Nothing is dropped until it is durable."))
    out.say(f"A coding session of {len(messages)} messages, in a new project: {folder}")
    with Holdfast.open(folder) as memory:
        session = memory.session(SESSION)
        held = _kept(out, session, messages[:first]) and _refused(out, memory, session, messages[first:], payload)
        held = held and _resumed(out, memory)
    out.say()
    steps = (f"cd {shlex.quote(str(folder))}", "holdfast search 'unique index'", "holdfast install")
    for step in steps:
        out.next_step(step)
    return 0 if held else 1


def _kept(out: Term, session: Session, messages: Sequence[Message]) -> bool:
    """Journal the messages and compact. True when the session is safe and the context small."""
    out.say(f"\n{out.bold('1. Kept')}")
    _capture(out, session, messages)
    masked = next(line for m in session.messages for line in m.text.splitlines() if "[REDACTED:" in line)
    _step(out, f"Secrets are masked before they are written: {masked.partition('=')[2]}")
    _compact(out, session)
    return not session.unsafe and len(session.messages) < len(messages)


def _refused(out: Term, memory: Holdfast, session: Session, messages: Sequence[Message], payload: Payload) -> bool:
    """Compact while the notes cannot be written, with a payload that the agent states itself. True when nothing was
    lost and the repaired store holds it."""
    out.say(f"\n{out.bold('2. Refused')}")
    _capture(out, session, messages)
    notes = Path(memory.services.root, memory.config.storage.path, "memory")
    aside = notes.rename(notes.with_name("memory.aside"))
    notes.write_text("This is a file where a folder should be.\n", encoding="utf-8")
    _step(out, "The notes folder is now a file. The agent asks for compaction.")
    before = len(session.messages)
    try:
        session.compact(KEEP, payload)
    except FlushRefused as refused:
        out.say(f"    {out.mark('fail')} {out.red('blocked', bold=True)}")
        out.fill(refused.message, "      ")
        out.fill(refused.next_step, "      next: ")
    kept = len(session.messages)
    _step(out, f"{kept} of {before} messages are still in context. The session is {session.state.upper()}.")
    notes.unlink()
    aside.rename(notes)
    _step(out, "The folder is repaired. The agent asks again.")
    _compact(out, session, payload)
    return kept == before and not session.unsafe


def _resumed(out: Term, memory: Holdfast) -> bool:
    """Print the restart point as a new agent receives it, without the documents after it. True when it has one."""
    out.say(f"\n{out.bold('3. Resumed')}")
    _step(out, "A new process, with an empty context, reads only the files:")
    command = [*nested.THIS, "--root", memory.services.root, "load", "--max-chars", "9000"]
    env = {**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": str(out.width - 6)}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=env, check=False)  # noqa: S603
    brief = done.stdout + done.stderr
    rules, title, rest = brief.partition("# Where to resume")
    bar = out.dim("│" if out.unicode else "|")
    for line in filter(None, [*rules.splitlines()[2:], title, *rest.partition("\n\n<!-- ")[0].splitlines()]):
        out.fill(line, f"    {bar} ", f"    {bar}   ")
    return "Next action: " in brief


def _capture(out: Term, session: Session, messages: Sequence[Message]) -> None:
    for message in messages:
        text, at = message.text, message.at
        session.add(message.role, text, message_id=message.id, at=at, tool=message.tool, failed=message.failed)
    _step(out, f"{len(messages)} messages captured, each on disk before the next one.")


def _compact(out: Term, session: Session, payload: Payload | None = None) -> None:
    """Compact, and show the written documents. Raises: FlushRefused."""
    before = len(session.messages)
    kept = session.compact(KEEP, payload)
    if (done := session.last_receipt) is not None:
        _step(out, f"Flushed: {len(done.written)} documents are written and read back, {done.written[0].name} first.")
    _step(out, f"The context is dropped only now. {len(kept)} of {before} messages stay.")


def _step(out: Term, text: str) -> None:
    out.fill(text, f"  {out.mark('dot')} ")
