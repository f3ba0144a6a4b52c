"""Every kind of write under every fault of a network, before a real server where one is given (live_kit.py)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.backends.gitea.live_kit import TOKEN, URL, address, ask, may_make_repositories
from tests.backends.gitea.test_faults import TIMEOUT_S, WRITES, Write, run
from tests.support.gitea.faults import FAULTS, Fault, FaultProxy

from holdfast_file.backend import FileBackend
from holdfast_gitea.backend import GiteaBackend

pytestmark = [
    pytest.mark.skipif(not URL, reason="no real server given: HOLDFAST_GITEA_URL, _TOKEN and _REPO are not set"),
    pytest.mark.skipif(bool(URL) and not may_make_repositories(), reason="the token may not make repositories"),
]


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    with FaultProxy(URL) as running:
        yield running


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_write__each_fault_at_the_comment__is_there_once(write, proxy, tmp_path):
    for number, fault in enumerate(FAULTS.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        _under(fault, write, proxy, folder)


def _under(fault: Fault, write: Write, proxy: FaultProxy, folder: Path) -> None:
    """One write under one fault, in a new repository."""
    repository = address(folder)["repository"]
    made: list[GiteaBackend] = []

    def opened(machine: str = "this", *, direct: bool = False) -> GiteaBackend:
        root = folder / machine
        root.mkdir(exist_ok=True)
        server = URL if direct else proxy.url
        made.append(GiteaBackend(root, server=server, repository=repository, token=TOKEN, timeout_s=TIMEOUT_S))
        return made[-1]

    model = folder / "model"
    model.mkdir()
    proxy.spoilt.clear()
    try:
        run(write, fault, ("POST", "/comments$", 1), opened, proxy, FileBackend(model))
        assert proxy.spoilt == [fault.name]
    finally:
        for store in made:
            store.close()
        assert ask("DELETE", f"/repos/{repository}").status == 204
