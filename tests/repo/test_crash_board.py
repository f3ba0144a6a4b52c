"""``benchmarks/crash``: the disk loses what was not synced, and the board sees it."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BOARD = Path(__file__).parents[2] / "benchmarks" / "crash"
try:
    import mfusepy  # noqa: F401
except (ImportError, OSError) as error:
    pytest.skip(f"the disk is a FUSE file system, and there is none: {error}", allow_module_level=True)
pytestmark = pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="no /dev/fuse")


@pytest.fixture(autouse=True)
def board(monkeypatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(BOARD))
    yield
    for name in ("board", "disk"):
        sys.modules.pop(name, None)


def lost(system: str, trials: int) -> dict[str, int]:
    from board import Bench
    from disk import Disk

    Disk.HANG = 0.5  # a call takes a millisecond
    bench = Bench(system, sys.executable, seed=1)
    try:
        return {row.fault: row.lost + row.twice + row.unreadable for row in bench.rows(trials)}
    finally:
        bench.close()


def test_board__appends_without_fsync__only_a_power_cut_takes_them():
    found = lost("append", 2)
    assert {fault for fault, count in found.items() if count} == {"power cut", "power cut, names kept"}


def test_board__everything_is_synced_first__nothing_is_lost():
    found = lost("holdfast_session", 1)
    assert len(found) == 7
    assert not any(found.values())
