"""Hypothesis strategies for conversation rows, in every interface's and client's shape, and malformed ones.

from tests.support.rows import FORMS, kept, strings

@given(FORMS["messages"])
def test_importer__any_row__loses_no_string(row):
    journal = my_import([row])
    assert all(kept(text, journal) for text in strings(row))
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hypothesis import strategies as st

#: Members that link or steer a row or block, and are not content.
LINKS: Final = frozenset(
    {
        "type",
        "id",
        "role",
        "call_id",
        "tool_use_id",
        "tool_call_id",
        "callID",
        "sessionId",
        "sessionID",
        "status",
        "name",
    }
)

_WORDS: Final = st.text("abc \u00e9\u00df\u4e2d\U0001f469\n\t:.{[<", min_size=1, max_size=30).map(
    lambda s: f"leaf {s} end"
)
_LONG: Final = st.integers(4_001, 9_000).map(lambda n: "x" * n)


def words() -> st.SearchStrategy[str]:
    """Strings worth keeping. Any length, often several lines, sometimes too long to be kept whole."""
    return st.one_of(_WORDS, _WORDS, _WORDS, _LONG, st.integers().map(lambda n: f"word{n}"))


def values() -> st.SearchStrategy[Any]:
    """Any JSON value."""
    scalars = st.one_of(words(), st.integers(-(10**9), 10**9), st.booleans(), st.none())
    return st.recursive(
        scalars,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_names(), inner, max_size=3)),
        max_leaves=6,
    )


def _names() -> st.SearchStrategy[str]:
    return st.sampled_from(("title", "body", "note", "path", "items", "source", "data", "lines", "query", "command"))


def _block(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(members)


def _is(kind: str) -> st.SearchStrategy[str]:
    return st.just(kind)


def blocks() -> st.SearchStrategy[Any]:
    """A content block of a known type, of an unknown one, or something that is not a block at all."""
    picture = _block(type=_is("base64"), media_type=_is("image/png"), data=_WORDS)
    return st.one_of(
        words(),
        _block(type=_is("text"), text=words()),
        _block(type=_is("text"), text=words(), citations=values()),
        _block(type=_is("refusal"), refusal=words()),
        _block(type=_is("reasoning"), text=words()),
        _block(type=_is("thinking"), thinking=words()),
        _block(type=_is("image"), source=picture),
        _block(type=_is("document"), source=st.one_of(picture, values()), title=words()),
        _block(type=_is("tool_use"), id=_is("t1"), name=_is("edit"), input=values()),
        _block(type=_is("tool_result"), tool_use_id=_is("t1"), content=values()),
        _block(type=_is("text"), text=words(), id=_WORDS, status=st.lists(_WORDS), signature=_WORDS),
        _block(type=_is("hologram"), payload=values()),
        st.dictionaries(_names(), values(), max_size=3),
        values(),
    )


def contents() -> st.SearchStrategy[Any]:
    """What may be under ``content``."""
    return st.one_of(words(), blocks(), st.lists(blocks(), max_size=4), values())


def messages() -> st.SearchStrategy[dict[str, Any]]:
    """A row of the Chat Completions or the Messages interface."""
    call = st.fixed_dictionaries(
        {"id": _is("c1"), "function": st.fixed_dictionaries({"name": _is("edit"), "arguments": words()})}
    )
    return st.fixed_dictionaries(
        {"role": st.sampled_from(("user", "assistant", "tool")), "content": contents()},
        optional={
            "tool_calls": st.lists(call, max_size=2),
            "refusal": words(),
            "reasoning_content": words(),
            "annotations": values(),
            "id": st.one_of(_is("m1"), _WORDS),
            "status": _WORDS,
            "usage": st.dictionaries(_WORDS, st.one_of(_WORDS, st.none()), max_size=2),
        },
    )


def items() -> st.SearchStrategy[dict[str, Any]]:
    """An item of the Responses interface."""
    part = st.one_of(
        _block(type=_is("input_text"), text=words()),
        _block(type=_is("output_text"), text=words(), annotations=values()),
        _block(type=_is("input_image"), image_url=words()),
        _block(type=_is("refusal"), refusal=words()),
    )
    return st.one_of(
        _block(type=_is("message"), role=st.sampled_from(("user", "assistant")), content=st.lists(part, max_size=3)),
        _block(type=_is("function_call"), call_id=_is("c1"), name=_is("edit"), arguments=words()),
        _block(type=_is("function_call_output"), call_id=_is("c1"), output=values()),
        _block(type=_is("reasoning"), summary=st.lists(_block(type=_is("summary_text"), text=words()), max_size=2)),
        _block(type=_is("web_search_call"), action=values(), query=words()),
        _block(type=_is("hologram"), payload=values()),
    )


def claude_code() -> st.SearchStrategy[dict[str, Any]]:
    """A row of Claude Code's transcript."""
    speech = st.sampled_from(("user", "assistant")).flatmap(
        lambda role: _block(type=_is(role), sessionId=_is("s-1"), message=_block(role=_is(role), content=contents()))
    )
    return st.one_of(speech, _block(type=_is("hologram"), sessionId=_is("s-1"), message=values(), content=words()))


def codex() -> st.SearchStrategy[dict[str, Any]]:
    """A row of Codex's rollout."""
    return st.one_of(
        _block(type=_is("response_item"), payload=items()),
        _block(type=_is("hologram"), payload=_block(content=values())),
    )


def opencode() -> st.SearchStrategy[dict[str, Any]]:
    """A message of opencode."""
    ended = st.one_of(
        _block(status=_is("completed"), input=values(), output=words()),
        _block(status=_is("error"), input=values(), error=words()),
        _block(status=_is("running"), input=values()),
    )
    part = st.one_of(
        _block(type=_is("text"), text=words()),
        _block(type=_is("reasoning"), text=words()),
        _block(type=_is("file"), mime=_is("text/plain"), url=words(), filename=words()),
        _block(type=_is("tool"), tool=_is("edit"), callID=_is("c1"), state=ended),
        _block(type=_is("hologram"), payload=values()),
        values(),
    )
    return _block(
        info=_block(role=st.sampled_from(("user", "assistant")), sessionID=_is("ses_1")),
        parts=st.lists(part, max_size=3),
    )


FORMS: Final[Mapping[str, st.SearchStrategy[dict[str, Any]]]] = {
    "messages": messages(),
    "responses": items(),
    "claude-code": claude_code(),
    "codex": codex(),
    "opencode": opencode(),
}
"""A strategy for one row, by interface or client."""


def strings(row: object) -> Iterator[str]:
    """The strings in ``row`` that must not be lost: all but blank ones and single words under :data:`LINKS`."""
    if isinstance(row, str):
        if row.strip():
            yield row
    elif isinstance(row, Mapping):
        for name, value in row.items():
            if name not in LINKS or not isinstance(value, str) or len(value.split()) > 1:
                yield from strings(value)
    elif isinstance(row, list | tuple):
        for value in row:
            yield from strings(value)


def kept(text: str, journal: str) -> bool:
    """Whether ``journal`` holds ``text`` (ignoring white space at its ends) or its SHA-256 digest."""
    return text.strip() in journal or hashlib.sha256(text.encode()).hexdigest() in journal
