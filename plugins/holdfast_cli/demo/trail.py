"""``holdfast demo --gitea`` shows the trail on a pull request, even when the forge does not answer.

The server is a stand-in on loopback and in this process; everything else is the real thing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attrs import evolve

from holdfast.config import resolved, trust
from holdfast.config.layout import Surface
from holdfast.models import CuratedDecision, MutationKind, StateMutation
from holdfast_cli.demo.demo_runner import Stage

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast import Holdfast, Session
    from holdfast.models import Message, Payload
    from holdfast_cli.demo.forge import Practice
    from holdfast_cli.terminal import Term

PLUGIN = "gitea_trail"


def play(
    out: Term, folder: Path, session: str, halves: tuple[Sequence[Message], Sequence[Message]], payload: Payload
) -> int:
    """Play all acts; 0 when every change of state is on the work in the end, once. Raises: PluginError."""
    from holdfast import Holdfast
    from holdfast_cli.demo.forge import stand_in

    with stand_in() as forge, _environment(forge.environment):
        _enable(folder, forge.settings)
        out.say(f"It works on {out.bold(forge.target)}, on a stand-in server: {forge.settings.get('server', '')}")
        with Holdfast.open(folder) as memory:
            acts = _Acts(out, memory, memory.session(session), forge)
            held = acts.trail(halves[0], payload) and acts.forge_down(halves[1], payload) and acts.forge_back()
            acts.morning()
            summary = memory.services.layout.name(Surface.TRAIL, memory.services.now().date())
        acts.look_yourself(
            (f"holdfast show {summary}", "the operator's daily summary"),
            ("holdfast report --morning", "the morning report, which also notes that the server is gone"),
            ("holdfast auth set gitea", "use your own server; see docs/gitea.md"),
        )
    return 0 if held else 1


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Set for this process and those that it starts, while the block lasts."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _enable(folder: Path, settings: Mapping[str, str]) -> None:
    lines = [f"[plugins.{PLUGIN}]", *(f"{key} = {json.dumps(value)}" for key, value in settings.items())]
    (folder / "holdfast.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    trust.record(str(folder), settings=resolved.resolve(str(folder)).withheld)  # we wrote them ourselves


class _Acts(Stage):
    def __init__(self, out: Term, memory: Holdfast, session: Session, forge: Practice) -> None:
        super().__init__(out, memory, session)
        self._forge = forge

    def trail(self, messages: Sequence[Message], payload: Payload) -> bool:
        """Compact with a change of state. True when its comment appears on the work item."""
        self.title("1", "A review is done: compaction leaves a comment on it")
        self.capture(messages)
        self.compact(payload)
        self.step(f"The comment on {self._forge.target}; its last line is hidden from readers:")
        self.quote("\n".join(self._forge.comments()))
        return len(self._forge.comments()) == 1 and not self._pending

    def forge_down(self, messages: Sequence[Message], payload: Payload) -> bool:
        """Repeat without a responding forge. True when nothing was lost and nothing was blocked."""
        self.title("2", "The server is down: work continues, and holdfast reports it")
        self._forge.down()
        self.capture(messages)
        self.compact(self._next(payload))
        self.step("The operator's daily summary has the change, and the comment waits in the outbox. Another process:")
        self.quote(self.another_process("status"))
        return self._pending == 1 and not self.session.unsafe

    def forge_back(self) -> bool:
        """Send waiting items. True when the comment appears on the work item, once."""
        self.title("3", "The server is back")
        self._forge.up()
        self.step("The next flush or session start would send it. Here it is sent manually:")
        self.quote(self.another_process("outbox", "send"))
        self.step(f"Comments on {self._forge.target} now:")
        self.quote("\n".join(body.split("\n", 1)[0] for body in self._forge.comments()))
        return len(self._forge.comments()) == 2 and not self._pending

    def morning(self) -> None:
        """Print the operator's report for the next morning."""
        self.step("The morning report covers yesterday and the night (`holdfast report --morning`):")
        text = self.another_process("report", "--morning")
        for name in ("## What changed", "## On the forge"):
            self.quote(name + text.partition(name)[2].partition("\n## ")[0])

    @property
    def _pending(self) -> int:
        return len(self.memory.outbox.items())

    def _next(self, payload: Payload) -> Payload:
        """The agent's second statement, after the review led to a decision."""
        mutation = StateMutation(
            kind=MutationKind.DECISION, target=self._forge.target, summary="merge after one day on staging"
        )
        return evolve(payload, state_mutations=(mutation,), curated=CuratedDecision())
