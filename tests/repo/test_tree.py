"""What must not be in any file of the project, and what must be true of all of them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

#: Folders that exist on one machine, and the addresses of package indexes. In parts, so that this file is not found.
FORBIDDEN = {
    "a package index": re.compile(
        "|".join(("py" + r"pi\.org", "python" + r"hosted\.org", "index" + "-url", "find" + "-links"))
    ),
    "a scratch folder": re.compile(r"(?<![\w.])/" + r"tmp/[\w.]"),
    "a home folder": re.compile(
        r"(?<![\w.])/" + r"(?:home|Users|root)/(?!(?:user|you|me|ana|dev|alice|bob|agent)\b)[\w.]"
    ),
}


def texts(tracked: list[Path], root: Path) -> list[tuple[str, str]]:
    found = []
    for path in tracked:
        name = path.relative_to(root).as_posix()
        if not name.startswith("tests/data/") and not name.endswith(".jsonl"):
            found.append((name, path.read_text(encoding="utf-8", errors="replace")))
    return found


@pytest.mark.parametrize("what", sorted(FORBIDDEN))
def test_files__places_of_one_machine__are_named_nowhere(root: Path, tracked: list[Path], what: str) -> None:
    found = [f"{name}: {match[0]}" for name, text in texts(tracked, root) for match in FORBIDDEN[what].finditer(text)]
    assert found == []


def test_files__this_checkout_and_this_home__are_named_nowhere(root: Path, tracked: list[Path]) -> None:
    here = {str(root), os.environ.get("VIRTUAL_ENV", "")} - {""}
    assert [name for name, text in texts(tracked, root) if any(place in text for place in here)] == []


def test_modules__length__can_be_read_in_one_sitting(root: Path, tracked: list[Path]) -> None:
    code = [p for p in tracked if p.suffix == ".py" and p.relative_to(root).parts[0] in ("core", "plugins", "backends")]
    long = {
        p.relative_to(root).as_posix(): n for p in code if (n := len(p.read_text(encoding="utf-8").splitlines())) > 500
    }
    assert long == {}


def test_modules__names__say_what_they_hold(tracked: list[Path]) -> None:
    assert [p for p in tracked if p.stem in ("utils", "util", "helpers", "misc", "common") and p.suffix == ".py"] == []
