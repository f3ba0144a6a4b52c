"""The examples run as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_own_loop__run__compacts_and_the_next_process_knows_where_to_go_on() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "own_loop.py")], capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Next action: run the suite ten times on staging" in done.stdout
    assert "## Trimmed Context" in done.stdout, "the context was compacted on the way"
    assert done.stderr == ""
