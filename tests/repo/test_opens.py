"""Files of the private folder, and documents, are opened in one way only: without following links."""

import ast

import pytest

#: Modules that open a file in another way, and which files these are. None is in the private folder.
ELSEWHERE = {
    "core/holdfast/fs/safeopen.py": "the one place",
    "core/holdfast_memory/__init__.py": "a receipt of uv, in the environment",
    "core/holdfast_memory/__main__.py": "installed code",
    "plugins/holdfast_cli/__init__.py": "the null device",
    "plugins/holdfast_cli/stdin.py": "a file that the user names",
    "plugins/holdfast_cli/stdout.py": "a duplicate of standard output",
    "plugins/holdfast_cli/problem.py": "the null device",
    "backends/holdfast_file/gitrun.py": "a new folder of its own, outside of every project",
    "core/holdfast/plugin/discovery.py": "metadata of installed distributions",
    "core/holdfast/config/settings.py": "settings of the project and the user",
    "plugins/holdfast_app/project_settings/trust.py": "the user's own folder",
    "plugins/holdfast_agents/setup/program.py": "installed text",
    "plugins/holdfast_agents/watchdog.py": "the null device",
    "plugins/holdfast_authoring/inspection.py": "files of an installed distribution, and a new folder of its own",
    "plugins/holdfast_authoring/scaffold.py": "templates, and a new file in a folder that the user names",
    "plugins/holdfast_models/cli/codex.py": "a client's settings",
    "plugins/holdfast_models/cli/gemini.py": "a new folder of its own, outside of every project",
    "plugins/holdfast_models/cli/model.py": "a new folder of its own, outside of every project",
    "plugins/holdfast_cli/demo/command.py": "files of the demonstration",
    "plugins/holdfast_redaction/rules/loader.py": "a rules file that the user names",
    "plugins/holdfast_redaction/rules/table.py": "installed rules",
    "plugins/holdfast_app/settings/project.py": "the project's settings",
    "plugins/holdfast_app/history/sessions.py": "a client's recording",
    "plugins/holdfast_app/transcripts/__init__.py": "a client's recording",
    "plugins/holdfast_app/sentences/linear.py": "installed weights",
    "plugins/holdfast_app/search/rank.py": "installed weights",
    "plugins/holdfast_web/site.py": "installed stylesheet and script",
    "plugins/holdfast_cli/commands/workflow.py": "installed text",
    "backends/holdfast_postgres/schema.py": "installed SQL",
}
_OF_OS = frozenset({"open", "truncate", "link", "symlink", "mkfifo", "mknod"})
_METHODS = frozenset({"read_text", "read_bytes", "write_text", "write_bytes"})


@pytest.fixture(scope="module")
def nodes(root, tracked) -> dict[str, list[ast.AST]]:
    """The syntax tree's nodes of each module of the product, by its name."""
    names = {path.relative_to(root).as_posix(): path for path in tracked if path.suffix == ".py"}
    ours = {n: p for n, p in names.items() if n.startswith(("core/", "plugins/", "backends/")) and "/testing/" not in n}
    wanted = (ast.Call, ast.Attribute)
    trees = ((name, ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for name, path in ours.items())
    return {name: [node for node in tree if isinstance(node, wanted)] for name, tree in trees}


def opens(nodes: list[ast.AST]) -> list[int]:
    """Line numbers of the calls that open a file in a way that follows links."""
    found = []
    for node in nodes:
        if isinstance(node, ast.Call):
            owner, name = named(node)
            is_method = isinstance(node.func, ast.Attribute)
            of_os = owner in ("os", "io") and name in _OF_OS
            if of_os or (name in _METHODS if is_method else name == "open"):
                found.append(node.lineno)
    return found


def named(call: ast.Call) -> tuple[str, str]:
    """What is called, and whose it is where that is one name."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    return getattr(getattr(call.func, "value", None), "id", ""), name


def test_opens__in_any_module__are_safe_or_named_here(nodes):
    found = {name: opens(own) for name, own in nodes.items()}
    bare = {name for name, lines in found.items() if lines}
    assert {name: found[name] for name in bare - set(ELSEWHERE)} == {}
    assert set(ELSEWHERE) - bare == set(), "these open nothing any more"


#: Modules outside of ``holdfast.fs`` that write a file in place, and why a crash in the middle loses nothing. All other
#: product data goes through ``holdfast.fs.durable``, which writes a temporary file, flushes it and renames it.
IN_PLACE = {
    "plugins/holdfast_cli/__init__.py": "the null device",
    "core/holdfast/journal/journal.py": "a hint: one checksummed line of fixed length, derived from the journal",
    "plugins/holdfast_cli/stdout.py": "a duplicate of standard output",
    "plugins/holdfast_cli/problem.py": "the null device",
    "core/holdfast/journal/emergency_log.py": "room for a note on a full disk, written in place",
    "plugins/holdfast_models/cli/gemini.py": "a new folder of its own, outside of every project",
    "plugins/holdfast_models/cli/model.py": "a new folder of its own, outside of every project",
    "plugins/holdfast_agents/watchdog.py": "the null device",
    "plugins/holdfast_cli/demo/command.py": "files of the demonstration",
    "plugins/holdfast_app/transfer/exporting.py": "a member of an archive in memory",
    "plugins/holdfast_authoring/inspection.py": "a new folder of its own, outside of every project",
    "plugins/holdfast_authoring/scaffold.py": "a new file in a folder that the user names",
    "plugins/holdfast_app/search/index.py": "an empty database, derived from the store",
    "backends/holdfast_file/gitrun.py": "a new folder of its own, outside of every project",
    "backends/holdfast_file/intent.py": "an intent that is done is emptied, and an empty one means nothing",
    "backends/holdfast_sqlite/opening.py": "a new empty database under a temporary name",
}
_WRITING = frozenset({"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"})
_WRITERS = frozenset({"write_text", "write_bytes", "truncate", "ftruncate", "copyfile", "copy2", "copytree"})


def writes(nodes: list[ast.AST]) -> list[int]:
    """Line numbers that open a file for writing, or write or cut one as a whole."""
    found = []
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in _WRITING:
            found.append(node.lineno)
        if not isinstance(node, ast.Call):
            continue
        owner, name = named(node)
        words = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
        modes = [word.value for word in words if isinstance(word, ast.Constant) and isinstance(word.value, str)]
        if name in ("open", "fdopen") and any(
            set(mode) <= set("rwaxbt+") and set(mode) & set("wax+") for mode in modes
        ):
            found.append(node.lineno)
        if name in _WRITERS and owner != "durable":
            found.append(node.lineno)
    return found


def test_writes__of_product_data__are_atomic_or_named_here(nodes):
    ours = {name: own for name, own in nodes.items() if not name.startswith("core/holdfast/fs/")}
    found = {name: lines for name, own in ours.items() if (lines := writes(own))}
    assert {name: found[name] for name in found.keys() - IN_PLACE.keys()} == {}
    assert IN_PLACE.keys() - found.keys() == set(), "these write nothing in place any more"
