"""Which keywords occur."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast_redaction.layers import presence
from holdfast_redaction.rules import table

_KEYWORDS = [keyword for rows in (table.WORDS, table.TEXT, table.LOWER) for keyword, _ in rows]
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
    assert found.exact == [r for r in table.TEXT if r[0] in text] + [r for r in table.WORDS if r[0] in words]
    assert found.lower == [row for row in table.LOWER if row[0] in lower]
