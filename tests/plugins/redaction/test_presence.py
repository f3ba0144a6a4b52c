"""Which keywords occur, found by what they have in common."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast_redaction.layers import presence
from holdfast_redaction.rules import _table
from holdfast_redaction.rules.parts import COMMON, STRANGE, parts

_TABLES = (_table.WORDS, _table.TEXT, _table.LOWER)
_KEYWORDS = [keyword for table in _TABLES for keyword, _ in table]
_pieces = st.one_of(
    st.sampled_from(_KEYWORDS),
    st.sampled_from(_KEYWORDS).map(str.upper),
    st.sampled_from(_KEYWORDS).map(lambda keyword: keyword[1:]),
    st.text(st.sampled_from("aep_-=: \nk"), max_size=20),
)


@given(st.lists(_pieces, max_size=12), st.sampled_from(["", " ", "x" * 16]))
def test_find__any_text__the_keywords_that_a_pass_for_each_finds(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    lower = text.lower()
    words = " ".join(word for word in text.split() if len(word) >= presence.LONG_WORD)
    found = presence.find(text, lower)
    assert found.exact == [r for r in _table.TEXT if r[0] in text] + [r for r in _table.WORDS if r[0] in words]
    assert found.lower == [row for row in _table.LOWER if row[0] in lower]


@pytest.mark.parametrize("chances", [COMMON, STRANGE])
@given(keywords=st.lists(st.text(st.sampled_from("abc_"), min_size=1, max_size=8), max_size=30, unique=True))
def test_parts__any_keywords__each_place_once_and_its_keyword_holds_the_part(
    chances: dict[int, float], keywords: list[str]
) -> None:
    made = parts(keywords, chances)
    assert sorted(place for _, places in made for place in places) == list(range(len(keywords)))
    assert all(part in keywords[place] for part, places in made for place in places)


def test_parts__of_the_table__fewer_passes_than_keywords() -> None:
    assert len(_table.PARTS) < len(_table.TEXT + _table.LOWER) * 2 / 3
    assert len(_table.PARTS_OF_WORDS) < len(_table.WORDS) / 2
