"""``holdfast mcp`` where the SDK was not installed: in a real environment that holds the base dependencies only."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

#: What `pip install holdfast-memory` brings for this command.
BASE = ("attr", "attrs", "pluggy", "tomli_w", "typing_extensions.py")


@pytest.mark.parametrize("missing", ["everything of it", "a package that it needs", "the new version"])
def test_mcp__sdk_not_whole__says_what_to_install_and_for_which_python(
    tmp_path: Path, project: Path, missing: str
) -> None:
    installed, here = Path(sysconfig.get_paths()["purelib"]), Path(__file__).parents[3]
    names = [*BASE, *(path.name for path in installed.glob("holdfast_memory-*.dist-info"))]
    if missing == "a package that it needs":
        names += ["mcp", *(path.name for path in installed.glob("mcp-*.dist-info"))]
    if missing == "the new version":
        (tmp_path / "mcp").mkdir()
        (tmp_path / "mcp" / "__init__.py").write_text("")
        (tmp_path / "anyio").mkdir()
        for name in ("__init__.py", "to_thread.py"):
            (tmp_path / "anyio" / name).write_text("")
        (tmp_path / "mcp-1.9.dist-info").mkdir()
        (tmp_path / "mcp-1.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: mcp\nVersion: 1.9\n")
    for name in names:
        (tmp_path / name).symlink_to(installed / name)
    path = os.pathsep.join(map(str, (tmp_path, here / "core", here / "plugins", here / "backends")))
    done = subprocess.run(
        [sys.executable, "-S", "-m", "holdfast", "--root", str(project), "mcp"],
        env=os.environ | {"PYTHONPATH": path, "COLUMNS": "300"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert "needs the MCP SDK, version 2 or newer" in done.stderr
    assert f"{sys.executable} -m pip install 'holdfast-memory[mcp]'" in done.stderr
    assert "unforeseen" not in done.stderr
    assert ("1.9" in done.stderr) is (missing == "the new version")
