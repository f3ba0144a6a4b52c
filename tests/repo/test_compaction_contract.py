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


def test_contract__holdfast_as_the_memory_and_the_example_host__keep_every_clause():
    broken = ("--spoil", f"rm -rf {NOTES}; touch {NOTES}", "--repair", f"rm {NOTES}")
    for side, clauses, words, more in (("memory", 6, ["FOLDER"], broken), ("host", 7, [], ())):
        code, out = check(side, python(CONTRACT / f"{side}.py", *words), *more)
        assert (code, out.count(" ok  ")) == (0, clauses), out


@pytest.mark.parametrize(
    ("clause", "old", "new"),
    [
        ("M1", "    memory.memory.close()  # leaves the sessions open\n", ""),
        ("M8", '"receipt": found}', '"receipt": {**found, "rows": 0}}'),
        ("M10", 'self._note({"unguarded": True})', "pass"),
        ("H1", "receipt, why = may_drop(", "receipt, why = ('none', '') or ("),
        ("H2", 'talk(type="rows", rows=context)', 'talk(type="rows", rows=context[:2])'),
        ("H3", "return None, \"The memory's answer is not", 'return "none", "The memory\'s answer is not'),
        ("H4", 'if answer.get("type") == "refuse":', 'if answer.get("type") == "refuse":\n        return "none", ""'),
        ("H5", "deadline_s=60", "deadline_s=5"),
        ("H4", "print(why, file=sys.stderr)", "print('No.', file=sys.stderr)"),
        ("H6", "context = context[4:]", "context = context[5:]"),
        ("H8", 'talk(type="resume", source="compacted")', "pass"),
        ("wire", 'reason="automatic"', 'reason="because"'),
    ],
)
def test_contract__a_side_breaks_a_clause__it_is_named(tmp_path, clause, old, new):
    side, words = ("memory", ["FOLDER"]) if clause.startswith("M") else ("host", [])
    code, out = check(side, python(changed(tmp_path, f"{side}.py", old, new), *words))
    assert code == 1
    assert f"{clause:>3}  " in out


def changed(folder: Path, name: str, old: str, new: str) -> Path:
    text = (CONTRACT / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")
    return folder / name
