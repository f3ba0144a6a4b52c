"""The shared steps of the ``holdfast demo`` acts: capture, compact, and read from another process."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

from holdfast.plugin import nested
from holdfast_cli import receipt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast import Holdfast, Session
    from holdfast.models import Message, Payload
    from holdfast_cli.terminal import Term

#: Number of messages that stay in context after each compaction.
KEEP = 4


class Stage:
    """One terminal, one project, one session."""

    def __init__(self, out: Term, memory: Holdfast, session: Session) -> None:
        self.out = out
        self.memory = memory
        self.session = session

    def capture(self, messages: Sequence[Message]) -> None:
        """Journal the messages one by one."""
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
        self.step(
            f"{len(messages)} messages captured, each on disk before the next one ({each_ms:.1f} ms each). "
            f"The context holds {len(self.session.messages)} messages, about {self.session.token_usage:,} tokens."
        )

    def show_masks(self) -> None:
        """Print the lines in which a secret was masked."""
        lines = [line for m in self.session.messages for line in m.text.splitlines() if "[REDACTED:" in line]
        if lines:
            self.step("The user pasted credentials. Only these masked lines reach the disk or a model:")
            self.quote("\n".join(lines))

    def compact(self, payload: Payload | None = None) -> None:
        """Compact, and show the receipt. Raises: FlushRefused."""
        before = len(self.session.messages)
        kept = self.session.compact(KEEP, payload)
        self.out.say()
        if self.session.last_receipt is not None:
            receipt.show(self.out, self.session.last_receipt, now=self.memory.services.now())
        self.out.say()
        self.step(f"The context is dropped only now. {len(kept)} of {before} messages stay.")

    def resume(self) -> None:
        """Print the restart point as a new agent receives it, without the notes that follow it."""
        text = self.another_process("load", "--max-chars", "9000")
        self.quote(text.split("\n<!-- ", 1)[0].removeprefix("<recalled-memory>\n"))

    def another_process(self, *words: str) -> str:
        """The output of ``holdfast WORDS`` in its own process."""
        command = [*nested.THIS, "--root", self.memory.services.root, *words]
        env = {**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": str(self.out.width - 6)}
        done = subprocess.run(command, capture_output=True, encoding="utf-8", env=env, check=False)  # noqa: S603
        return done.stdout + done.stderr

    def state(self) -> str:
        """The session's state, for display."""
        return self.out.red("UNSAFE", bold=True) if self.session.unsafe else self.out.bold(self.session.state.upper())

    def title(self, number: str, text: str) -> None:
        """Print an act's heading."""
        self.out.say()
        self.out.say(self.out.bold(f"{number}. {text}"))
        self.out.say()

    def step(self, text: str) -> None:
        """Print one step."""
        self.out.say(f"  {self.out.mark('dot')} {text}")

    def quote(self, text: str) -> None:
        """Print output from elsewhere, such as a file, another process or a server."""
        bar = self.out.dim("│" if self.out.unicode else "|")
        for line in text.strip("\n").splitlines():
            long = len(line) > self.out.width - 6  # a printed table keeps its layout
            quoted = self.out.wrapped(line, first=f"    {bar} ", rest=f"    {bar}   ") if long else f"    {bar} {line}"
            self.out.say(quoted.rstrip())

    def look_yourself(self, *rows: tuple[str, str]) -> None:
        """Print commands to try next, with their purposes."""
        folder = self.memory.services.root
        self.out.say()
        self.out.say(self.out.bold("Try it yourself"))
        first = (f'cd "{folder}"' if " " in folder else f"cd {folder}", "plain files, nothing else")
        self.out.say(self.out.table([first, *rows]))

    def _progress(self, text: str) -> None:
        self.out.progress(f"  {text}" if text else "")
