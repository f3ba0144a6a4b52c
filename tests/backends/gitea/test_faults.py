"""The store behind a network that fails in every way there is: nothing lost, nothing twice, and never a false "done".

What must be there afterwards is asked of the file backend, to which the same was done in peace.
"""

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attrs import frozen
from tests.backends.gitea.store_kit import DAY, HEADER, REPO
from tests.support.gitea.faults import FAULTS, KINDS, SLOW_S, Fault, FaultProxy

from holdfast.errors import NotFound
from holdfast.storage import StorageBackend, delete_fact, sha256, update_fact
from holdfast.testing.base import make_block, make_fact
from holdfast_file.backend import FileBackend
from holdfast_gitea import marker
from holdfast_gitea.backend import GiteaBackend
from holdfast_keys import faults
from holdfast_keys.faults import Passing

#: Shorter than a slow answer, and long enough for every other on a busy machine.
TIMEOUT_S = SLOW_S / 2


def append(block_id: str) -> Callable[[StorageBackend], object]:
    return lambda store: store.append(DAY, make_block(block_id), HEADER, block_id)


@frozen(kw_only=True)
class Write:
    """Something that is written, and what was there before."""

    act: Callable[[StorageBackend], object]
    before: tuple[Callable[[StorageBackend], object], ...] = ()


FACT = make_fact(1)
WRITES = {
    "first block of a day": Write(act=append("a")),
    "block": Write(act=append("b"), before=(append("a"),)),
    "first version": Write(act=lambda s: s.write("MEMORY.md", "one\n")),
    "version": Write(
        act=lambda s: s.write("MEMORY.md", "two\n", sha256("one\n")), before=(lambda s: s.write("MEMORY.md", "one\n"),)
    ),
    "deletion": Write(act=lambda s: s.delete("MEMORY.md"), before=(lambda s: s.write("MEMORY.md", "one\n"),)),
    "first fact": Write(act=lambda s: s.add_fact(FACT, 2)),
    "fact at the limit": Write(
        act=lambda s: s.add_fact(make_fact(3), 2),
        before=(lambda s: s.add_fact(FACT, 2), lambda s: s.add_fact(make_fact(2), 2)),
    ),
    "change of a fact": Write(
        act=lambda s: update_fact(s, FACT.id, content="changed"), before=(lambda s: s.add_fact(FACT, 2),)
    ),
    "removal of a fact": Write(act=lambda s: delete_fact(s, FACT.id), before=(lambda s: s.add_fact(FACT, 2),)),
}


def everything(store: StorageBackend) -> tuple[dict[str, str], list[Any]]:
    """All that a reader has of a store."""
    texts = {}
    for name in store.names():
        document = store.read(name)
        assert document is not None, name
        texts[name] = document.text
    return texts, list(store.facts())


@pytest.fixture
def proxy(gitea) -> Iterator[FaultProxy]:
    with FaultProxy(gitea.url) as running:
        yield running


@pytest.fixture
def opened(gitea, proxy, machine, monkeypatch) -> Callable[..., GiteaBackend]:
    """``opened(machine, direct=False)``: the store on that machine, behind the proxy unless ``direct``."""
    monkeypatch.setattr(faults, "FIRST_PAUSE_S", 0.01)

    def open_store(name: str = "this", *, direct: bool = False, patience_s: float = 10.0) -> GiteaBackend:
        server = gitea.url if direct else proxy.url
        return machine(server, name=name, timeout_s=TIMEOUT_S, patience_s=patience_s)

    return open_store


@pytest.fixture
def model(tmp_path) -> FileBackend:
    """A store where nothing goes wrong."""
    folder = tmp_path / "model"
    folder.mkdir()
    return FileBackend(folder)


def run(
    write: Write, fault: Fault, where: tuple[str, str, int], opened: Callable[..., GiteaBackend], proxy: FaultProxy,
    model: FileBackend,
) -> None:  # fmt: skip
    """Do the write while the n-th request of that kind is spoilt; then everybody must have what the model has."""
    store = opened()
    for each in write.before:
        assert each(store) == each(model)
    method, path, nth = where
    proxy.spoil(method, path, fault, nth=nth)
    assert write.act(store) == write.act(model)
    proxy.heal()
    wanted = everything(model)
    assert everything(store) == wanted
    assert everything(opened()) == wanted, "a new process of this machine"
    assert everything(opened("other", direct=True)) == wanted, "another machine"


COMMENT = ("POST", "/comments$", 1)
SOME = ("answer lost", "request lost", KINDS[-2])


@pytest.mark.req("R015", "R016", "R058", "R096", "R142")
@pytest.mark.parametrize(
    ("name", "fault", "where"),
    [
        *((name, fault, COMMENT) for name in WRITES for fault in SOME),
        *(("block", fault, COMMENT) for fault in FAULTS),
        *(("block", fault, ("GET", "/issues/", nth)) for nth in (1, 2) for fault in SOME),  # the list before and after
        *((name, fault, ("PATCH", "/issues/", 1)) for name in ("version", "deletion") for fault in SOME),
    ],
)
def test_write__any_fault_at_a_request__is_there_once(name, fault, where, gitea, opened, proxy, model):
    run(WRITES[name], FAULTS[fault], where, opened, proxy, model)
    assert proxy.spoilt == [fault]
    if fault == "answer lost":  # the second try finds the record of the first one
        ids = [marker.fields(body)["id"] for number in gitea.titles(REPO) for body in gitea.bodies(REPO, number)]
        assert len(ids) == len(set(ids))


@pytest.mark.req("R096", "R142")
@pytest.mark.parametrize("fault", ["answer lost", "request lost", "504, written two requests later"])
@pytest.mark.parametrize("name", ["first block of a day", "fact at the limit", "removal of a fact"])
def test_write__given_up_and_done_again_by_a_new_process__is_there_once(name, fault, opened, proxy, model):
    """The first process gets an error and never learns whether it was written."""
    write = WRITES[name]
    for each in write.before:
        assert each(opened()) == each(model)
    store = opened(patience_s=0.0)
    proxy.spoil("POST", "/comments$", FAULTS[fault])
    with pytest.raises(Passing) as caught:
        write.act(store)
    assert "Repeating is safe" in caught.value.next_step
    write.act(model)
    with contextlib.suppress(NotFound):  # what the first process has removed after all
        write.act(opened())
    proxy.heal()
    assert everything(opened()) == everything(opened("other", direct=True)) == everything(model)


CHILD = """
import sys
from holdfast.testing.base import make_block
from holdfast_gitea.backend import GiteaBackend
server, token, root, repo, name, header = sys.argv[1:]
GiteaBackend(root, server=server, repository=repo, token=token).append(name, make_block("b"), header, "b")
"""


def test_write__process_killed_between_write_and_answer__is_there_once(opened, gitea, proxy, model, tmp_path):
    for each in (opened(), model):
        append("a")(each)
    proxy.spoil("POST", "/comments$", FAULTS["answer slow"])
    place = [proxy.url, gitea.token, str(tmp_path / "this"), REPO, DAY, HEADER]
    with subprocess.Popen([sys.executable, "-c", CHILD, *place]) as child:
        while len(gitea.bodies(REPO, 2)) < 2:
            assert child.poll() is None
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
        assert child.wait(10) == -signal.SIGKILL
    for each in (opened(), model):
        append("b")(each)
    assert everything(opened()) == everything(opened("other", direct=True)) == everything(model)
    assert len(gitea.bodies(REPO, 2)) == 2
