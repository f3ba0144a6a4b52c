"""The flush contract: what a payload must answer, in which order it is written, and what may never pass for a yes."""

import time
from pathlib import Path
from typing import Any

import pytest
from tests.core.conftest import WHOLE

from holdfast.api import FlushRefused, Payload, Unavailable, hookimpl
from holdfast.config.values import FlushConfig
from holdfast.flush.contract import missing
from holdfast.journal.safety import State
from holdfast.models import CuratedDecision, CuratedEntry, Evidence, Extraction

STRICT = FlushConfig(policy="strict", strict_blocks=3)

#: Written out: the doctrine names them, not the code.
REQUIRED = (
    "objective",
    "facts",
    "decisions",
    "blockers",
    "next_step",
    "artifacts",
    "follow_ups",
    "state_mutations",
    "curated",
)


@pytest.mark.req("R127", "R128", "R129", "R130", "R131", "R132", "R133", "R140")
@pytest.mark.req("R144", "R145", "R146", "R147", "R148", "R166", "R169")
@pytest.mark.parametrize("field", [*REQUIRED, "handoff"])
def test_payload__one_field_dropped__is_refused_naming_it_and_nothing_is_written(opened, payload, note, field):
    session = opened().session("s")
    with pytest.raises(FlushRefused, match=f"`{field}`") as refused:
        session.flush(payload(**{field: None}))
    assert refused.value.missing == (field,)
    assert field in refused.value.next_step
    assert refused.value.target == "payload"
    assert note() == ""
    assert session.state is State.UNSAFE


@pytest.mark.req("R128", "R132", "R135", "R136", "R137", "R138")
@pytest.mark.parametrize(
    "field",
    ["objective", "next_step", "handoff.active_task", "handoff.branch", "handoff.blocker", "handoff.next_action"],
)
@pytest.mark.parametrize("blank", ["", "  \n", "\u200b", "\u2060 "])
def test_payload__text_that_must_not_be_blank__is_refused_naming_it(payload, field, blank):
    head, _, part = field.partition(".")
    changed = {**WHOLE["handoff"], part: blank} if part else blank
    assert missing(payload(**{head: changed})) == (field,)


@pytest.mark.req("R078", "R150")
def test_compact__payload_is_only_a_commit_or_a_heartbeat__is_refused(opened, note):
    session = opened().session("s")
    session.add("user", "hello")
    with pytest.raises(FlushRefused) as refused:
        session.compact(0, Payload(artifacts=["commit 3f9c2ab"]))
    assert refused.value.missing == ("curated",)
    assert note() == ""
    for pointer in ("commit 3f9c2ab", "heartbeat/2026-11-21.md"):
        with pytest.raises(FlushRefused) as refused:
            opened().session("without-messages").flush(Payload(artifacts=[pointer]))
        assert set(refused.value.missing) == set(REQUIRED) - {"artifacts"}


def test_flush__extractor_knows_a_field__what_the_caller_said_wins_and_the_rest_is_taken(opened, payload, note):
    class Knows:
        EXTRACTS_AT_ONCE = True

        @hookimpl
        def on_extract(self, turns):
            return Extraction(draft=Payload(objective="extracted", next_step="extracted step", facts=["f1"]))

    session = opened(Knows()).session("s")
    session.add("user", "hello")
    receipt = session.flush(payload(next_step=None, facts=None))
    assert "**Objective:** Fix the login test" in note()
    assert "- Next step: extracted step" in note()
    assert "- Fact: f1" in note()
    assert receipt.derived == ("facts", "next_step")


@pytest.mark.req("R166")
def test_strict_policy__no_payload__blocks_so_often_and_then_derives(opened, note):
    session = opened(flush=STRICT).session("s")
    session.add("user", "hello")
    for _ in range(3):
        with pytest.raises(FlushRefused):
            opened(flush=STRICT).session("s").compact(0)
    assert note() == ""
    session = opened(flush=STRICT).session("s")
    assert session.compact(0) == []
    assert session.last_receipt.derived
    assert session.state is State.SAFE
    session.add("user", "again")
    with pytest.raises(FlushRefused):
        session.compact(0)


