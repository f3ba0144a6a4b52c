"""The import graph has no circles, and plugins and backends import the public surface of core only."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grimp
import pytest


@pytest.fixture(scope="module")
def tables(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "tests" / "repo" / "architecture.toml").read_text(encoding="utf-8"))


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


def test_plugins_and_backends__import_of_core__only_its_public_surface(
    graph: grimp.ImportGraph, tables: dict[str, Any]
) -> None:
    """The exceptions only shrink: add none, and remove each that is no longer needed."""
    private: dict[str, set[str]] = {}
    for package, imported in _imports_of_core(graph):
        if imported not in tables["public"]:
            private.setdefault(package, set()).add(imported)
    exceptions = {package: set(modules) for package, modules in tables["exceptions"].items()}
    assert private == exceptions


def test_public_surface__every_module_of_it__exists(graph: grimp.ImportGraph, tables: dict[str, Any]) -> None:
    assert [module for module in tables["public"] if module not in graph.modules] == []


def test_public_surface__in_the_documentation__is_the_same_list(root: Path, tables: dict[str, Any]) -> None:
    page = " ".join((root / "docs" / "hooks.md").read_text(encoding="utf-8").split())
    said = page.partition("imports from core: ")[2].partition("Other modules may")[0]
    named = {f"holdfast.{name.removeprefix('holdfast.')}" for name in re.findall(r"`([\w.]+)`", said)}
    assert named - {"holdfast.holdfast"} == set(tables["public"]) - {"holdfast"}


def _imports_of_core(graph: grimp.ImportGraph) -> Iterator[tuple[str, str]]:
    """Package of the importer and imported module of core, for each import across that border."""
    for module in sorted(graph.modules):
        package = module.partition(".")[0]
        if package == "holdfast":
            continue
        for imported in sorted(graph.find_modules_directly_imported_by(module)):
            if imported.partition(".")[0] == "holdfast":
                yield package, imported
