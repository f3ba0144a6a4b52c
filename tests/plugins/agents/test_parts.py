"""The laws of what is put into a file: twice is once, and taken out again nothing of it is left."""

import json
from typing import Any

from hypothesis import given
from hypothesis import settings as law
from hypothesis import strategies as st

from holdfast_agents.clientfiles import is_ours
from holdfast_agents.setup import claude_code, codex, jsontext
from holdfast_agents.setup.client import hooks

#: Hooks as people have them: of others, of ours in any form, and odd ones.
HOOK = st.sampled_from(
    [
        {"type": "command", "command": "./mine.sh"},
        {"type": "command", "command": "holdfast hook claude-code"},
        {"type": "command", "command": "'/opt/my env/bin/python' -m holdfast hook claude-code || exit 2", "timeout": 5},
        {"type": "command", "command": '"C:/Program Files/py/holdfast" hook claude-code'},
        {"type": "command", "command": "holdfast hook codex"},
        {"type": "http", "url": "http://localhost"},
        "odd",
    ]
)
GROUP = st.fixed_dictionaries({"hooks": st.lists(HOOK, max_size=3)}, optional={"matcher": st.just("auto")})
EVENTS = st.sampled_from(["PreCompact", "Stop", "SubagentStop"])
SETTINGS = st.fixed_dictionaries(
    {}, optional={"model": st.just("opus"), "hooks": st.dictionaries(EVENTS, st.lists(GROUP, max_size=3), max_size=3)}
)
LAW = law(max_examples=30)
INDENT = st.sampled_from([None, 2, "\t"])


def of_others(settings: dict[str, Any], client: str) -> list[tuple[str, Any]]:
    """The hooks that are not holdfast's, in their order."""
    return [
        (event, hook)
        for event, groups in sorted(settings.get("hooks", {}).items())
        for group in groups
        for hook in group["hooks"]
        if not is_ours(hook, client)
    ]


@LAW
@given(SETTINGS, INDENT)
def test_hooks__put_into_any_settings__stand_there_once_and_those_of_others_stay(settings, indent):
    for client, part in (
        ("claude-code", hooks("claude-code", ("holdfast",), claude_code.EVENTS, guard="guard.sh")),
        ("codex", hooks("codex", ("holdfast",), {"PreCompact": 60, **codex.EVENTS})),
    ):
        text = json.dumps(settings, indent=indent)
        new = part.put(text, "x")
        assert part.put(new, "x") == new
        got = json.loads(new)
        assert of_others(got, client) == of_others(settings, client)
        for event, groups in got["hooks"].items():
            ours = [group for group in groups for hook in group["hooks"] if is_ours(hook, client)]
            assert ours == ([part.groups[event]] if event in part.groups else [])
        left = json.loads(part.take(new, "x") or "{}")
        assert of_others(left, client) == of_others(settings, client)
        assert not [
            h for groups in left.get("hooks", {}).values() for g in groups for h in g["hooks"] if is_ours(h, client)
        ]


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
