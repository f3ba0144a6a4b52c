"""The laws of markers and of replaying, over anything that comments can hold."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.testing import strategies
from holdfast_gitea import marker


@given(text=st.one_of(strategies.documents(), st.text("`\n <>details/ab", max_size=60)), folded=st.booleans())
def test_framed__any_text__comes_back_and_is_intact(text, folded):
    note, more = (marker.readable(text), {"fold": 1}) if folded else ("Note.", {})
    body = marker.frame(note, text, id="r1", kind="blk", base="", **more)
    found = marker.framed(body)
    assert (found.text, found.intact, found.fields["id"]) == (text, True, "r1")
    assert "base" not in found.fields


@given(text=strategies.documents(), place=st.integers(0, 400), letter=st.sampled_from("x`\n- "))
def test_framed__a_letter_put_anywhere__never_another_text_that_is_intact(text, place, letter):
    body = marker.frame("Note.", text, id="r1", kind="ver")
    place %= len(body) + 1
    found = marker.framed(body[:place] + letter + body[place:])
    assert found is None or not found.intact or found.text == text
