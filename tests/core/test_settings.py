"""Settings as values: immutable, checked, with a default for each key."""

import pytest

from holdfast.config.serde import structure
from holdfast.errors import ConfigError
from holdfast_app.config import Config

# reading


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
