"""The benchmark's made-up sessions keep what their labels name, so that a rule that stops working is noticed."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.req("R099")
def test_quality__made_up_sessions__keep_objective_state_next_step_and_nearly_all_that_matters():
    script = Path(__file__).parents[3] / "benchmarks" / "quality" / "score.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, encoding="utf-8", check=True)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    percent = {row[0]: row[1] for row in rows}
    lines = ("fact lines that are right", "decision lines that are right")
    for name in ("objective", "state", "next step", "files", *lines):
        assert percent[name] == "100", name
    assert int(percent["matters, note"]) >= 90
    assert int(percent["matters, brief"]) >= 90
    assert percent["boilerplate lines"] == "0"
