"""Finding what was to go: quick where it cannot be, and never at the price of missing it."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast_app.privacy.transforms import Needle, any_in_bytes, fold, in_file

_TEXT = st.text('…[]aAbBkK\u212a\ufb01fi\u00e9e\u0301\u0338< \n_0159-\\"\u00df\U0001f642', min_size=2, max_size=12)
_DRESS = st.sampled_from(
    [
        lambda text: text.encode(),
        lambda text: text.upper().encode(),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16"),
        lambda text: json.dumps(text).encode(),
        lambda text: json.dumps(json.dumps(text)).encode(),
        lambda text: "".join(f"\\U{ord(char):08x}" for char in text).encode(),
        lambda text: text.replace(" ", " \n ").encode(),
    ]
)


@given(_TEXT.filter(lambda text: fold(text)), _TEXT, _DRESS, st.just(b"\xff |"))
def test_any_in_bytes__any_needle_in_any_form__is_found_where_it_is(text, other, dress, around):
    assert any_in_bytes([Needle(text)], around + dress(f" {text} ") + around)
    assert any_in_bytes([Needle(text)], dress(other)) or fold(text) not in fold(other)


@pytest.mark.parametrize("cut", range(3, 12))
def test_needle__cut_by_an_excerpt__is_found_on_the_side_with_most_of_it(cut):
    """The excerpt of a long tool result kept both halves of a name, and a purge reported that nothing was left."""
    text = "Zelda Quimby"
    excerpt = f"first {text[:cut]}\n[… 9 of 99 characters left out; sha256 00 …]\n{text[cut:]} last"
    needle = Needle(text)
    assert needle.in_text(excerpt) == needle.in_bytes(excerpt.encode()) == (cut not in range(5, 8))


def test_in_file__of_2_megabytes__found_wherever_it_is_and_memory_stays_flat(tmp_path):
    path = tmp_path / "big"
    for at in (1_048_570, 1_799_000):
        data = bytearray(b"caf\xc3\xa9 and more \0\n" * 100_000)
        data[at : at + 22] = b"flush_00112233aabbccdd"
        path.write_bytes(data)
        assert in_file(str(path), [Needle("flush_00112233aabbccdd")])
    del data
    tracemalloc.start()
    assert not in_file(str(path), [Needle("flush_0000000000000001")])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20
