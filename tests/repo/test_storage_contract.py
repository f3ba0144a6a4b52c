"""The contract's page and the kit that checks it say the same: each clause has a test that cites it."""

import ast
import inspect
import re

from holdfast.storage import StorageBackend
from holdfast.testing import StorageContract

CLAUSE = re.compile(r"^- \*\*([A-Z]\d+)\*\*", re.MULTILINE)
CITED = re.compile(r"[A-Z]\d+(?:, [A-Z]\d+)*")


def citations() -> dict[str, set[str]]:
    """Test of the kit -> the clauses that its docstring begins with."""
    tests = inspect.getmembers(StorageContract, lambda member: inspect.isfunction(member))
    heads = {name: CITED.match(inspect.getdoc(test) or "") for name, test in tests if name.startswith("test_")}
    return {name: set(head[0].split(", ")) if head else set() for name, head in heads.items()}


def test_storage_contract__every_clause__is_cited_by_a_test_of_the_kit(root):
    clauses = CLAUSE.findall((root / "docs" / "storage-contract.md").read_text(encoding="utf-8"))
    assert len(clauses) == len(set(clauses)) >= 42
    assert set(clauses) - set().union(*citations().values()) == set()


def test_kit__every_test__cites_clauses_that_the_page_has_and_bears_one_in_its_name(root):
    clauses = set(CLAUSE.findall((root / "docs" / "storage-contract.md").read_text(encoding="utf-8")))
    cited = citations()
    assert {name: cites - clauses for name, cites in cited.items() if not cites or cites - clauses} == {}
    assert [name for name, cites in cited.items() if name.split("_")[1].upper() not in cites] == []


def signatures() -> list[str]:
    """Each public method of a backend as the page shows it, the abstract ones first."""
    (tree,) = ast.parse(inspect.getsource(StorageBackend)).body
    assert isinstance(tree, ast.ClassDef)
    methods = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name[0] != "_"]
    methods.sort(key=lambda one: not any(ast.unparse(mark) == "abstractmethod" for mark in one.decorator_list))
    shown = [
        f"{one.name}({ast.unparse(one.args).removeprefix('self').removeprefix(', ')})"
        f" -> {ast.unparse(one.returns or one)}"
        for one in methods
    ]
    return [one.replace("'", '"') for one in shown]


def test_storage_contract__every_method__is_shown_with_its_signature(root):
    page = (root / "docs" / "storage-contract.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- signatures -->\n```text\n")[2].partition("```")[0]
    assert shown.splitlines() == signatures()
