"""docs/map.md knows every module of the core, once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path


def test_map__modules_of_the_core__are_each_named_once(root: Path) -> None:
    core = root / "core" / "holdfast"
    modules = {p.stem for p in core.glob("*.py") if not p.stem.startswith("__")}
    packages = {p.name + "/" for p in core.iterdir() if p.is_dir() and p.name != "__pycache__"}
    page = (root / "docs" / "map.md").read_text(encoding="utf-8")
    rows = "\n".join(line for line in page.splitlines() if line.startswith("|"))
    named = Counter(re.findall(r"`([\w/]+)`", rows))
    assert set(named) == modules | packages
    assert [name for name, times in named.items() if times > 1] == []
