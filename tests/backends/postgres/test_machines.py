"""Two machines work on one project through a server by a random schedule, with kills, see tests.support.machines."""

import pytest
from tests.support import machines


@pytest.mark.parametrize("seed", machines.seeds(1))
def test_two_machines__killed_at_random_while_both_work__both_briefs_tell_the_same_true_state(
    cluster, tmp_path, monkeypatch, seed
):
    monkeypatch.setenv("HOLDFAST_STORAGE__BACKEND", "postgres")
    monkeypatch.setenv("HOLDFAST_STORAGE__SERVER", cluster.url())
    monkeypatch.setenv("HOLDFAST_STORAGE__NAMESPACE", f"machines/{tmp_path.name}")
    roots = {name: tmp_path / name for name in ("left", "right")}
    for root in roots.values():
        root.mkdir()
    truth = machines.run(seed, roots)
    machines.check(truth, roots)
