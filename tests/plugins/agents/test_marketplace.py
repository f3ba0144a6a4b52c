"""The repository as a marketplace of Claude Code and of Codex, and as a plugin of opencode."""

import os
import shutil
import subprocess

import pytest
from tests.plugins.agents.test_real_clients import PROMPT, Codex, broken_then_repaired, model
from tests.support import marketplace
from tests.support.processes import finished

__all__ = ["model"]


@pytest.mark.parametrize(
    ("make", "kept"), [(marketplace.make, marketplace.PLUGIN), (marketplace.make_codex, marketplace.CODEX)]
)
def test_plugin__in_the_repository__is_the_one_that_install_makes(tmp_path, make, kept):
    make(tmp_path / "made")
    made = marketplace.files(tmp_path / "made")
    assert marketplace.files(marketplace.ROOT / kept) == made, "python -m tests.support.marketplace"


@pytest.mark.skipif(shutil.which("codex") is None, reason="needs the real client on the PATH, as `codex`")
def test_codex_marketplace__added_to_the_real_client__its_plugin_holds_a_compaction(project, tmp_path, model):
    """The hooks are the plugin's alone: nothing is installed in the project."""
    home = tmp_path / "home"
    home.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    client = Codex(project, home, model)
    client.start()
    client.holdfast("init")
    assert client.run("codex", "plugin", "marketplace", "add", str(marketplace.ROOT)).returncode == 0
    assert client.run("codex", "plugin", "add", "holdfast@holdfast").returncode == 0
    client.say(PROMPT)
    assert broken_then_repaired(client, project, model) == {"store broken": "blocked", "repaired": "compacts"}


@pytest.mark.skipif(shutil.which("claude") is None, reason="needs the real client on the PATH, as `claude`")
def test_marketplace__added_to_the_real_client__installs_the_plugin(tmp_path):
    def claude(*words: str) -> str:
        env = {**os.environ, "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
        done = finished(["claude", "plugin", *words], cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    claude("marketplace", "add", str(marketplace.ROOT))
    claude("install", "holdfast@holdfast")
    listed = claude("list")
    assert "holdfast@holdfast" in listed
    assert str(marketplace.ROOT / marketplace.PLUGIN) in listed
    assert "Validation passed" in claude("validate", str(marketplace.ROOT))
