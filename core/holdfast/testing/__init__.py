"""Tests for authors of plugins and backends. They need pytest and hypothesis, unlike the rest of holdfast.

A storage backend is checked against every clause of docs/storage-contract.md by a short class::

    from holdfast.testing import StorageContract

    class TestMyBackend(StorageContract):
        factory = "my_backend.store:open_store"  # called with a folder, here and in other processes

``factory`` names an importable function that takes an empty project folder's path and returns the backend. Called
again with the same folder, it opens the same store. A store that lives elsewhere (a server, say) keeps its address in
that folder. Override :meth:`StorageContract.corrupt_document`, ``corrupt_facts`` and ``unwritable`` to have the error
clauses checked too; without them those tests are skipped.

A forge is checked likewise by :class:`ForgeContract`. ``holdfast plugin new NAME --kind backend`` (or ``forge``) writes
a complete example with its tests.

``holdfast.testing.strategies`` has the Hypothesis strategies for hard text, names and facts.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.testing.documents import DocumentContract as DocumentContract
    from holdfast.testing.facts import FactContract as FactContract
    from holdfast.testing.forges import ForgeContract as ForgeContract
    from holdfast.testing.optional import OptionalContract as OptionalContract
    from holdfast.testing.processes import ProcessContract as ProcessContract
    from holdfast.testing.processes import StorageContract as StorageContract

_WHERE = {
    "DocumentContract": "documents",
    "FactContract": "facts",
    "ForgeContract": "forges",
    "OptionalContract": "optional",
    "ProcessContract": "processes",
    "StorageContract": "processes",
}
__all__ = list(_WHERE)

if "pytest" in sys.modules:  # not in the worker processes, which do without
    import pytest

    pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in ("base", "machine", *set(_WHERE.values()))))


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'holdfast.testing' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"holdfast.testing.{_WHERE[name]}"), name)
