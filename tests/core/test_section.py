"""Settings as values: immutable, checked, with a default for each key."""

from __future__ import annotations

import copy
import pickle

import pytest

from holdfast.config.layout import Layout
from holdfast.config.values import Config, FlushConfig, PluginConfig, RetentionConfig, SessionConfig, StorageConfig


def test_section__no_keys_given__has_the_defaults() -> None:
    assert Config().flush == FlushConfig(policy="lenient", strict_blocks=3)
    assert Config() == Config(layout=Layout(preset="default"))
    assert hash(FlushConfig()) == hash(FlushConfig(strict_blocks=3))
    assert repr(FlushConfig()) == "FlushConfig(policy='lenient', strict_blocks=3)"


def test_section__of_another_class_or_value__is_not_equal() -> None:
    assert FlushConfig(strict_blocks=2) != FlushConfig()
    assert Config() != Layout()
    assert StorageConfig() != PluginConfig()


def test_section__a_key_changed__raises() -> None:
    with pytest.raises(AttributeError):
        FlushConfig().policy = "strict"  # type: ignore[misc]


def test_section__unknown_key__raises() -> None:
    with pytest.raises(TypeError, match="no key 'polcy'"):
        FlushConfig(polcy="strict")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FlushConfig(policy="x"), "must be one of lenient, strict, not 'x'"),
        (lambda: FlushConfig(strict_blocks=0), "must be >= 1, not 0"),
        (lambda: SessionConfig(idle_minutes=float("nan")), "must be > 0, not nan"),
        (lambda: PluginConfig(deadline_s=0), "must be > 0, not 0"),
        (lambda: RetentionConfig().evolve(journal=-1), "must be >= 0, not -1"),
        (lambda: Config(zone="Mars"), "'Mars' is not a time zone"),
    ],
)
def test_section__unusable_value__raises(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=message):
        make()


def test_evolve__some_keys__keeps_the_others() -> None:
    changed = FlushConfig(strict_blocks=2).evolve(policy="strict")
    assert changed == FlushConfig(policy="strict", strict_blocks=2)


def test_section__copied_or_pickled__is_equal() -> None:
    made = Config(zone="UTC", flush=FlushConfig(policy="strict"), layout=Layout(preset="timmy"))
    assert copy.deepcopy(made) == made == pickle.loads(pickle.dumps(made))
