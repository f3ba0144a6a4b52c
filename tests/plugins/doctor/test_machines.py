"""Two machines work on one project through git by a random schedule, with kills, see tests.support.machines."""

from pathlib import Path

import pytest
from tests.support import machines, processes
from tests.support.git import git
from tests.support.trusting import trusted

from holdfast.models import Outcome
from holdfast_app.checkup.examine import examine


def _clones(folder):
    """Two clones of one shared repository, each set up with ``holdfast init --git`` and trusted."""
    roots = {name: folder / name for name in ("left", "right")}
    git(folder, "init", "-q", "--bare", "-b", "main", "shared.git")
    for name, root in roots.items():
        git(folder, "clone", "-q", "shared.git", name)
        assert processes.run("init", "--git", cwd=root).returncode == 0
        if name == "left":
            git(root, "add", "-A")
            git(root, "commit", "-qm", "start")
            git(root, "push", "-q", "origin", "main")
        trusted(root)
    return roots


def _exchange(root):
    git(root, "add", "-A")
    git(root, "commit", "-qm", "memory", "--allow-empty")
    git(root, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    git(root, "push", "-q", "origin", "HEAD:main")


@pytest.mark.parametrize("seed", machines.seeds(1))
def test_two_clones__agents_killed_at_random_between_pulls__both_briefs_tell_the_same_true_state(tmp_path, seed):
    settings = Path.home() / ".config" / "holdfast" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[trust]\nauthors = ["t@example.org"]\n')
    roots = _clones(tmp_path)
    truth = machines.run(seed, roots, _exchange)
    for root in (*roots.values(), roots["left"]):
        _exchange(root)
    machines.check(truth, roots)
    for root in roots.values():
        checks = [check for check in examine(str(root)) if check.name in ("git", "stored")]
        assert [check.message for check in checks if check.outcome is not Outcome.OK] == []
    assert git(roots["left"], "ls-files") == git(roots["right"], "ls-files")
