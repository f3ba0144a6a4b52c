"""A payload that was stated and refused stands between the session and SAFE: no order of calls makes it disappear."""

import json
from pathlib import Path

import pytest
from tests.core.test_resumed import GHOST
from tests.support import processes

from holdfast.api import BadValue, FlushRefused, payload_of
from holdfast.config.serde import payload_from
from holdfast.fs import durable
from holdfast.journal.safety import State


@pytest.mark.req("R127", "R166")
def test_flush__payload_refused_for_a_missing_plugin__plain_flush_is_refused_until_it_is_stated_again(
    opened, payload, note, project
):
    opened().session("s").flush(payload(objective="Earlier"))
    with pytest.raises(FlushRefused, match="ghost"):
        opened(plugins=GHOST).session("s").flush(payload(decisions=["use a UNIQUE index"]))
    again = opened().session("s")
    for _ in range(2):
        with pytest.raises(FlushRefused, match="is not stored, and could not be kept") as refused:
            again.flush()
        assert "State the payload again" in refused.value.next_step
        assert again.state is State.UNSAFE
    marker = (project / ".holdfast" / "state" / "unsafe" / "s.json").read_text()
    assert "UNIQUE" not in marker  # the gate never saw it
    assert len(json.loads(marker)["stated"][0]["digest"]) == 64
    again.flush(payload(decisions=["use a UNIQUE index"]))
    assert note().count("- Decision: use a UNIQUE index\n") == 1
    assert again.state is State.SAFE
    assert again.flush().repeated


def test_flush__payload_lacks_a_field__what_it_said_is_kept_and_stands_in_the_way(opened, payload, note):
    session = opened().session("s")
    session.add("user", "hello")
    with pytest.raises(FlushRefused, match="curated"):
        session.flush(payload(decisions=["first words"], curated=None))
    with pytest.raises(FlushRefused, match="curated"):
        opened().session("s").flush()  # it goes on with what was stated
    opened().session("s").flush(payload(decisions=["other words"]))
    assert "### Stated before, in a flush that was refused\n\n- Decision: first words\n" in note()
    assert "- Decision: other words\n" in note()
    assert note().count("**Objective:**") == 1


def test_flush__cannot_begin__refusal_and_marker_name_the_state_and_the_payload_is_kept(opened, payload, monkeypatch):
    memory = opened()
    session = memory.session("s")
    session.add("user", "hello")
    real = durable.lock
    monkeypatch.setattr(durable, "lock", lambda path, timeout_s=10.0: real(path, timeout_s=min(timeout_s, 0.1)))
    with (
        real(memory.services.private("sessions", "s.flush.lock")),
        pytest.raises(FlushRefused, match="could not begin") as refused,
    ):
        session.flush(payload(decisions=["Use a lock"]), reason="end")
    [marker] = opened().unsafe()
    assert refused.value.target == marker.target == "state"
    assert refused.value.next_step == marker.next_step
    assert (marker.error, marker.reason) == (refused.value.message, "end")
    assert marker.stated[0].payload["decisions"] == ["Use a lock"]
    assert not session.unmarked


def test_command__settings_are_broken_when_a_payload_is_stated__plain_flush_is_refused_afterwards(opened, project):
    opened().session("default").add("user", "hello")
    opened().session("default").flush()
    (project / "holdfast.toml").write_text("zone = 5\n")
    stated = ("flush", "--decision", "use a UNIQUE index", "--next-step", "t", "--curated", "none")
    assert processes.run("--root", str(project), *stated).returncode == 2
    (project / "holdfast.toml").unlink()
    with pytest.raises(FlushRefused, match="State the payload again"):
        opened().session("default").flush()
    assert processes.run("--root", str(project), *stated).returncode == 0
    assert opened().unsafe() == []


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"objective": 3}, "objective"),
        ({"facts": "one"}, "facts"),
        ({"decisions": [1]}, r"decisions\[0\]"),
        ({"curated": {"memory": [{"txt": "x"}]}}, r"curated.memory\[0\].txt"),
        ({"handoff": {"branch": "b"}}, "handoff.active_task"),
        ({"state_mutations": [{"kind": "whim", "target": "t", "summary": "s"}]}, r"state_mutations\[0\].kind"),
        ({"state_mutations": [{"kind": "merge", "target": " ", "summary": "s"}]}, r"state_mutations\[0\].target"),
        ({"objektive": "x"}, "objektive"),
        (5, "payload"),
    ],
)
def test_payload_of__a_wrong_value__names_the_field(given, named):
    with pytest.raises(BadValue, match=f"^{named} ") as wrong:
        payload_of(given)
    assert wrong.value.next_step


@pytest.mark.parametrize("way", ["flush", "compact", "end", "hand_over"])
def test_way_out__a_wrong_value__never_makes_a_session_unsafe(opened, way):
    session = opened().session("s")
    session.add("user", "hello")
    arguments = {"compact": (0,), "hand_over": ("other",)}.get(way, ())
    with pytest.raises(BadValue, match=r"^objective "):
        getattr(session, way)(*arguments, {"objective": 3})
    assert session.state is State.DIRTY
    assert [m.text for m in session.messages] == ["hello"]


def test_curated__replaces_matches_no_line__adds_it_and_says_so(opened, payload):
    entry = {"text": "The server is beta", "replaces": "The server is gamma"}
    session = opened().session("s")
    receipt = session.flush(payload(curated={"memory": [entry]}))
    assert any("no line 'The server is gamma' to replace" in w for w in receipt.warnings)
    again = session.flush(payload(objective="again", curated={"memory": [entry]}))
    assert not any("to replace" in w for w in again.warnings)  # it is there already