@pytest.mark.req("R166")
def test_strict_policy__store_broken_many_times__uses_up_none_of_the_times_that_it_blocks(opened, payload, project):
    strict = FlushConfig(policy="strict", strict_blocks=1)
    session = opened(flush=strict).session("s")
    session.add("user", "hello")
    (project / ".holdfast" / "memory").write_text("in the way")
    for _ in range(3):
        with pytest.raises(FlushRefused):
            session.compact(0, payload())
    (project / ".holdfast" / "memory").unlink()
    session.compact(0)
    session.add("user", "again")
    (project / ".holdfast" / "MEMORY.md").mkdir()
    for _ in range(3):
        with pytest.raises(FlushRefused):
            session.compact(0, payload(objective="again", curated={"memory": ["Python 3.11 is the minimum"]}))
    with pytest.raises(FlushRefused) as refused:
        session.compact(0, payload(objective=None))
    assert refused.value.missing == ("objective",)


class Probe:
    """Records what lies on disk, and what is in context, whenever core asks it something."""

    def __init__(self, project: Path) -> None:
        self.project, self.session, self.seen = project, None, []

    def look(self, what: str) -> None:
        root = self.project / ".holdfast"
        self.seen.append(
            {
                "what": what,
                "unsafe": [p.name for p in (root / "state" / "unsafe").glob("*.json")],
                "note": any(root.glob("memory/*.md")),
                "trail": any(root.glob("memory/summaries/*.md")),
                "handoff": (root / "continuity" / "active.md").exists(),
                "curated": (root / "MEMORY.md").exists(),
                "context": len(self.session.messages) if self.session else 0,
            }
        )

    @hookimpl
    def on_validate(self, request):
        self.look(request.surface)
        return []

    @hookimpl
    def on_flush(self, payload, receipt):
        self.look("on_flush")
        assert [w.surface for w in receipt.written] == ["daily", "trail", "handoff", "memory"]


@pytest.mark.req("R083", "R084", "R085", "R086", "R087", "R127", "R180", "R184")
@pytest.mark.parametrize("way", ["compact", "end", "hand_over"])
def test_way_out__order__marker_then_note_trail_handoff_curated_then_on_flush_then_drop(opened, project, payload, way):
    probe = Probe(project)
    session = opened(probe).session("s")
    session.add("user", "hello")
    probe.session, probe.seen = session, []
    arguments = {"compact": (0,), "hand_over": ("a",)}.get(way, ())
    getattr(session, way)(*arguments, payload(curated={"memory": ["Python 3.11 is the minimum"]}))
    assert all(seen["context"] == 1 for seen in probe.seen)
    written = [tuple(seen[k] for k in ("note", "trail", "handoff", "curated")) for seen in probe.seen]
    assert written == sorted(written)
    last = [seen for seen in probe.seen if seen["what"] != "fact"][-1]  # facts are no reason to refuse a flush
    assert (last["what"], last["unsafe"], written[-1]) == ("on_flush", ["s.json"], (True,) * 4)
    assert written[0] == (False,) * 4
    assert session.state is State.SAFE
    assert len(session.messages) == (1 if way == "hand_over" else 0)


@pytest.mark.req("R134")
@pytest.mark.parametrize(
    ("changes", "is_open"),
    [
        ({}, False),
        ({"next_step": "go on"}, True),
        ({"blockers": ["CI"]}, True),
        ({"follow_ups": ["tell Ana"]}, True),
        ({"needs_operator": ["renew the key"]}, True),
        ({"handoff": {"active_task": "t", "branch": "b", "blocker": "none", "next_action": "n"}}, True),
        ({"blockers": ["none"], "follow_ups": ["None."]}, False),
        ({"blockers": [" "], "follow_ups": ["", "N/A"], "needs_operator": ["nothing"], "next_step": "  "}, False),
        ({"handoff": {"active_task": "none", "branch": "b", "blocker": " ", "next_action": "n"}}, False),
        ({"handoff": {"active_task": "none", "branch": "b", "blocker": "CI", "next_action": "n"}}, True),
        ({"next_step": "go on", "work_open": False}, False),
        ({"work_open": True}, True),
    ],
)
def test_is_open__any_sign_of_work__counts_unless_declared_closed(payload, changes, is_open):
    from holdfast.text.plain import is_open as ask

    nothing = {"next_step": "none", "blockers": [], "follow_ups": [], "needs_operator": [], "handoff": None}
    assert ask(payload(**{**nothing, **changes})) is is_open


