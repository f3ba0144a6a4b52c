"""A hook that hangs or is killed: the client gets its answer in time, and what was said is neither lost nor doubled."""

import os
import signal
import time
from pathlib import Path

import pytest
from tests.plugins.agents.hooking import NOTHING, Client, row
from tests.support import distributions
from tests.support.trusting import trusted

from holdfast.journal.safety import all_unsafe

SLEEPER = """
import time
from holdfast.hooks import hookimpl

@hookimpl
def on_flush(receipt):
    {act}
"""
#: Holds the interpreter's lock: no thread of Python's runs until it is over.
STUCK = "import ctypes; ctypes.PyDLL(None).sleep(60)"


def enable(project: Path) -> None:
    trusted(project, "[plugins.sleeper]\ndeadline_s = 300\n")


def install(tmp_path: Path, act: str) -> dict[str, str]:
    folder = tmp_path / "installed"
    entries = "[holdfast.plugins]\nsleeper = sleeper\n"
    distributions.install(folder, "sleeper", entries, sleeper=SLEEPER.format(act=act))
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    return {"PYTHONPATH": path}


@pytest.mark.req("R087", "R166")
def test_compaction__a_plugin_hangs__is_blocked_at_the_deadline_and_passes_without_the_plugin(project, tmp_path):
    client = Client(project)
    client.write(row("user", "Fix the flaky login test", "u1"))
    client.say("Fix the flaky login test")
    enable(project)
    env = install(tmp_path, "time.sleep(600)")
    began = time.monotonic()

    answer = client.send(client.payload("PreCompact", trigger="auto"), "--deadline", "1", **env)

    assert time.monotonic() - began < 20
    assert "did not answer in time" in answer.stderr
    assert answer.code == 2
    (project / "holdfast.toml").unlink()
    assert client.compact() == NOTHING
    assert client.notes().count("**Objective:** Fix the flaky login test") == 1


@pytest.mark.req("R166")
def test_compaction__a_plugin_holds_the_interpreter__ends_with_a_status_that_no_client_takes_for_success(
    project, tmp_path
):
    client = Client(project)
    client.say("Fix the flaky login test")
    env = install(tmp_path, STUCK)
    enable(project)
    began = time.monotonic()

    answer = client.send(client.payload("PreCompact", trigger="auto"), "--deadline", "1", **env)

    assert time.monotonic() - began < 20
    assert answer.code != 0  # `|| exit 2` makes a block of it
    assert answer.stdout == ""


@pytest.mark.req("R166", "R184")
def test_compaction__a_plugin_ends_the_process_with_0__is_not_what_the_guards_take_for_permission(project, tmp_path):
    """The guards took it for permission: the client compacted, nothing was flushed, and nothing was reported."""
    client = Client(project)
    client.say("Fix the flaky login test")
    env = install(tmp_path, "import os; os._exit(0)")
    enable(project)
    asked = (client.payload("PreCompact", trigger="auto"), "PreCompact")

    assert client.send(*asked, "--allow", "10", **env) == NOTHING  # 0 and not 10
    assert [one.session for one in all_unsafe(str(client.state))] == [client.session]
    (project / "holdfast.toml").unlink()
    assert client.send(*asked, "--allow", "10") == NOTHING._replace(code=10)
    assert client.hook("SessionStart", "--allow", "10", source="compact").code == 0
    client.break_store()
    client.say("More work")
    assert client.send(*asked, "--allow", "10").code == 2


@pytest.mark.req("R072", "R083", "R087")
def test_compaction__killed_at_changes_of_the_disk__the_next_one_completes_it_and_doubles_nothing(project):
    client = Client(project)
    client.write(*(row(role, f"{role} says {n}", f"u{n}{role}") for n in range(40) for role in ("user", "assistant")))
    for n in range(3):
        client.say(f"user says {n}", f"assistant says {n}")
    for change in range(1, 60, 3):
        ended = client.send(client.payload("PreCompact", trigger="auto"), dies_at=change)
        if ended == NOTHING:
            break
        assert ended.code == -signal.SIGKILL
    assert 20 < change < 55

    assert client.compact() == NOTHING
    assert client.compact() == NOTHING
    assert sorted(client.said()) == sorted(
        (role, f"{role} says {n}") for n in range(40) for role in ("user", "assistant")
    )
    assert client.notes().count(f"session={client.session} reason=compaction") == 1


def test_start__after_a_clear_another_was_killed__own_work_comes_first_and_the_other_s_is_saved(project):
    (project / ".git").mkdir()
    (project / ".git/HEAD").write_text("ref: refs/heads/fix/login\n")
    killed, cleared = Client(project, native="killed"), Client(project, native="cleared")
    killed.hook("SessionStart", source="startup")
    killed.say("Fix the flaky login test")
    answer = "It is the clock: tests/test_login.py line 40."
    killed.write(row("user", "Fix the flaky login test", "u1"), row("assistant", answer, "u2"))
    cleared.say("Write the newsletter")
    cleared.hook("SessionEnd", reason="clear")
    brief = Client(project, native="fresh").hook("SessionStart", source="clear").context
    assert 0 < brief.index("Write the newsletter") < brief.index("review: fix/login") < brief.index("flaky login test")
    assert ("assistant", answer) in killed.said()
    assert killed.notes().count(f"session={killed.session} reason=switch") == 1  # it may still run
