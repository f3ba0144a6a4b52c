"""The import graph has no circles, and plugins and backends import the public modules only."""

import re
import tomllib

import grimp
import pytest


@pytest.fixture(scope="module")
def tables(root) -> dict[str, list[str]]:
    """The public modules, and the private ones that this distribution's plugins import."""
    return tomllib.loads((root / "tests" / "repo" / "architecture.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def graph(root) -> grimp.ImportGraph:
    """The imports of all packages of this repository, with those in functions and for annotations."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    packages = settings["tool"]["importlinter"]["root_packages"]
    return grimp.build_graph(*packages, exclude_type_checking_imports=False, cache_dir=None)


def test_imports__of_all_modules__form_no_circle(graph):
    waiting = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    while free := [module for module, imported in waiting.items() if not imported & waiting.keys()]:
        for module in free:
            del waiting[module]
    assert sorted(waiting) == [], "these modules import each other, or import some that do"


#: What could be somebody else's. The application (holdfast_app, holdfast_cli and what stands on them) uses the kernel.
PLUGINS = (
    "holdfast_file",
    "holdfast_forges",
    "holdfast_gitea",
    "holdfast_keys",
    "holdfast_models",
    "holdfast_postgres",
    "holdfast_redaction",
    "holdfast_sqlite",
)


def test_plugins_and_backends__imports__are_of_listed_modules_only(graph, tables):
    used = {
        imported
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if (package := module.partition(".")[0]) in PLUGINS and imported.partition(".")[0] != package
    }
    assert sorted(used - {*tables["public"], *tables["internal"]}) == []
    assert sorted(set(tables["internal"]) - used) == [], "no plugin imports these any more"


def test_third_parties__imports_of_holdfast__are_of_public_modules_only(root, tables):
    """Of the foreign distribution, of what `plugin new` writes, and of the pages for authors."""
    folders = (root / "tests" / "third_party", root / "plugins" / "holdfast_authoring" / "templates")
    files = [p for folder in folders for p in folder.rglob("*") if p.suffix in (".py", ".tmpl")]
    files += [root / "docs" / name for name in ("hooks.md", "tutorial-plugin.md", "models.md", "plugin-tools.md")]
    named = {
        (path.name, package)
        for path in files
        for package, imported in re.findall(
            r"^ *from (holdfast(?:_(?:cli|models|app|keys))?[\w.]*) import (\w+)",
            path.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
        if f"{package}.{imported}" not in tables["public"] and package.partition(".")[0] in _OURS
    }
    assert sorted(one for one in named if one[1] not in tables["public"]) == []


_OURS = ("holdfast", "holdfast_app", "holdfast_cli", "holdfast_keys", "holdfast_models")


def test_public_surface__every_module_of_it__exists_once(graph, tables):
    assert len(tables["public"]) <= 12
    listed = [*tables["public"], *tables["internal"]]
    assert [module for module in listed if module not in graph.modules] == []
    assert len(listed) == len(set(listed))
