"""Clauses C1-C8 as far as real processes can show them. Power cuts are for the backend's own tests."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

from holdfast.models import AddOutcome
from holdfast.storage import StorageBackend
from holdfast.testing.base import ContractBase, Open, add_call, append_call, make_block, make_fact
from holdfast.testing.documents import DAY, DocumentContract, text_of
from holdfast.testing.facts import FactContract
from holdfast.testing.machine import HEADER
from holdfast.testing.optional import OptionalContract
from holdfast.testing.worker import Workers, run

_BLOCK = re.compile(r"\n## 14:30\n<!-- holdfast:block id=(\w+) -->\n(.*)\n")


def blocks_of(text: str) -> list[str]:
    """The block ids, in order; asserts that the document holds nothing else and nothing incomplete."""
    assert text.count(HEADER) == 1
    assert text.startswith(HEADER)
    assert _BLOCK.sub("", text) == HEADER
    return [match[1] for match in _BLOCK.finditer(text)]


class ProcessContract(ContractBase):
    """Concurrent and killed processes."""

    def test_c3_append__four_processes__every_block_once(self, store: StorageBackend, root: Path) -> None:
        """C3, C2, A4: half of the blocks are sent by two processes each."""
        scripts = [[append_call(DAY, f"w{w // (1 + n % 2)}n{n}", HEADER) for n in range(12)] for w in range(4)]
        answers = run(self.factory, root, scripts)
        assert all("ok" in answer for worker in answers for answer in worker), answers
        wanted = Counter(call["block_id"] for script in scripts for call in script)
        assert Counter(blocks_of(text_of(store, DAY))) == Counter(wanted.keys())

    def test_c4_add__four_processes__each_once_and_one_of_equals(self, store: StorageBackend, root: Path) -> None:
        """C4, C2"""
        scripts = [
            [add_call(make_fact(w * 100 + n, f"shared {n}" if n % 2 else "")) for n in range(12)] for w in range(4)
        ]
        answers = run(self.factory, root, scripts)
        outcomes = Counter(answer["ok"].outcome for worker in answers for answer in worker)
        assert outcomes == {AddOutcome.ADDED: 4 * 6 + 6, AddOutcome.DUPLICATE: 3 * 6}
        contents = [fact.content for fact in store.facts()]
        assert len(contents) == len(set(contents)) == 30

    def test_c4_add__four_processes_at_the_limit__limit_holds(self, store: StorageBackend, root: Path) -> None:
        """C4, F4, F5"""
        scripts = [[add_call(make_fact(w * 100 + n), limit=7) for n in range(10)] for w in range(4)]
        answers = [answer["ok"] for worker in run(self.factory, root, scripts) for answer in worker]
        evicted = [fact_id for answer in answers for fact_id in answer.evicted]
        left = [fact.id for fact in store.facts()]
        assert len(left) == 7
        assert sorted(evicted + left) == sorted(make_fact(w * 100 + n).id for w in range(4) for n in range(10))

    def test_c5_write__same_expected_revision__one_succeeds(self, store: StorageBackend, root: Path) -> None:
        """C5"""
        revision = store.write("MEMORY.md", "old\n")
        call = {"call": "write", "name": "MEMORY.md", "expected": revision}
        answers = run(self.factory, root, [[{**call, "text": f"by {w}\n"}] for w in range(4)])
        won = [w for w, worker in enumerate(answers) if "ok" in worker[0]]
        assert len(won) == 1
        assert text_of(store, "MEMORY.md") == f"by {won[0]}\n"
        assert {worker[0].get("error") for worker in answers} == {None, "Conflict"}

    def test_c6_read__while_others_write__whole_blocks_only(self, store: StorageBackend, root: Path) -> None:
        """C6, C2"""
        store.append(DAY, make_block("first"), HEADER, "first")
        big = "- " + "x" * 30_000
        writer = [*(append_call(DAY, f"b{n}", HEADER, big) for n in range(15)), append_call(DAY, "end", HEADER)]
        watch = {"call": "watch", "name": DAY, "until": "id=end "}
        seen = run(self.factory, root, [writer, [watch]])[1][0]["ok"]
        assert watch["until"] in seen[-1], "a reader never saw the last block"
        for text in seen:
            blocks_of(text)

    def test_c7_writers__killed_at_any_time__acknowledged_is_there(
        self, store: StorageBackend, reopen: Open, root: Path
    ) -> None:
        """C1, C7: two writers, both killed, then the same scripts again."""
        scripts = []
        for w in range(2):
            calls = [(append_call(DAY, f"w{w}n{n}", HEADER), add_call(make_fact(w * 1000 + n))) for n in range(300)]
            scripts.append([call for pair in calls for call in pair])
        workers = Workers(self.factory, root, scripts)
        workers.go()
        time.sleep(0.15)
        for process in workers.processes:
            process.kill()
        answers = workers.finish()
        assert any(len(a) < len(s) for a, s in zip(answers, scripts, strict=True)), "they were done before the kill"
        store = reopen()
        store.append(DAY, make_block("later"), HEADER, "later")
        blocks = blocks_of(text_of(store, DAY))
        facts = {fact.id for fact in store.facts()}
        for script, got in zip(scripts, answers, strict=True):
            for call, answer in zip(script, got, strict=False):
                assert "ok" in answer
                if call["call"] == "append":
                    assert call["block_id"] in blocks
                else:
                    assert call["fact"].id in facts
        assert len(set(blocks)) == len(blocks)
        for script, got in zip(scripts, answers, strict=True):  # an interrupted call can be sent again
            for call in script[max(len(got) - 2, 0) : len(got) + 4]:
                if call["call"] == "append":
                    store.append(call["name"], call["block"], call["header"], call["block_id"])
        again = blocks_of(text_of(store, DAY))
        assert len(set(again)) == len(again)
        assert again[: len(blocks)] == blocks

    def test_c8_call__answer_lost__the_same_call_again_settles_it(self, store: StorageBackend, root: Path) -> None:
        """C8, A4, F2: the process is killed as soon as its change can be seen."""
        fact = make_fact(1)
        workers = Workers(self.factory, root, [[append_call(DAY, "one", HEADER)], [add_call(fact)]])
        workers.go()
        deadline = time.monotonic() + 30
        while not (store.read(DAY) and list(store.facts())):
            assert time.monotonic() < deadline, "the workers did nothing"
        for process in workers.processes:
            process.kill()
        workers.finish()
        store.append(DAY, make_block("one"), HEADER, "one")
        again = store.add_fact(fact, 10)
        assert blocks_of(text_of(store, DAY)) == ["one"]
        assert (again.outcome, again.fact) == (AddOutcome.DUPLICATE, fact)
        assert list(store.facts()) == [fact]


class StorageContract(DocumentContract, FactContract, OptionalContract, ProcessContract):
    """Every clause: documents and appends, facts, optional capabilities, errors, processes. Set ``factory``; see
    :mod:`holdfast.testing`."""
