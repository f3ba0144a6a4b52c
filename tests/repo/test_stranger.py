"""The transcript in docs/index.md, as a stranger lives it: the wheel, a new home, a new folder, the real client."""

import os
import shutil
import subprocess
import sys
import time

import pytest
from tests.plugins.agents.test_real_clients import model
from tests.repo.documents import blocks
from tests.support.processes import finished

__all__ = ["model"]


@pytest.mark.skipif(shutil.which("claude") is None, reason="needs the real client on the PATH, as `claude`")
def test_transcript__in_a_new_home__a_guarded_client_and_a_filled_memory(root, index, project, tmp_path, model):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True, timeout=120)
    home = tmp_path / "stranger"
    home.mkdir()
    others = ("CLAUDE", "ANTHROPIC", "HOLDFAST_", "XDG_", "PIP_", "PYTHON", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(others)} | {
        "HOME": str(home),
        "PATH": f"{tmp_path / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(index),
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
    three, load, brief = blocks((root / "docs" / "index.md").read_text(encoding="utf-8"))[:3]
    commands = [*three.commands.splitlines(), *load.commands.splitlines()]
    assert (len(commands), commands[-1], brief.language) == (4, "holdfast load", "markdown")
    began, printed = time.monotonic(), ""
    for command in commands:
        done = finished(command, shell=True, cwd=project, env=environment, stdin=subprocess.DEVNULL)
        printed = done.stdout
        assert done.returncode == 0, f"{command}\n{printed}{done.stderr}"
    assert time.monotonic() - began < 120, "two minutes"
    lines = printed.splitlines()
    at = [lines.index(line) for line in brief.text.splitlines()]
    assert at == sorted(at)
    doctor = finished(["holdfast", "doctor"], cwd=project, env=environment)
    assert (doctor.returncode, "its hooks run" in doctor.stdout) == (0, True), doctor.stdout