def test_needs_operator__stated__is_in_note_handoff_report_and_brief_and_blockers_are_only_blocked(
    opened, payload, note
):
    opened().session("s").flush(payload(needs_operator=["Renew the key"], blockers=["CI is red"]))
    assert "### What is needed from the operator\n\n- Needed: Renew the key\n" in note()
    assert opened().load().work[0].needs_operator == ("Renew the key",)
    assert "Renew the key" in str(opened().load())
    sections = opened().report().sections
    assert [line.text for line in sections["What is needed from you"]] == ["Promised: Tell Ana", "Renew the key"]
    assert "CI is red" in [line.text for line in sections["What is blocked"]]


CAP = "Budget cap is $500 total. Never exceed without explicit approval."


def test_rules__of_ended_and_open_work__are_first_in_each_brief_until_replaced(opened, payload, note):
    ended = {"work_open": False, "next_step": "none", "handoff": None}
    opened().session("a").flush(payload(rules=[CAP, "Report times in UTC."], **ended))
    assert f"### Rules of the user\n\n- Rule: {CAP}\n" in note()
    opened().session("b").flush(payload(rules=["Report times in UTC."], **ended))
    opened().session("c").flush(payload(rules=[CAP.replace("500", "700")]))
    opened().session("c").flush(payload(objective="Go on"))
    brief = opened().load(max_chars=1_000)
    assert brief.rules == (CAP.replace("500", "700"), "Report times in UTC.")
    assert str(brief).splitlines()[1:3] == ["<!-- rules, newest first -->", f"- {brief.rules[0]}"]
    assert "$500" not in str(brief)
    assert [w.session for w in brief.work] == ["c"]


def test_rules__more_than_fit__are_counted_with_the_command_that_lists_them(opened, payload):
    rules = [
        f"Never delete the archive of {chr(97 + n // 8) * 4}{chr(97 + n % 8)}, not even an empty one."
        for n in range(40)
    ]
    opened().session("s").flush(payload(rules=rules))
    brief = opened().load(max_chars=3_000)
    lines = str(brief).splitlines()
    shown = [line for line in lines if line.startswith("- Never")]
    assert shown[0] == f"- {rules[-1]}"
    assert f"… {40 - len(shown)} more: `holdfast work`" in lines
    assert sum(map(len, shown)) <= 1_000
    assert len(brief.rules) == 40


def test_rejected__as_text_or_what_and_why__is_in_note_handoff_and_brief(opened, payload, note):
    rejected = [{"what": "Redis queue", "why": "loses jobs on restart"}, "pandas: too slow"]
    opened().session("s").flush(payload(rejected=rejected))
    assert "### What was given up\n\n- Rejected: Redis queue: loses jobs on restart\n" in note()
    assert opened().load().work[0].rejected == ("Redis queue: loses jobs on restart", "pandas: too slow")
    assert "- Given up: Redis queue: loses jobs on restart; pandas: too slow\n" in str(opened().load())
    assert payload_from({"rejected": rejected}).rejected == ("Redis queue: loses jobs on restart", "pandas: too slow")
    with pytest.raises(BadValue, match=r"rejected\[0\]\.what"):
        payload(rejected=[{"why": "slow"}])


@pytest.mark.parametrize(
    "blank", [{"curated": None}, {"objective": " ", "curated": None}, {"next_step": "", "facts": None}]
)
def test_flush__a_refused_payload_stays_incomplete__is_completed_after_as_many_refusals_as_strict_allows(
    opened, payload, note, blank
):
    session = opened().session("s")
    session.add("user", "Fix the exporter in export.py")
    for given in (payload(decisions=["first words"], **{"curated": None, **blank}), None, None):
        with pytest.raises(FlushRefused, match="lacks"):
            session.compact(0, given)
    assert session.messages
    assert session.compact(0) == []
    assert session.state is State.SAFE
    assert "- Decision: first words\n" in note()
    assert "\ncurated memory changes: none\n" in note()
    assert note().count("holdfast:block") == 1


def test_flush__cannot_begin_with_a_marker_of_an_earlier_flush__that_marker_goes_on(opened, payload, project):
    session = opened().session("s")
    session.add("user", "hello")
    in_the_way = project / ".holdfast" / "memory"
    in_the_way.write_text("in the way")
    with pytest.raises(FlushRefused):
        session.flush(payload(), reason="end")
    before = opened().unsafe()[0]
    journal = Path(session.journal.path)
    lock = journal.with_name("s.flush.lock")
    lock.unlink()
    lock.mkdir()
    with pytest.raises(FlushRefused, match="could not begin"):
        opened().session("s").flush()
    after = opened().unsafe()[0]
    assert (after.pending, after.key, after.reason) == (before.pending, before.key, "end")
    assert before.pending is not None


def test_flush__plugin_missing_and_nothing_new__is_refused(opened, payload):
    opened().session("s").flush(payload())
    with pytest.raises(FlushRefused, match="ghost") as refused:
        opened(plugins=GHOST).session("s").flush()
    assert (refused.value.target, "could not begin" in refused.value.message) == ("collect", False)
    assert opened().unsafe()[0].target == "collect"
    assert opened().session("s").flush().repeated
    assert opened().unsafe() == []
