"""``HOLDFAST_TRACE=hooks`` shows each call of a hook on stderr."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.processes import finished

PROGRAM = """
from holdfast import Holdfast, hookimpl

class Loud:
    @hookimpl
    def on_validate(self, request):
        return ()

    @hookimpl
    def on_extract(self, turns):
        raise RuntimeError("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")

    EXTRACTS_AT_ONCE = True

with Holdfast.open(".", plugins=[("loud", Loud())]) as memory:
    session = memory.session("s")
    session.add("user", "the password of staging is tulip")
    session.flush()
"""
LINE = re.compile(r"^holdfast: hook (\w+) of (\w+) \((.+)\): (.+), (\d+\.\d) ms$")


def traced(project: Path, value: str) -> subprocess.CompletedProcess[str]:
    (project / "holdfast.toml").touch()
    done = finished([sys.executable, "-c", PROGRAM], cwd=project, env={**os.environ, "HOLDFAST_TRACE": value})
    assert done.returncode == 0, done.stderr
    return done


def test_trace__of_hooks__shows_hook_plugin_distribution_outcome_and_time_and_no_text(project):
    done = traced(project, "hooks")
    lines = [LINE.match(line) for line in done.stderr.splitlines()]
    assert all(lines), done.stderr
    seen = {(m[1], m[2], m[3]) for m in lines if m}
    assert ("on_validate", "loud", "this process") in seen
    assert ("on_validate", "redaction") in {row[:2] for row in seen}
    assert {m[4] for m in lines if m and (m[1], m[2]) == ("on_extract", "loud")} == {"failed (RuntimeError)"}
    assert done.stdout == ""
    assert "tulip" not in done.stderr
    assert "ghp_" not in done.stderr
