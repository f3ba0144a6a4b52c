"""The Claude Code plugin of the repository as a marketplace. `python -m tests.support.marketplace` writes it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLUGIN = "marketplace/claude-code"


def make(folder: Path) -> None:
    """The plugin, in a new ``folder``, as `holdfast install claude-code --plugin-dir` makes it."""
    folder.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "holdfast", "--root", str(folder.parent), "install", "claude-code"]
    done = subprocess.run(
        [*command, "--plugin-dir", str(folder)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    (folder / ".claude-plugin" / "marketplace.json").unlink()  # the repository has its own


def files(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder``."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


if __name__ == "__main__":
    shutil.rmtree(ROOT / PLUGIN, ignore_errors=True)
    make(ROOT / PLUGIN)
