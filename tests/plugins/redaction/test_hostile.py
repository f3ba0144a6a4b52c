"""No rule runs away: each one alone, by the plugin's own matching code, on text made against it. Ratios, not times."""

from __future__ import annotations

import re
import string
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.growth import grows_less_than

from holdfast_redaction.patterns import Budget
from holdfast_redaction.layers.exact import Formats
from holdfast_redaction.layers.presence import Keywords
from holdfast_redaction.rules import table

RULES = tomllib.loads(Path(table.SOURCE).read_text("utf-8"))["rules"]
IDS = [rule["id"] for rule in RULES]
CLASS = re.compile(r"\[(?:\\.|[^\]\\])+\]|\\[wdS]")
CHARACTERS = string.ascii_letters + string.digits + "_-+/=.~%"
#: A rule that takes time in proportion to the text takes four times as long for four times the text, and some noise.
GROWTH, LINEAR, NOISE_S = 4, 8.0, 0.05

Make = Callable[[int], str]


def repeated(piece: str) -> Make:
    return lambda size: (piece * (size // len(piece) + 1))[:size]


def classes(regex: str) -> list[str]:
    """The characters that each character class of an expression accepts."""
    flags = re.IGNORECASE if regex.startswith("(?i)") else 0
    accepted = {"".join(c for c in CHARACTERS if re.fullmatch(found, c, flags)) for found in CLASS.findall(regex)}
    return sorted(accepted - {""})


def hostile(rule: dict) -> Iterator[tuple[str, int, Make]]:
    """What is written against a rule, how long, and the text of a given length."""
    apart = rule.get("after", " ")[0]
    for keyword in rule["keywords"][:1]:
        yield "its keyword repeated", 128_000, repeated(keyword)
        yield "its keyword repeated, each where a match may begin", 256_000, repeated(apart + keyword)
    for keyword in rule["keywords"][:2] or [""]:
        for accepted in classes(rule["regex"]):
            run = repeated(accepted)
            yield (
                f"{keyword} and {accepted[:8]}...",
                1_000_000,
                lambda size, k=keyword, run=run: (apart + k + run(size))[:size],
            )
    yield "one letter", 1_000_000, repeated("a")


def seconds(formats: Formats, rule: dict, index: int, text: str) -> float:
    lower = text.lower()
    in_lower = rule["regex"].startswith("(?i)")
    present = tuple((k, (index,)) for k in rule["keywords"] if k in (lower if in_lower else text))
    keywords = Keywords(() if in_lower else present, present if in_lower else ())
    budget = Budget(len(text))
    started = time.process_time()
    formats.find(text, lower, keywords, budget)
    return time.process_time() - started


@pytest.mark.req("R240")
@pytest.mark.parametrize("index", range(len(RULES)), ids=IDS)
def test_rule__text_against_it__takes_time_in_proportion_to_its_length(index: int) -> None:
    rule = RULES[index]
    assert table.RULES[index][0] == rule["id"]
    alone = Formats(disabled=frozenset(IDS) - {rule["id"]})
    seconds(alone, rule, index, "".join(rule["keywords"]) or "a" * 60)  # compiled before it is timed
    for name, size, make in hostile(rule):
        short, long = make(size // GROWTH), make(size)
        assert grows_less_than(  # raises when the plugin's own budget is exceeded
            LINEAR,
            lambda t=short: seconds(alone, rule, index, t),
            lambda t=long: seconds(alone, rule, index, t),
            noise_s=NOISE_S,
        ), name
