"""Files of the private folder, and documents, are opened in one way only: without following links."""

from __future__ import annotations

import ast
from pathlib import Path

#: Modules that open a file in another way, and which files these are. None is in the private folder.
ELSEWHERE = {
    "plugins/holdfast_doctor/driver_command.py": "the temporary files that git names on the command line",
    "core/holdfast/fs/safeopen.py": "the one place",
    "core/holdfast_memory/__main__.py": "installed code",
    "core/holdfast/cli/__init__.py": "the null device",
    "core/holdfast/cli/payload_args.py": "a file that the user names",
    "plugins/holdfast_facts/commands/importing.py": "a file that the user names",
    "core/holdfast/cli/problem.py": "the null device",
    "core/holdfast/plugin/discovery.py": "metadata of installed distributions",
    "core/holdfast/config/settings.py": "settings of the project and the user",
    "core/holdfast/config/trust.py": "the user's own folder",
    "plugins/holdfast_agents/records/follow.py": "a client's recording",
    "plugins/holdfast_agents/setup/install.py": "a folder that the user names",
    "plugins/holdfast_agents/setup/program.py": "metadata of this distribution",
    "plugins/holdfast_agents/asking.py": "a client's recording",
    "plugins/holdfast_agents/exits.py": "a client's recording",
    "plugins/holdfast_agents/records/recorded.py": "a client's recording",
    "plugins/holdfast_agents/records/subagents.py": "a client's recording",
    "plugins/holdfast_agents/records/summaries.py": "a client's recording",
    "plugins/holdfast_agents/setup/texts.py": "installed text",
    "plugins/holdfast_agents/watchdog.py": "the null device",
    "plugins/holdfast_plugin_tools/inspection.py": "files of an installed distribution",
    "plugins/holdfast_plugin_tools/probe.py": "a new folder of its own, outside of every project",
    "plugins/holdfast_plugin_tools/scaffold.py": "templates, and a new file in a folder that the user names",
    "plugins/holdfast_cli_models/codex.py": "a client's settings",
    "plugins/holdfast_cli_models/gemini.py": "a new folder of its own, outside of every project",
    "plugins/holdfast_cli_models/model.py": "a new folder of its own, outside of every project",
    "plugins/holdfast_demo/command.py": "files of the demonstration",
    "plugins/holdfast_demo/trail.py": "files of the demonstration",
    "plugins/holdfast_dream/commands/dream.py": "a draft that the user edits",
    "plugins/holdfast_redaction/rules/build.py": "sources of the table of rules",
    "plugins/holdfast_redaction/rules/loader.py": "a rules file that the user names",
    "plugins/holdfast_settings/effective.py": "the project's settings",
    "plugins/holdfast_transcripts/__init__.py": "a client's recording",
    "plugins/holdfast_web/site.py": "installed stylesheet and script",
    "plugins/holdfast_workflow/commands/update.py": "installed text",
    "plugins/holdfast_workflow/commands/updating.py": "a file that the user names",
    "backends/holdfast_file/facts.py": "a descriptor that is open already",
    "backends/holdfast_postgres/schema.py": "installed SQL",
}
_OF_OS = frozenset({"open", "truncate", "link", "symlink", "mkfifo", "mknod"})
_METHODS = frozenset({"read_text", "read_bytes", "write_text", "write_bytes"})


def opens(source: str) -> list[int]:
    """Line numbers of the calls that open a file in a way that follows links."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id == "open":
            found.append(node.lineno)
        elif isinstance(called, ast.Attribute):
            of_os = isinstance(called.value, ast.Name) and called.value.id in ("os", "io") and called.attr in _OF_OS
            if of_os or called.attr in _METHODS:
                found.append(node.lineno)
    return found


def test_opens__in_any_module__are_safe_or_named_here(root: Path, tracked: list[Path]) -> None:
    names = {path.relative_to(root).as_posix(): path for path in tracked if path.suffix == ".py"}
    sources = {n: p for n, p in names.items() if n.startswith(("core/", "plugins/", "backends/"))}
    found = {n: opens(p.read_text(encoding="utf-8")) for n, p in sources.items() if "/testing/" not in n}
    bare = {name for name, lines in found.items() if lines}
    assert {name: found[name] for name in bare - set(ELSEWHERE)} == {}
    assert set(ELSEWHERE) - bare == set(), "these open nothing any more"
