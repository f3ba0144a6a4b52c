"""Which test shows which requirement: writes docs/requirements.md, or with ``--check`` says what is wrong with it.

    python -m tests.repo.requirements            # write the table
    python -m tests.repo.requirements --check    # exit 1 and one line for each problem

Tests cite requirements with ``@pytest.mark.req("R167")`` on a function, a class, a parameter set or, as ``pytestmark``,
on a module. The marks are read from the syntax tree: nothing is imported and nothing runs. The requirements stand in
``requirements.csv`` beside this file.
"""

import argparse
import ast
import csv
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
COMMAND = "python -m tests.repo.requirements"


class Requirement(NamedTuple):
    """One line of the list; ``document`` is the number of the seed document, ``section`` its heading."""

    id: str
    document: str
    section: str
    text: str


class Mark(NamedTuple):
    """A test that says it shows ``requirement``; ``test`` is ``path::name``, the path with ``/`` from the root."""

    requirement: str
    test: str


def requirements(path: Path) -> list[Requirement]:
    """The list, in order of id."""
    with path.open(encoding="utf-8", newline="") as file:
        return sorted(Requirement(**row) for row in csv.DictReader(file))


def marks(folder: Path, root: Path) -> list[Mark]:
    """Every mark in the tests under ``folder``, sorted by requirement and test."""
    found: set[Mark] = set()
    for path in sorted(folder.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        ids = [i for node in tree.body if _is_pytestmark(node) for i in _cited(node)]
        found |= set(_of_body(tree.body, path.relative_to(root).as_posix(), ids))
    return sorted(found)


def _is_pytestmark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets)


def _of_body(body: Iterable[ast.stmt], prefix: str, inherited: list[str]) -> Iterator[Mark]:
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        ids = [*inherited, *(i for decorator in node.decorator_list for i in _cited(decorator))]
        name = f"{prefix}::{node.name}"
        if isinstance(node, ast.ClassDef):
            methods = list(_of_body(node.body, name, ids))
            # A class that inherits its tests (a conformance suite) is itself what shows the requirement.
            yield from methods or (Mark(i, name) for i in ids)
        elif node.name.startswith("test"):
            yield from (Mark(i, name) for i in ids)


def _cited(node: ast.AST) -> Iterator[str]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "req":
            for argument in call.args:
                # Anything but a literal cannot be read without running it; the check reports it as an unknown id.
                is_text = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                yield argument.value if is_text else ast.unparse(argument)  # type: ignore[attr-defined]


def problems(wanted: Iterable[Requirement], cited: Iterable[Mark]) -> list[str]:
    """One sentence for each id that is unknown, listed twice or without a test."""
    known = [r.id for r in wanted]
    tested = {m.requirement for m in cited}
    found = [f"{i} is listed twice." for i, count in Counter(known).items() if count > 1]
    found += [f"{m.test} cites {m.requirement}, which is no requirement." for m in cited if m.requirement not in known]
    return found + [f"{i} has no test." for i in known if i not in tested]


def render(wanted: Iterable[Requirement], cited: Iterable[Mark]) -> str:
    """The page: how many are shown, then one row for each requirement."""
    wanted = list(wanted)
    tests: dict[str, list[str]] = {}
    for mark in cited:
        tests.setdefault(mark.requirement, []).append(f"`{mark.test.removeprefix('tests/')}`")
    shown = sum(r.id in tests for r in wanted)
    lines = [
        "# Requirements",
        "",
        f"Made by `{COMMAND}` from the marks in the tests; a test fails when it is stale.",
        f"Of {len(wanted)} requirements {shown} have a test.",
        "",
        "| id | requirement | document | shown by |",
        "|---|---|---|---|",
    ]
    lines += [f"| {r.id} | {_cell(r.text)} | {r.document} | {'<br>'.join(tests.get(r.id, []))} |" for r in wanted]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"([|<>*_`])", r"\\\1", text)


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page. Returns 0, or 1 when a check finds something."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; say what is wrong")
    options = parser.parse_args(arguments)
    wanted = requirements(HERE / "requirements.csv")
    cited = marks(ROOT / "tests", ROOT)
    page = ROOT / "docs" / "requirements.md"
    text = render(wanted, cited)
    if not options.check:
        page.write_text(text, encoding="utf-8")
        return 0
    found = problems(wanted, cited)
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        found.append(f"docs/requirements.md is stale: run `{COMMAND}`.")
    sys.stdout.write("".join(f"{line}\n" for line in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