@pytest.mark.req("R178")
def test_flush__human_correction__wins_over_the_old_line_and_the_rest_stays(opened, payload, project):
    path = project / ".holdfast" / "MEMORY.md"
    path.parent.mkdir()
    path.write_text("# Memory\n\nby hand\n\n## Servers\n\n- The server is alpha\n- Other\n")
    correction = {"memory": [{"text": "The server is beta", "replaces": "the server is ALPHA"}]}
    memory = CuratedDecision(memory=[CuratedEntry(**entry) for entry in correction["memory"]])
    for n in range(2):
        opened().session("s").flush(payload(curated=memory, objective=str(n)))
    assert path.read_text() == "# Memory\n\nby hand\n\n## Servers\n\n- The server is beta\n- Other\n"


@pytest.mark.req("R141", "R126", "R174", "R124")
def test_flush__state_mutations__are_in_the_operator_facing_summary(opened, payload, project):
    kinds = ("status", "review", "assignment", "merge", "decision")
    mutations = [{"kind": kind, "target": "owner/repo#12", "summary": "changed"} for kind in kinds]
    opened().session("s").flush(payload(state_mutations=mutations))
    summary = (project / ".holdfast" / "memory" / "summaries" / "2026-11-21.md").read_text()
    assert [kind for kind in kinds if f"- **{kind}** owner/repo#12: changed" in summary] == list(kinds)
    assert "Source: memory/2026-11-21.md, block flush_" in summary


