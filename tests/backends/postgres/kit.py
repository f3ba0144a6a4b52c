"""Stores on the shared cluster, for the conformance suite: a namespace for each project folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast_postgres.backend import PostgresBackend

if TYPE_CHECKING:
    from tests.backends.postgres.cluster import Cluster

FACTORY = "tests.backends.postgres.kit:open_store"
_ADDRESS = "POSTGRES_UNDER_TEST"


def server() -> Cluster:
    """The cluster of this test process. Its children need no pytest."""
    from tests.backends.postgres.cluster import shared

    cluster = shared()
    os.environ[_ADDRESS] = cluster.url()
    return cluster


def namespace(root: Path | str) -> str:
    return os.path.realpath(root).replace(os.sep, ".")[-150:]


def open_store(root: Path | str) -> PostgresBackend:
    """The store of a project; child processes find the server in the environment."""
    address = os.environ.get(_ADDRESS) or server().url()
    return PostgresBackend(root, server=address, namespace=namespace(root))
