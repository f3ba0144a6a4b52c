"""Statements that say a part of what another one says."""

from __future__ import annotations

import pytest

from holdfast_dream.grounding.restating import read
from holdfast_dream.nearly import Seen, is_part

LONG = "the backfill keeps the first row of each pair and marks the others with duplicate_of; it deletes nothing"


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("The backfill marks repeated rows with duplicate_of and deletes nothing", LONG),
        (
            "The importer writes parse_errors to the report and goes on",
            "The importer skips bad rows, writes parse_errors to the report and goes on",
        ),
    ],
)
def test_is_part__nearly_the_same_words__says_less(less: str, more: str) -> None:
    assert is_part(read(less), read(more))
    assert not is_part(read(more), read(less))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "The api_server listens on port 8080 and logs to stdout",
            "On staging the api_server listens on port 8080 and logs to stdout",
        ),
        (
            "The api_server listens quietly and writes logs to stdout",
            "The api_server listens quietly and writes logs to stdout for admins only",
        ),
        (
            "The worker calls load_rows before the parser reads the header row",
            "The parser calls load_rows before the worker reads the header row",
        ),
        (
            "The backfill marks repeated rows with duplicate_of and deletes nothing",
            "The backfill marks repeated rows with is_copy and deletes nothing",
        ),
        (
            "The backfill marks repeated rows with duplicate_of and deletes them",
            "The backfill marks repeated rows with duplicate_of and never deletes them",
        ),
        (
            "The retry_limit of the queue is 5 by default in every worker",
            "The retry_limit of the queue is 7 by default in every worker",
        ),
        (
            "The job copies load_rows output quickly from staging to the archive",
            "The job copies load_rows output quickly from the archive to staging",
        ),
        ("Tests run nightly and write reports", "Tests run nightly and write reports and tags"),
    ],
)
def test_is_part__another_case_value_or_role__is_another_statement(one: str, other: str) -> None:
    assert not is_part(read(one), read(other))
    assert not is_part(read(other), read(one))


def test_seen__many_statements_with_one_identifier__are_compared_in_bounded_number() -> None:
    seen = Seen()
    for number in range(500):
        seen.add(f"k{number}", f"The loader number {number} reads load_rows and writes table {number}")
    seen.add("long", LONG)
    short = "The backfill marks repeated rows with duplicate_of and deletes nothing"
    assert seen.saying_more(short) == "long"
    assert list(seen.saying_less(short)) == []
    seen.remove("long")
    assert seen.saying_more(short) is None