class Lying:
    """A backend that does its work but for the ``at``-th write, which it answers with a yes, doing nothing or half."""

    def __init__(self, memory, at: int, lie: str) -> None:
        self.backend, self.calls, self.at, self.lie = memory.store.backend, 0, at, lie
        self.append, self.write = self.backend.append, self.backend.write
        self.backend.append = self._append
        self.backend.write = self._write

    def _due(self) -> bool:
        self.calls += 1
        return self.calls == self.at

    def _append(self, name, block, header, block_id):
        if not self._due():
            return self.append(name, block, header, block_id)
        return self._lie(name, header + block)

    def _write(self, name, text, expected=None):
        if not self._due():
            return self.write(name, text, expected)
        return self._lie(name, text)

    def _lie(self, name, text):
        if self.lie == "raises":
            raise Unavailable("The disk is full.", next_step="Free some space.")
        if self.lie == "bug":
            raise RuntimeError("a bug in the backend")
        if self.lie == "half":
            return self.write(name, text[: len(text) // 2])
        return "revision of a write that never was"


STEPS = {
    1: ("daily note", "memory/2026-11-21.md"),
    2: ("daily summary", "memory/summaries/2026-11-21.md"),
    3: ("handoff", "continuity/active.md"),
    4: ("curated memory", "MEMORY.md"),
}


@pytest.mark.req("R142", "R143", "R167", "R168", "R087", "R088", "R166")
@pytest.mark.parametrize(
    ("at", "lie"), [*((at, lie) for at in STEPS for lie in ("nothing", "half")), (1, "raises"), (3, "bug")]
)
def test_compact__backend_lies_or_fails_at_one_write__is_blocked_and_the_retry_completes(
    opened, payload, note, lie, at
):
    target, name = STEPS[at]
    whole = payload(curated={"memory": ["Python 3.11 is the minimum"]})
    memory = opened()
    liar = Lying(memory, at, lie)
    session = memory.session("s")
    session.add("user", "hello")
    heard = []
    with pytest.raises(FlushRefused) as refused:
        session.compact(0, whole, on_summary=heard.append)
    assert liar.calls >= at
    assert refused.value.target == target
    assert refused.value.next_step
    assert heard == []
    assert [m.text for m in session.messages] == ["hello"]
    assert session.unsafe
    [marker] = opened().unsafe()
    assert (marker.session, marker.target) == ("s", target)
    # the other way out, in another process, by another reason: it is the same flush
    again = opened().session("s")
    if lie == "half":
        memory.store.backend.delete(name)
    again.end(whole, on_summary=heard.append)
    assert again.messages == []
    assert again.state is State.SAFE
    assert opened().unsafe() == []
    assert note().count("<!-- holdfast:block id=") == 1
    assert len(heard) == 1


@pytest.mark.req("R166", "R088")
@pytest.mark.parametrize("how", ["raises", "hangs", "wrong type"])
@pytest.mark.parametrize(("hook", "fine"), [("on_validate", []), ("on_flush", None)])
def test_compact__gate_plugin_fails__is_blocked_and_the_plugin_named(opened, payload, monkeypatch, hook, fine, how):
    failing: list[str] = []

    class Fails:
        @hookimpl(specname=hook)
        def act(self) -> Any:
            if failing == ["raises"]:
                raise ConnectionError("no route")
            if failing == ["hangs"]:
                time.sleep(2)
            return "a wrong type" if failing else fine

    session = opened(Fails()).session("s")
    session.add("user", "hello")
    failing.append(how)
    with monkeypatch.context() as patch:
        if how == "hangs":
            patch.setattr("holdfast.plugin.calls.DEADLINES_S", {hook: 0.05})
        with pytest.raises(FlushRefused, match=rf"'test0' \(this process\) failed in {hook}"):
            session.compact(0, payload())
    assert session.messages
    assert session.unsafe
    failing.clear()
    assert session.compact(0, payload()) == []
    assert session.state is State.SAFE


@pytest.mark.parametrize(
    ("pointer", "read_back", "passes"),
    [
        ("https://git.example/owner/repo#1", "in review", True),
        ("https://git.example/owner/repo#1", "something else", False),
        ("https://git.example/owner/repo#1", "", False),
        ("/var/lib/forge/1", "in review", False),
    ],
)
@pytest.mark.req("R142", "R143")
def test_on_flush__evidence__counts_only_when_it_reads_back_the_same(opened, payload, pointer, read_back, passes):
    targets = [7, "o/r#1"]  # the first is refused before a journal holds it, and the session goes on

    class Publishes:
        @hookimpl
        def on_flush(self, payload, receipt):
            target, shown = targets.pop(0), {"published": "in review", "read_back": read_back}
            return Evidence(target=target, pointer=pointer, pending=2, **shown)

    session = opened(Publishes()).session("s")
    with pytest.raises(FlushRefused, match=r"'test0'.*target must be a string, not int"):
        session.flush(payload())
    if passes:
        receipt = session.flush(payload())
        assert receipt.degraded
        assert receipt.pending == 2
    else:
        with pytest.raises(FlushRefused):
            session.flush(payload())
        assert session.unsafe


@pytest.mark.req("R176", "R082")
def test_flush__paths_of_the_project_and_the_home_folder__are_written_portably(opened, payload, project, note):
    session, home = opened().session("s"), Path.home()
    for reason, problem in (("  ", "reason is blank"), (None, "reason must be a str"), ("x", "no flush was refused")):
        with pytest.raises(ValueError, match=problem):
            session.override(reason)
    for changes in (
        *({"artifacts": [path]} for path in ("/etc/passwd", "C:\\Users\\x", "~/notes", "file:///x")),
        {"state_mutations": [{"kind": "merge", "target": "/srv/repo", "summary": "x"}]},
        {"handoff": {"active_task": "t", "branch": "/srv/b", "blocker": "none", "next_action": "n"}},
    ):
        with pytest.raises(FlushRefused, match="exists only on this machine"):
            session.flush(payload(**changes))
    session.override(f"the disk of {project} is gone")
    assert note() == ""
    facts = [f"see {project}/src/b.py and {home}/notes, in {project}"]
    receipt = session.flush(payload(artifacts=[f"{project}/a.py"], facts=facts))
    assert "**Operator override:** the disk of . is gone" in note()
    assert "- Artifact: a.py" in note()
    assert "- Fact: see src/b.py and ~/notes, in ." in note()
    assert str(project) not in receipt.summary
