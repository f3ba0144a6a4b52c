"""The texts that agents get: what they name exists, and what they show works."""

import re

import pytest

from holdfast_agents.setup.client import Where
from holdfast_agents.setup.clients import CLIENTS
from holdfast_cli import table
from holdfast_cli.usage import parser_for

MEMORY_UPDATE = {
    "claude-code": ".claude/commands/memory-update.md",
    "opencode": ".opencode/commands/memory-update.md",
    "kilo": ".kilo/commands/memory-update.md",
    "pi": ".pi/prompts/memory-update.md",
    "codex": ".agents/skills/memory-update/SKILL.md",
}


def every_text() -> dict[str, str]:
    """All that is put into files of ours or into instructions, by client and file."""
    found = {}
    for client in CLIENTS:
        for place in CLIENTS[client].needed(Where(root="/project", scope="project", program=("holdfast",))).places:
            if place.path.endswith(".md"):
                found[f"{client} {place.shown}"] = place.part.show()
    return found


def test_texts__commands_and_options_that_they_name__exist():
    known = table.known()
    named = set()
    for name, text in every_text().items():
        found = re.findall(r"holdfast ([a-z][a-z-]+)(?=[ `|])([^`\n]*)", text)
        in_code = [(c, rest) for c, rest in found if c in known or f"`holdfast {c}" in text]
        assert in_code, name
        named |= {(command, option) for command, rest in in_code for option in ("", *re.findall(r"--[a-z-]+", rest))}
    assert {command for command, _ in named} <= {*known}
    help_texts = {command: parser_for(command).format_help() for command, _ in named}
    assert [one for one in named if one[1] not in help_texts[one[0]]] == []


@pytest.mark.req("R189", "R225", "R235", "R247")
@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_memory_update__done_as_its_text_says__session_and_three_files_are_updated(command, project, client):
    command("init", "--three-files")
    command("install", client)
    command("add", "user", "Fix the flaky login test", "--session", f"{client}-1")
    text = (project / MEMORY_UPDATE[client]).read_text()
    done = re.findall(r"^holdfast (\w+ [^\n]*) <<'(\w+)'\n(.*?)^\2$", text, re.MULTILINE | re.DOTALL)
    assert [words.split()[0] for words, *_ in done] == ["flush", "update"]
    for words, _, stdin in done:
        stdin = stdin.replace("decision: ...", "decision: Keep the lock file").replace(
            '"decisions": []', '"decisions": ["Keep the lock file"]'
        )
        said = command(*words.replace("SESSION", f"{client}-1").split(), stdin=stdin.encode())
        assert said.code == 0, said.err
    note = next((project / ".holdfast/memory").glob("*.md")).read_text()
    assert "Keep the lock file" in note
    assert f"session={client}-1" in note
    assert "Keep the lock file" in (project / ".holdfast/context/active_context.md").read_text()
