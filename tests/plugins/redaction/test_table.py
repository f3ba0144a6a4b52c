"""The table: it agrees with its source, every rule is sound, and none runs away on hostile text."""

from __future__ import annotations

import re
import time
import tomllib
from pathlib import Path

import pytest
from tests.support.growth import grows_less_than

from holdfast_redaction.engine import Scanner
from holdfast_redaction.rules import lint, table

SOURCE = Path(table.SOURCE).read_text("utf-8")
RULES = tomllib.loads(SOURCE)["rules"]


def test_table__rules__are_named_once_and_say_where_the_format_is_published() -> None:
    ids = [rule["id"] for rule in RULES]
    assert len(ids) == len(set(ids))
    for rule in RULES:
        assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", rule["id"])
        assert rule["source"].startswith("https://"), rule["id"]
        assert rule["description"]
        assert rule["keywords"] or rule["min_word"] >= 40, f"{rule['id']} would be tried on everything"
        assert re.compile(rule["regex"]).groups >= rule.get("group", 0)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r["id"])
def test_rule__its_expression__is_linear_by_its_form(rule: dict) -> None:
    assert not lint.complaints(rule["regex"])


@pytest.mark.parametrize("regex", ["(a+)+", "([a-z]*)*x", "(?:a?){30}", "(?=x)y", r"(a)\1", "("])
def test_lint__an_expression_that_can_run_away_or_needs_more_than_re2__is_named(regex: str) -> None:
    assert lint.complaints(regex)


def hostile() -> dict[str, str]:
    texts = {
        "one letter": "a",
        "digits": "1",
        "blanks": " ",
        "colons": "a:",
        "at signs": "a@",
        "dots": "1.",
        "hyphens": "4-",
    }
    keywords = [k for rows in (table.WORDS, table.TEXT, table.LOWER) for k, _ in rows]
    texts |= {f"keyword {k!r}": k for k in keywords[::31]}
    texts |= {f"keyword and word {k!r}": k + "aB3" * 20 + " " for k in keywords[::43]}
    texts |= {
        "assignments": 'password="',
        "headers": "-----BEGIN RSA PRIVATE KEY-----",
        "jwt": "eyJ-",
        "names": "a_password_",
        "sentences": "the password is as the token for ",
    }
    return texts


def test_scanner__hostile_text__takes_time_in_proportion_to_its_length() -> None:
    """Four times the text may take at most nine times as long (sixteen would be quadratic): a ratio, not a time."""
    scanner = Scanner()
    for name, piece in hostile().items():
        short, long = ((piece * (size // len(piece) + 1))[:size] for size in (8_000, 32_000))
        assert grows_less_than(9, lambda t=short: _time(scanner, t), lambda t=long: _time(scanner, t), noise_s=0.05), (
            name
        )


def _time(scanner: Scanner, text: str) -> float:
    started = time.process_time()
    scanner.find(text)
    return time.process_time() - started
