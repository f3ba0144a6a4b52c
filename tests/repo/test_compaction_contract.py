"""``examples/compaction-contract``: holdfast keeps it, the example host keeps it, and the checker sees who does not."""

import subprocess
import sys
from pathlib import Path

import pytest

CONTRACT = Path(__file__).parents[2] / "examples" / "compaction-contract"
NOTES = "FOLDER/.holdfast/memory"


def check(side: str, command: str, *more: str) -> tuple[int, str]:
    run = [sys.executable, str(CONTRACT / "check.py"), side, command, *more]
    done = subprocess.run(run, capture_output=True, text=True, timeout=240, check=False)
    return done.returncode, done.stdout


def python(file: Path, *arguments: str) -> str:
    return " ".join([sys.executable, str(file), *arguments])


def test_contract__holdfast_as_the_memory__keeps_every_clause():
    broken = ("--spoil", f"rm -rf {NOTES}; touch {NOTES}", "--repair", f"rm {NOTES}")
    code, out = check("memory", python(CONTRACT / "memory.py", "FOLDER"), *broken)
    assert (code, out.count(" ok  ")) == (0, 6), out


def test_contract__the_example_host__keeps_every_clause():
    code, out = check("host", python(CONTRACT / "host.py"))
    assert (code, out.count(" ok  ")) == (0, 7), out


@pytest.mark.parametrize(
    ("clause", "old", "new"),
    [
        ("M10", 'self._note({"unguarded": True})', "pass"),
    ],
)
def test_contract__a_memory_breaks_a_clause__it_is_named(tmp_path, clause, old, new):
    code, out = check("memory", python(changed(tmp_path, "memory.py", old, new), "FOLDER"))
    assert code == 1
    assert f"{clause:>3}  " in out


@pytest.mark.parametrize(
    ("clause", "old", "new"),
    [
        ("H1", "receipt, why = may_drop(", "receipt, why = ('none', '') or ("),
        ("H2", 'talk(type="rows", rows=context)', 'talk(type="rows", rows=context[:2])'),
        ("H3", "return None, \"The memory's answer is not", 'return "none", "The memory\'s answer is not'),
        ("H4", 'if answer.get("type") == "refuse":', 'if answer.get("type") == "refuse":\n        return "none", ""'),
        ("H5", "deadline_s=60", "deadline_s=5"),
        ("H6", "context = context[4:]", "context = context[5:]"),
    ],
)
def test_contract__a_host_breaks_a_clause__it_is_named(tmp_path, clause, old, new):
    code, out = check("host", python(changed(tmp_path, "host.py", old, new)))
    assert code == 1
    assert f"{clause:>3}  " in out


def changed(folder: Path, name: str, old: str, new: str) -> Path:
    text = (CONTRACT / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")
    return folder / name
