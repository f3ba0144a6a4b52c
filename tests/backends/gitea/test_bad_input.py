"""A server that says no: every call tells why, and none takes it for an empty store. Edits by hand: test_damage.py."""

from collections.abc import Callable

import pytest
from tests.backends.gitea.store_kit import DAY, HEADER, REPO
from tests.support.gitea.fake_server import FakeServer

from holdfast.storage import StorageBackend, delete_fact, get_fact
from holdfast.testing.base import make_block, make_fact
from holdfast_gitea.backend import GiteaBackend
from holdfast_keys import faults
from holdfast_keys.faults import Absent, Closed

Open = Callable[..., GiteaBackend]
Call = Callable[[StorageBackend], object]

READS: dict[str, Call] = {
    "read": lambda s: s.read("MEMORY.md"),
    "read of what is not there": lambda s: s.read("USER.md"),
    "names": lambda s: s.names(),
    "facts": lambda s: list(s.facts()),
    "count": lambda s: len(list(s.facts())),
    "fact": lambda s: get_fact(s, make_fact(1).id),
}
WRITES: dict[str, Call] = {
    "block": lambda s: s.append(DAY, make_block("b"), HEADER, "b"),
    "version": lambda s: s.write("MEMORY.md", "two\n"),
    "new document": lambda s: s.write("USER.md", "new\n"),
    "deletion": lambda s: s.delete("MEMORY.md"),
    "fact": lambda s: s.add_fact(make_fact(2), 5),
    "removal of a fact": lambda s: delete_fact(s, make_fact(1).id),
}


@pytest.fixture
def opened(machine, monkeypatch) -> Open:
    """``opened(machine, token=, server=)``: the store as that machine opens it."""
    monkeypatch.setattr(faults, "FIRST_PAUSE_S", 0.01)
    return lambda name="this", **options: machine(name=name, patience_s=0.3, **options)


def renamed(gitea: FakeServer) -> str:
    gitea.rename(REPO, "mind")
    return gitea.token


def deleted(gitea: FakeServer) -> str:
    gitea.delete_repo(REPO)
    return gitea.token


#: What spoils the store and gives the token that asks, and what is said then.
CLOSED_TO_ALL = [
    pytest.param(lambda gitea: "f" * 40, Closed, "does not know the token", id="unknown token"),
    pytest.param(lambda gitea: gitea.make_token("agent", ["read:user"]), Closed, "lacks a scope", id="no scope"),
    pytest.param(lambda gitea: gitea.make_token("stranger"), Absent, "does not show it to this token", id="stranger"),
    pytest.param(renamed, Closed, "was renamed to agent/mind", id="renamed"),
    pytest.param(deleted, Absent, "has nothing there", id="deleted"),
]


@pytest.mark.req("R142")
@pytest.mark.parametrize(("spoil", "error", "said"), CLOSED_TO_ALL)
@pytest.mark.parametrize("which", ["this", "new"])
def test_store__closed_by_the_server__every_call_says_why_and_none_says_empty(
    which, spoil, error, said, gitea,
    filled, opened
):  # fmt: skip
    """On the machine that knows the store, and on one that never saw it."""
    store = opened(which, token=spoil(gitea))
    gitea.requests.clear()
    for name, what in {**READS, **WRITES}.items():
        with pytest.raises(error, match=said) as caught:
            what(store)
        assert caught.value.next_step, name
        assert gitea.token not in f"{caught.value} {caught.value.next_step}", name
    assert [seen for seen in gitea.requests if seen.status < 300] == []
