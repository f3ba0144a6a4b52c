"""``holdfast demo --gitea``: the trail on the work that it is about, also when the forge does not answer.

The server is a stand-in that the plugin brings, on loopback and in this process; everything else is the real thing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attrs import evolve

from holdfast.config import inforce, trust
from holdfast.config.layout import Surface
from holdfast.errors import PluginLoadFailed
from holdfast.flush.publish.forge import Forge
from holdfast.models import CuratedDecision, MutationKind, StateMutation
from holdfast.plugin import discovery
from holdfast_demo.stage import Stage

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.cli.term import Term
    from holdfast.engine import Holdfast
    from holdfast.flush.publish.forge import Practice
    from holdfast.models import Message, Payload
    from holdfast.session.session import Session

PLUGIN = "gitea_trail"


def play(
    out: Term, folder: Path, session: str, halves: tuple[Sequence[Message], Sequence[Message]], payload: Payload
) -> int:
    """Play all acts; 0 when every change of state is on the work in the end, once. Raises: PluginError."""
    from holdfast import Holdfast

    with _plugin().practice() as forge, _environment(forge.environment):
        _enable(folder, forge.settings)
        out.say(f"Its work is {out.bold(forge.target)} on a stand-in server: {forge.settings.get('server', '')}")
        with Holdfast.open(folder) as memory:
            acts = _Acts(out, memory, memory.session(session), forge)
            held = acts.trail(halves[0], payload) and acts.forge_down(halves[1], payload) and acts.forge_back()
            acts.morning()
            summary = memory.services.layout.name(Surface.TRAIL, memory.services.now().date())
        acts.look_yourself(
            (f"holdfast show {summary}", "what the operator is told in any case"),
            ("holdfast report --morning", "the same without the server: it says so"),
            ("holdfast auth set gitea", "begin with a server of yours; docs/gitea.md tells how"),
        )
    return 0 if held else 1


def _plugin() -> type[Forge]:
    """The plugin's class. Raises: PluginNotFound, PluginLoadFailed."""
    found = discovery.import_object(discovery.choose(discovery.scan(), discovery.PLUGINS, PLUGIN))
    if not (isinstance(found, type) and issubclass(found, Forge)):
        raise PluginLoadFailed(f"The plugin {PLUGIN!r} is no forge.", next_step="Reinstall holdfast.")
    return found


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
    trust.record(str(folder), settings=inforce.resolve(str(folder)).withheld)  # we wrote them ourselves


class _Acts(Stage):
    def __init__(self, out: Term, memory: Holdfast, session: Session, forge: Practice) -> None:
        super().__init__(out, memory, session)
        self._forge = forge

    def trail(self, messages: Sequence[Message], payload: Payload) -> bool:
        """Compact with a change of state. True when its comment stands on the work."""
        self.title("1", "A review is done: compaction leaves a comment on the work")
        self.capture(messages)
        self.compact(payload)
        self.step(f"What people see on {self._forge.target}; the last line is hidden from them:")
        self.quote("\n".join(self._forge.comments()))
        return len(self._forge.comments()) == 1 and not self._pending

    def forge_down(self, messages: Sequence[Message], payload: Payload) -> bool:
        """The same while nothing answers. True when nothing was lost and nobody was blocked."""
        self.title("2", "The server is down: work goes on, and says so")
        self._forge.down()
        self.capture(messages)
        self.compact(self._next(payload))
        self.step("The operator's daily summary has it, the comment waits in the outbox. Another process is told, too:")
        self.quote(self.another_process("status"))
        return self._pending == 1 and not self.session.unsafe

    def forge_back(self) -> bool:
        """Send what waits. True when it stands on the work, once."""
        self.title("3", "The server is back")
        self._forge.up()
        self.step("The next flush would send it, or the start of a session. Somebody does it by hand:")
        self.quote(self.another_process("outbox", "send"))
        self.step(f"On {self._forge.target} now, one after the other:")
        self.quote("\n".join(body.split("\n", 1)[0] for body in self._forge.comments()))
        return len(self._forge.comments()) == 2 and not self._pending

    def morning(self) -> None:
        """What the operator reads the next morning."""
        self.step("And in the morning, of yesterday and the night (`holdfast report --morning`):")
        text = self.another_process("report", "--morning")
        self.quote("## On the forge" + text.partition("## On the forge")[2].partition("\n## ")[0])

    @property
    def _pending(self) -> int:
        return len(self.memory.outbox.items())

    def _next(self, payload: Payload) -> Payload:
        """What the agent states the second time: the review led to a decision."""
        mutation = StateMutation(
            kind=MutationKind.DECISION, target=self._forge.target, summary="merge after one day on staging"
        )
        return evolve(payload, state_mutations=(mutation,), curated=CuratedDecision())
