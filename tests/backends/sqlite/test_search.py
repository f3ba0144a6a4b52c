"""What a search of the SQLite store shows of a document."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.growth import grows_less_than

from holdfast_sqlite.backend import SqliteBackend
from holdfast_sqlite.search import available

pytestmark = pytest.mark.skipif(not available(), reason="this SQLite has no full-text search")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The harbour opens\n", "The harbour opens"),
        ("word " * 100 + "the harbour opens " + "word " * 100, "... " + "word " * 11 + "the harbour opens"),
        ("x" * 400 + " harbour", "... harbour"),
        ("- " * 200 + "HÀRBOUR dues", "... " + "- " * 29 + "HÀRBOUR dues"),
    ],
)
def test_search__document__shows_what_is_around_the_first_match(tmp_path: Path, text: str, shown: str) -> None:
    with closing(SqliteBackend(tmp_path)) as store:
        store.write("a.md", text)
        hits = store.search("harbour")
    assert hits[0].text.startswith(shown)
    assert len(hits[0].text) < 240


def test_search__one_word_a_hundred_thousand_times__costs_in_proportion(tmp_path: Path) -> None:
    def seconds(count: int) -> float:
        store.write("a.md", "harbour " * count)
        began = time.process_time()
        (hit,) = store.search("harbour")
        assert hit.text.startswith("harbour harbour")
        return time.process_time() - began

    with closing(SqliteBackend(tmp_path)) as store:
        assert grows_less_than(40, lambda: seconds(10_000), lambda: seconds(100_000), noise_s=0.05)
