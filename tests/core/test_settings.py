"""Settings as values: immutable, checked, with a default for each key."""

import json
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.serde import structure, unstructure
from holdfast.errors import ConfigError
from holdfast.models import CuratedDecision, CuratedEntry, HandoffFields, Payload, Receipt, Written
from holdfast_app.config import Config

# reading

TEXT = st.text(max_size=8)
AT = st.datetimes(timezones=st.just(UTC))
WRITTEN = st.builds(Written, surface=TEXT, name=TEXT, revision=TEXT, sha256=TEXT, size=st.integers(min_value=0))
RECEIPT = st.builds(
    Receipt,
    flush_id=TEXT,
    session_id=TEXT,
    reason=TEXT,
    at=AT,
    written=st.lists(WRITTEN, max_size=2),
    derived=st.lists(TEXT, max_size=2),
)
PAYLOAD = st.builds(
    Payload,
    objective=st.none() | TEXT,
    facts=st.none() | st.lists(TEXT, max_size=2),
    handoff=st.none() | st.builds(HandoffFields, branch=TEXT, active_task=TEXT, blocker=TEXT, next_action=TEXT),
    curated=st.none()
    | st.builds(CuratedDecision, memory=st.lists(st.builds(CuratedEntry, text=TEXT, replaces=TEXT), max_size=2)),
)


@given(RECEIPT | PAYLOAD)
def test_read__what_was_written__is_the_same_value(value):
    assert structure(json.loads(json.dumps(unstructure(value))), type(value), what="It") == value


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"flush": {"polcy": "strict"}}, "flush.polcy: unknown key (did you mean `policy`?)"),
        ({"flush": {"policy": 3}}, "flush.policy: expected a string, got a whole number"),
        ({"flush": {"policy": "x"}}, "flush.policy: must be one of lenient, strict, not 'x'"),
        ({"flush": {"strict_blocks": True}}, "flush.strict_blocks: expected a whole number, got true or false"),
        ({"facts": {"threshold": "1"}}, "facts.threshold: expected a number, got a string"),
        ({"facts": []}, "facts: expected a table, got a list"),
        ({"trust": {"authors": ["a", 1]}}, "trust.authors[1]: expected a string, got a whole number"),
        ({"plugins": {"x": {"enabled": 1}}}, "plugins.x.enabled: expected true or false, got a whole number"),
        ({"zone": 1, "fact": {}}, "zone: expected a string, got a whole number; fact: unknown key"),
    ],
)
def test_read__a_value_that_does_not_fit__names_each_mistake_with_its_path(row, problem):
    with pytest.raises(ConfigError) as refused:
        structure(row, Config, what="It")
    assert problem in str(refused.value)
