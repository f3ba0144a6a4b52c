"""The private folder ignores itself in git, whoever made it, and from its first file on."""

import os
import shutil
import signal
import subprocess

import pytest
from tests.support.dying import dies

from holdfast.api import Holdfast, StorageConfig
from holdfast.fs import private
from holdfast_agents.records import heartbeat
from holdfast_app.config import Config

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9" * 2


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_make__killed_at_any_moment__no_file_before_the_ignore_file(tmp_path):
    for n in range(1, 100):
        state = tmp_path / str(n) / ".holdfast" / "state"
        state.parents[1].mkdir()
        is_killed = dies(n, lambda state=state: heartbeat.beat(str(state), "claude", "Stop", "s"))
        names = {p.name for p in state.iterdir() if not p.name.startswith(".")} if state.exists() else set()
        assert not names or private.ignores_itself(str(state))
        heartbeat.beat(str(state), "claude", "Stop", "s")
        assert private.ignores_itself(str(state))
        if not is_killed:
            break
    assert n > 4


@pytest.mark.skipif(not shutil.which("git"), reason="there is no git here")
@pytest.mark.req("R240")
@pytest.mark.parametrize("backend", ["file", "sqlite"])
def test_remember__first_text_needs_masking__git_takes_in_nothing_private(project, backend):
    subprocess.run(["git", "init", "-q", "."], cwd=project, check=True)
    with Holdfast.open(project, config=Config(storage=StorageConfig(backend=backend))) as memory:
        memory.facts.create(f"my note {SECRET}")
        assert SECRET not in memory.facts.list()[0].content
    assert os.path.exists(project / ".holdfast" / "state" / "redaction.key")
    added = subprocess.run(["git", "add", "-A", "-n", "."], cwd=project, check=True, capture_output=True).stdout
    assert added
    assert b"/state/" not in added
