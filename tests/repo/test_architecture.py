"""The import graph has no circles, and plugins and backends import the public modules only."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import grimp
import pytest


@pytest.fixture(scope="module")
def public(root: Path) -> dict[str, list[str]]:
    """The public modules by subject."""
    text = (root / "tests" / "repo" / "architecture.toml").read_text(encoding="utf-8")
    found: dict[str, list[str]] = tomllib.loads(text)["public"]
    return found


@pytest.fixture(scope="module")
def graph(root: Path) -> grimp.ImportGraph:
    """The run-time imports of all packages of this repository. Imports for annotations only are not in it."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    packages = settings["tool"]["importlinter"]["root_packages"]
    return grimp.build_graph(*packages, exclude_type_checking_imports=True, cache_dir=None)


def test_imports__of_all_modules__form_no_circle(graph: grimp.ImportGraph) -> None:
    waiting = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    while free := [module for module, imported in waiting.items() if not imported & waiting.keys()]:
        for module in free:
            del waiting[module]
    assert sorted(waiting) == [], "these modules import each other, or import some that do"


#: What could be somebody else's. The application (holdfast_app, holdfast_cli and what stands on them) uses the kernel.
PLUGINS = (
    "holdfast_file",
    "holdfast_gitea",
    "holdfast_keys",
    "holdfast_models",
    "holdfast_postgres",
    "holdfast_redaction",
    "holdfast_sqlite",
)


def test_plugins_and_backends__imports__are_of_public_modules_only(
    graph: grimp.ImportGraph, public: dict[str, list[str]]
) -> None:
    listed = {module for modules in public.values() for module in modules}
    used = {
        imported
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if (package := module.partition(".")[0]) in PLUGINS and imported.partition(".")[0] != package
    }
    assert sorted(used - listed) == []


def test_public_surface__every_module_of_it__exists_once(
    graph: grimp.ImportGraph, public: dict[str, list[str]]
) -> None:
    listed = [module for modules in public.values() for module in modules]
    assert [module for module in listed if module not in graph.modules] == []
    assert len(listed) == len(set(listed))


def test_public_surface__in_the_documentation__is_the_same_table(root: Path, public: dict[str, list[str]]) -> None:
    page = (root / "docs" / "hooks.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|`]+) \| ((?:`[\w.]+`(?:, )?)+) \|$", page, re.MULTILINE)
    table = {subject: [_full(name) for name in re.findall(r"`([\w.]+)`", modules)] for subject, modules in rows}
    assert table == public


def _full(name: str) -> str:
    return name if name.startswith("holdfast") else f"holdfast.{name}"


def test_core__its_strings__name_no_plugin_of_this_distribution(root: Path) -> None:
    """What core needs to know of a plugin, the distribution or the plugin declares."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = project["entry-points"]
    # `file` is the default of a setting, and `curated` a field of the payload.
    names = {*groups["holdfast.plugins"], *groups["holdfast.backends"]} - {"file", "curated"}
    found = []
    for path in sorted((root / "core" / "holdfast").rglob("*.py")):
        constants = (
            n.value for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Constant)
        )
        dotted = (one for one in constants if isinstance(one, str) and re.fullmatch(r"[\w.]+", one))
        found += [(path.name, one) for one in dotted if not names.isdisjoint(one.split("."))]
    assert found == []
