"""Machines that share a store and no lock: what they write at once comes to the same for all of them."""

import contextlib
import threading
from collections import Counter
from collections.abc import Callable

import pytest
from tests.backends.gitea.store_kit import DAY, HEADER, REPO, text_of

from holdfast.api import ABSENT, Add, AddOutcome, Conflict
from holdfast.testing.base import make_block, make_fact
from holdfast_gitea.backend import GiteaBackend
from holdfast_gitea.facts import line_of
from holdfast_gitea.wire.client import Repo
from holdfast_gitea.wire.models import Comment


def at_once(*calls: Callable[[], object]) -> list[object]:
    """Let them run in threads that start together; their answers, errors included, in order."""
    answers: list[object] = [None] * len(calls)
    barrier = threading.Barrier(len(calls))

    def run(place: int) -> None:
        barrier.wait()
        try:
            answers[place] = calls[place]()
        except Exception as error:
            answers[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def count_up(store: GiteaBackend, times: int) -> None:
    """Add one to a number in a document, by compare-and-swap."""
    done = 0
    while done < times:
        document = store.read("count.md")
        with contextlib.suppress(Conflict):  # another writer was faster
            if document is None:
                store.write("count.md", "1", ABSENT)
            else:
                store.write("count.md", str(int(document.text) + 1), document.revision)
            done += 1


@pytest.mark.req("R015", "R016", "R052", "R058", "R096", "R142")
def test_machines__begin_a_store_at_once__no_count_is_lost_every_block_and_equal_fact_once_and_all_agree(machine):
    """Half of the blocks are sent by two machines each, and half of the facts say the same."""
    stores = [machine() for _ in range(4)]

    def work(number: int) -> list[AddOutcome]:
        for n in range(4):
            block_id = f"w{number // (1 + n % 2)}n{n}"
            stores[number].append(DAY, make_block(block_id), HEADER, block_id)
        count_up(stores[number], 4)
        facts = [make_fact(number * 100 + n, f"shared {n}" if n % 2 else "") for n in range(6)]
        return [stores[number].add_fact(fact, 10).outcome for fact in facts]

    answers = at_once(*(lambda n=n: work(n) for n in range(4)))
    assert all(isinstance(answer, list) for answer in answers), answers
    wanted = {f"<!-- holdfast:block id=w{w // (1 + n % 2)}n{n} -->" for w in range(4) for n in range(4)}
    listings = []
    for store in (*stores, machine()):
        assert text_of(store, "count.md") == "16"
        text = text_of(store, DAY) or ""
        assert (text.startswith(HEADER), text.count(HEADER)) == (True, 1)
        assert Counter(line for line in text.split("\n") if "holdfast:block" in line) == dict.fromkeys(wanted, 1)
        listings.append(list(store.facts()))
    assert all(listing == listings[0] for listing in listings)
    assert len(listings[0]) == len({fact.content for fact in listings[0]}) == 10


@pytest.mark.req("R096")
def test_append__step_to_a_new_issue_not_yet_visible__the_block_is_taken_along(gitea, machine, monkeypatch):
    """As on a database where a lower id can become visible later: the other machine's block comes after the step."""
    monkeypatch.setattr("holdfast_gitea.log_view.MOST_RECORDS", 3)
    one, two = machine(), machine()
    for block_id in ("a", "b", "c"):
        one.append(DAY, make_block(block_id), HEADER, block_id)
    for number in range(3):
        one.add_fact(make_fact(number), 9)
    meanwhile = {
        f"holdfast:doc:{DAY}": lambda title: two.log.post(
            two.log.load(title), "blk", make_block("other"), "A block was added.", block="b3RoZXI"
        ),
        "holdfast:facts": lambda title: two.log.post(
            two.log.load(title), "ops", line_of(Add(fact=make_fact(7), limit=9)), "An operation.", language="json"
        ),
    }
    create = Repo.create_comment

    def late(repo: Repo, number: int, body: str) -> Comment:
        """The step is written first and shows last."""
        other = meanwhile.pop(gitea.titles(REPO)[number], None) if "kind=next" in body else None
        if other is None:
            return create(repo, number, body)
        made = create(repo, number, body)
        hidden = gitea.world.row(gitea.world.repo(REPO), made.id)
        hidden.issue.rows.remove(hidden)
        view, record_id = other(gitea.titles(REPO)[number])
        assert view.accepts(record_id)
        hidden.issue.rows.append(hidden)
        return made

    monkeypatch.setattr(Repo, "create_comment", late)
    one.append(DAY, make_block("d"), HEADER, "d")
    one.add_fact(make_fact(8), 9)
    assert not meanwhile
    for view in (one, two, machine()):
        ids = [line[-5:-4] for line in text_of(view, DAY).split("\n") if "block id" in line]
        assert ids == ["a", "b", "c", "r", "d"]
        assert [int(fact.id[5:], 16) for fact in view.facts()] == [0, 1, 2, 7, 8]
