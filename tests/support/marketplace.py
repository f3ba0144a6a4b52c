"""The plugins of the repository as a marketplace. `python -m tests.support.marketplace` writes them."""

import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tests.support.processes import finished

ROOT = Path(__file__).parents[2]
PLUGIN = "marketplace/claude-code"
CODEX = "marketplace/codex"
#: Codex looks for a plugin's parts in these places. AGENTS.md belongs to the project.
PLACES = {
    ".codex/hooks.json": "hooks/hooks.json",
    ".agents/skills/holdfast/SKILL.md": "skills/holdfast/SKILL.md",
    ".agents/skills/memory-update/SKILL.md": "skills/memory-update/SKILL.md",
}
ABOUT = "Nothing is dropped until it is durable: hooks, skills and the MCP tools. Needs holdfast-memory."


def make(folder: Path) -> None:
    """The plugin, in a new ``folder``, as `holdfast install claude-code --plugin-dir` makes it."""
    folder.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "holdfast", "--root", str(folder.parent), "install", "claude-code"]
    done = finished([*command, "--plugin-dir", str(folder)])
    assert done.returncode == 0, done.stderr
    (folder / ".claude-plugin" / "marketplace.json").unlink()  # the repository has its own


def make_codex(folder: Path) -> None:
    """The plugin for Codex, in a new ``folder``, from what `holdfast install codex` writes."""
    with tempfile.TemporaryDirectory() as made:
        command = [sys.executable, "-m", "holdfast", "--root", made, "install", "codex", "--no-model"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        for source, place in PLACES.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(made, source), folder / place)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    interface = {"displayName": "holdfast", "shortDescription": ABOUT, "category": "Productivity"}
    manifest = {
        "name": "holdfast",
        "version": version,
        "description": ABOUT,
        "license": "MIT",
        "skills": "./skills/",
        "hooks": "./hooks/hooks.json",
        "mcpServers": "./.mcp.json",
        "interface": interface,
    }
    servers = {"mcpServers": {"holdfast": {"command": "holdfast-memory", "args": ["mcp"]}}}
    for place, value in ((".codex-plugin/plugin.json", manifest), (".mcp.json", servers)):
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def files(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder``."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


if __name__ == "__main__":
    for name, write in ((PLUGIN, make), (CODEX, make_codex)):
        shutil.rmtree(ROOT / name, ignore_errors=True)
        write(ROOT / name)
