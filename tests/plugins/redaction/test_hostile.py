"""No rule runs away on text made against it: the literals of all rules, repeated, and runs of what they accept."""

import re
import string
import time
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.support.growth import grows_less_than

from holdfast_redaction.engine import Scanner
from holdfast_redaction.layers import names
from holdfast_redaction.rules import lint, table

CLASS = re.compile(r"\[(?:\\.|[^\]\\])+\]|\\[wdS]")
CHARACTERS = string.ascii_letters + string.digits + "_-+/=.~%"
PIECES = (
    'password="', "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "eyJ-", "a_password_",
    "the password is as the token for ", "token abcdefghijklmnopqrst ", "key:\n```\n", "the password we x x x, ",
    "password,a\n", "password?\n", "x: >-\n", "<<EOF\n", "\\u005f", "%3D", "aA1bB2cC3dD4\n", " ", "a:",
    "AAAAAAAAAAAAAAAA\n-----END PRIVATE KEY-----\n", "heslo pro ", "密码是", "password, ", "a", "1", "a@", "1.", "4-",
)  # fmt: skip
#: Linear time grows as the text, four times, and some noise.
SHORT, LONG, LINEAR, NOISE_S = 1_000, 4_000, 8.0, 0.015
#: What the slowest rule may take for LONG characters without a second look.
QUICK_S = 0.0125


def literals() -> dict[str, int]:
    """Each keyword with the number of its first rule, and the words in names, with none."""
    rows = [row for rows in (table.EXACT, table.LOWER) for row in rows]
    return dict.fromkeys((*names.HINTS, *names.FOREIGN_HINTS), -1) | {keyword: rules[0] for keyword, rules in rows}


def hostile(literal: str, index: int) -> Iterator[str]:
    yield literal
    yield f'aA1{literal}="a_'
    if index >= 0:
        regex, apart = table.RULES[index][1], table.RULES[index][6][:1] or " "
        flags = re.IGNORECASE if regex.startswith("(?i)") else 0
        accepted = {"".join(c for c in CHARACTERS if re.fullmatch(part, c, flags)) for part in CLASS.findall(regex)}
        yield from (apart + literal + (run * 400)[:400] for run in sorted(accepted - {""}))


def seconds(scanner: Scanner, piece: str, size: int) -> float:
    text = (piece * (size // len(piece) + 1))[:size]
    started = time.process_time()
    scanner.find(text)
    return time.process_time() - started


@pytest.mark.req("R240")
@pytest.mark.parametrize("shard", range(8))
def test_scanner__text_against_each_rule__takes_time_in_proportion_to_its_length(shard):
    scanner = Scanner()
    pieces = [piece for literal, index in list(literals().items())[shard::8] for piece in hostile(literal, index)]
    for piece in [*pieces, *PIECES[shard::8]]:
        if seconds(scanner, piece, LONG) > QUICK_S:
            assert grows_less_than(LINEAR, partial(seconds, scanner, piece), SHORT, LONG, noise_s=NOISE_S), piece


@pytest.mark.parametrize("name", ["password", "token", "secret"])
def test_scanner__a_name_and_an_open_quote_again_and_again__takes_time_in_proportion_to_its_length(name):
    scan = partial(seconds, Scanner(), f'aA1{name}="a_')
    assert grows_less_than(LINEAR, scan, 20_000, 80_000, noise_s=NOISE_S)


SOURCE = Path(table.SOURCE).read_text("utf-8")
RULES = tomllib.loads(SOURCE)["rules"]


def test_table__rules__are_named_once_and_say_where_the_format_is_published():
    ids = [rule["id"] for rule in RULES]
    assert len(ids) == len(set(ids))
    for rule in RULES:
        assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", rule["id"])
        assert rule["source"].startswith("https://"), rule["id"]
        assert rule["description"]
        assert rule["keywords"] or rule["min_word"] >= 40, f"{rule['id']} would be tried on everything"
        assert re.compile(rule["regex"]).groups >= rule.get("group", 0)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r["id"])
def test_rule__its_expression__is_linear_by_its_form(rule):
    assert not lint.complaints(rule["regex"])
