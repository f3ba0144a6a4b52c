"""The promise as a state machine: whatever is done in whatever order, nothing leaves context that is not durable."""

import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.support.stated import goes_on

from holdfast.api import Extraction, FlushRefused, Holdfast, NothingToFlush, Payload, hookimpl
from holdfast.config.values import PluginConfig
from holdfast.journal.safety import State
from holdfast_app.config import Config

CONFIG = Config(zone="UTC", plugins={"curated": PluginConfig(enabled=False), "offline": PluginConfig(enabled=False)})
PLACES = ("memory", "continuity", "MEMORY.md", "memory/summaries")


class TellsAll:
    """Puts every text into the summary, so that a note shows what it covers."""

    EXTRACTS_AT_ONCE = True

    @hookimpl
    def on_extract(self, turns):
        return Extraction(summary=" ".join(f"<{m.text}>" for turn in turns for m in turn.messages))


class SessionMachine(RuleBasedStateMachine):
    """A session over a store that breaks and is repaired, and a model of what it must hold."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="holdfast-test-"))
        self.now = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)
        self.memory: Holdfast | None = None
        self.said: list[str] = []
        self.context: list[str] = []
        self.covered: set[str] = set()
        self.failed = False
        self.override = False
        self.overridden: set[str] = set()
        self.broken: dict[str, bool] = {}
        self.count = 0

    @initialize()
    def begin(self) -> None:
        self.reopen()

    @rule()
    def reopen(self) -> None:
        if self.memory:
            self.memory.close()
        self.memory = Holdfast.open(
            self.root, config=CONFIG, clock=lambda: self.now, plugins=[("tells-all", TellsAll())]
        )
        self.session = self.memory.session("s")

    @rule(minutes=st.sampled_from([1, 60, 60 * 11]))
    def wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule(role=st.sampled_from(["user", "assistant"]))
    def add(self, role: str) -> None:
        self.count += 1
        text = f"m{self.count}"
        self.session.add(role, text)
        self.said.append(text)
        self.context.append(text)

    @precondition(lambda self: len(self.broken) < 2)
    @rule(place=st.sampled_from(PLACES))
    def break_(self, place: str) -> None:
        path = self.root / ".holdfast" / place
        if place in self.broken or any(p in self.broken for p in ("memory",) if place.startswith(p)):
            return
        if place == "memory" and "memory/summaries" in self.broken:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        self.broken[place] = path.exists()
        if path.exists():
            path.rename(self.root / place.replace("/", "-"))
        if place == "MEMORY.md":
            path.mkdir()
        else:
            path.write_text("in the way")

    @precondition(lambda self: self.broken)
    @rule()
    def repair(self) -> None:
        for place, was_there in self.broken.items():
            path = self.root / ".holdfast" / place
            path.rmdir() if path.is_dir() else path.unlink()
            if was_there:
                (self.root / place.replace("/", "-")).rename(path)
        self.broken = {}

    @precondition(lambda self: self.session.unsafe)
    @rule()
    def override_(self) -> None:
        self.session.override("an operator said so")
        self.override = True

    @rule(kind=st.sampled_from(["whole", "partial", "none"]))
    def flush(self, kind: str) -> None:
        self._attempt(lambda: self.session.flush(self._payload(kind)), drops=False)

    @rule(kind=st.sampled_from(["whole", "partial", "none"]), keep=st.integers(0, 3))
    def compact(self, kind: str, keep: int) -> None:
        if self._nothing_goes(kind, keep):
            assert len(self.session.compact(keep)) == len(self.context)
            return
        if self._attempt(lambda: self.session.compact(keep, self._payload(kind)), drops=True):
            self.context = self.context[len(self.context) - keep :] if keep < len(self.context) else self.context

    @rule(kind=st.sampled_from(["whole", "none"]), keep=st.integers(0, 3))
    def trim(self, kind: str, keep: int) -> None:
        if self._nothing_goes(kind, keep):
            assert len(self.session.trim(keep)) == len(self.context)
            return
        if self._attempt(lambda: self.session.trim(keep, self._payload(kind)), drops=True):
            self.context = self.context[len(self.context) - keep :] if keep < len(self.context) else self.context

    @rule(kind=st.sampled_from(["whole", "none"]))
    def end(self, kind: str) -> None:
        if self._attempt(lambda: self.session.end(self._payload(kind)), drops=True):
            self.context = []

    def _nothing_goes(self, kind: str, keep: int) -> bool:
        """Whether all messages stay and nothing was stated: then nothing is flushed either."""
        return kind == "none" and not self.failed and len(self.context) <= keep

    def _payload(self, kind: str) -> Payload | None:
        if kind == "none":
            return None
        curated = {"memory": ["Python 3.11 is the minimum"]} if kind == "whole" else None
        handoff = {"active_task": "t", "branch": "b", "blocker": "none", "next_action": "n"}
        mutations = [{"kind": "status", "target": "o/r#1", "summary": f"at {self.count}"}]
        fields = {"facts": ["f"], "state_mutations": mutations, "handoff": handoff, "curated": curated}
        return Payload(**goes_on(f"objective {self.count}", "n", **fields))

    def _attempt(self, act, *, drops: bool) -> bool:
        """Whether context was dropped, or could have been."""
        receipt_before = self.session.last_receipt
        unflushed = {m.text for m in self.session.unflushed}
        try:
            act()
        except NothingToFlush:
            assert not self.session.messages
            self.failed = False
            self.override = bool(self.session.override_reason)  # used up when it let a refused payload go
            return False
        except FlushRefused:
            assert not (drops and self.override)
            self.failed = True
            return False
        if self.session.state is State.UNSAFE:
            assert drops, "a flush that answers has saved"
            assert self.override, "only an operator lets a drop pass"
            self.override, self.failed = False, True
            self.overridden |= unflushed
            return True
        self.failed = False
        self.covered |= unflushed
        self.overridden -= unflushed
        if self.session.last_receipt != receipt_before:
            self.override = False  # it is told of in the note
        self.override = self.override and bool(self.session.override_reason)
        return True

    @invariant()
    def context_is_what_was_said_and_not_dropped(self) -> None:
        if self.memory:
            assert [m.text for m in self.session.messages] == self.context

    @invariant()
    def what_left_context_is_in_a_note_and_all_is_in_the_journal(self) -> None:
        if not self.memory:
            return
        journalled = [e.record["text"] for e in self.session.journal.entries() if e.record["kind"] == "message"]
        assert journalled == self.said
        notes = self._notes()
        for text in set(self.said) - set(self.context) - self.overridden:
            assert f"<{text}>" in notes

    @invariant()
    def a_block_stands_once(self) -> None:
        ids = [line for line in self._notes().splitlines() if line.startswith("<!-- holdfast:block id=")]
        assert len(ids) == len(set(ids))

    @invariant()
    def state_is_what_happened(self) -> None:
        if not self.memory:
            return
        marker = (self.root / ".holdfast" / "state" / "unsafe" / "s.json").exists()
        assert marker == self.failed == bool(self.memory.unsafe())
        wanted = State.UNSAFE if self.failed else State.DIRTY if set(self.said) - self.covered else State.SAFE
        assert self.session.state is wanted

    def _notes(self) -> str:
        folder = self.root / ".holdfast" / "memory"
        if "memory" in self.broken:
            folder = self.root / "memory"
        return "".join(p.read_text() for p in sorted(folder.glob("*.md"))) if folder.is_dir() else ""

    def teardown(self) -> None:
        if self.memory:
            self.memory.close()
        shutil.rmtree(self.root)


TestSessionMachine = pytest.mark.req("R087", "R088", "R096", "R127", "R166", "R167", "R184")(SessionMachine.TestCase)
TestSessionMachine.settings = settings(
    max_examples=10,
    stateful_step_count=20,
    derandomize=True,
    report_multiple_bugs=False,
    phases=[Phase.explicit, Phase.generate],  # shrinking runs for minutes; the steps printed are enough
)
