"""The benchmark's made-up sessions keep what their labels name, so that a rule that stops working is noticed."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support import processes

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks" / "quality"))
import score


@pytest.mark.req("R099")
def test_quality__made_up_sessions__keep_objective_state_next_step_and_nearly_all_that_matters(monkeypatch, capsys):
    def run(command, *, cwd, env, **_):
        return processes.run(*command[3:], cwd=cwd, env=env)

    monkeypatch.setattr(score, "subprocess", SimpleNamespace(run=run))
    monkeypatch.setattr(sys, "argv", ["score.py"])
    assert score.main() == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    percent = {row[0]: row[1] for row in rows}
    lines = ("fact lines that are right", "decision lines that are right")
    for name in ("objective", "state", "next step", "files", *lines):
        assert percent[name] == "100", name
    assert int(percent["matters, note"]) >= 90
    assert int(percent["matters, brief"]) >= 90
    assert percent["boilerplate lines"] == "0"
