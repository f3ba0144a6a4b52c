"""All clauses of the storage contract in one class to subclass."""

from __future__ import annotations

from holdfast.testing.documents import DocumentContract
from holdfast.testing.facts import FactContract
from holdfast.testing.optional import OptionalContract
from holdfast.testing.processes import ProcessContract


class StorageContract(DocumentContract, FactContract, OptionalContract, ProcessContract):
    """Every clause: documents and appends, facts, optional capabilities, errors, processes. Set ``factory``; see
    :mod:`holdfast.testing`."""
