"""The laws of what is put into a file: twice is once, and taken out again nothing of it is left."""

import json
from typing import Any

from hypothesis import given
from hypothesis import settings as law
from hypothesis import strategies as st

from holdfast_agents.setup import jsontext

LAW = law(max_examples=30)


# one place of a JSON text, and no other byte

KEYS = st.text(max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)
INDENTS = st.sampled_from([None, 2, 4, "\t", 0])


def texts() -> st.SearchStrategy[tuple[dict[str, Any], str]]:
    """An object, and a way to write it."""
    return st.builds(
        lambda value, indent, crlf, ascii_only: (
            value,
            json.dumps(value, indent=indent, ensure_ascii=ascii_only).replace("\n", "\r\n" if crlf else "\n"),
        ),
        OBJECTS,
        INDENTS,
        st.booleans(),
        st.booleans(),
    )


@LAW
@given(texts(), KEYS, VALUES)
def test_put__any_object__is_what_it_was_and_the_new_member(written, key, value):
    old, text = written
    new = jsontext.put(text, (key,), value, "x")
    assert json.loads(new) == {**old, key: value}
    if key not in old:
        assert jsontext.remove(new, (key,), "x") == text
