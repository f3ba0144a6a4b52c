"""The kit finds faults that databases have by default."""

import attrs
import pytest

from holdfast.testing import StorageContract
from holdfast_sqlite.backend import SqliteBackend


class Faulty(SqliteBackend):
    """Cuts long text, and sorts in UTF-16."""

    def write(self, name, text, expected=None):
        return super().write(name, text[:65_535], expected)

    def add_fact(self, fact, limit):
        return super().add_fact(attrs.evolve(fact, content=fact.content[:255]), limit)

    def names(self, prefix=""):
        return sorted(super().names(prefix), key=lambda name: name.encode("utf-16-be"))


def test_kit__store_that_cuts_text_and_sorts_otherwise__is_found(tmp_path):
    kit, store = StorageContract(), Faulty(tmp_path)
    with pytest.raises(AssertionError):
        kit.test_d8_names__any_prefix__exactly_those_sorted(store)
    with pytest.raises(AssertionError):
        kit.test_d2_write__text_over_64_kib__reads_the_same(store, lambda: store)
    with pytest.raises(AssertionError):
        kit.test_f12_text__long__comes_back_as_given(store, lambda: store)
