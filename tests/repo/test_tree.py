"""What must not be in any file of the project, and what must be true of all of them."""

import re
from collections.abc import Iterable
from pathlib import Path

#: Addresses of package indexes. In parts, so that this file is not found.
INDEXES = re.compile("|".join(("py" + r"pi\.org", "python" + r"hosted\.org", "index" + "-url", "find" + "-links")))
#: Folders of one machine. Tests may make some up, to see what becomes of them.
MACHINE = re.compile(r"(?<![\w.~])/(?:tmp|home|Users|root|work)/\w")


def found(pattern: re.Pattern[str], root: Path, files: Iterable[Path]) -> list[str]:
    """Where the pattern is, as ``file: text``. Recorded input is left out."""
    names = {path: path.relative_to(root).as_posix() for path in files}
    return [
        f"{name}: {match[0]}"
        for path, name in names.items()
        if not name.startswith("tests/data/") and path.suffix != ".jsonl"
        for match in pattern.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]


def test_files__package_indexes__are_named_nowhere(root, tracked):
    assert found(INDEXES, root, tracked) == []


def test_files__folders_of_one_machine__are_named_nowhere_but_in_tests(root, tracked):
    assert found(MACHINE, root, (p for p in tracked if "tests" not in p.relative_to(root).parts)) == []


def test_modules__length__can_be_read_in_one_sitting(root, tracked):
    sources = [
        p for p in tracked if p.suffix == ".py" and p.relative_to(root).parts[0] in ("core", "plugins", "backends")
    ]
    lines = {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8").splitlines() for p in sources}
    written = {name: text for name, text in lines.items() if not (text and text[0].startswith('"""Made from '))}
    assert {name: len(text) for name, text in written.items() if len(text) > 500} == {}


def test_modules__names__say_what_they_hold(tracked):
    assert [p for p in tracked if p.stem in ("utils", "util", "helpers", "misc", "common") and p.suffix == ".py"] == []
