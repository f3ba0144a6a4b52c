"""Stores on the shared cluster, for the conformance suite: a namespace for each project folder."""

import os
from pathlib import Path

from tests.backends.postgres.cluster import Cluster, shared

from holdfast import Holdfast
from holdfast_postgres.backend import PostgresBackend

FACTORY = "tests.backends.postgres.kit:open_store"
_ADDRESS = "POSTGRES_UNDER_TEST"


def server() -> Cluster:
    """The cluster of this test process."""
    cluster = shared()
    os.environ[_ADDRESS] = cluster.url()
    return cluster


def namespace(root: Path | str) -> str:
    return os.path.realpath(root).replace(os.sep, ".")[-150:]


def open_store(root: Path | str) -> PostgresBackend:
    """The store of a project; child processes find the server in the environment."""
    address = os.environ.get(_ADDRESS) or server().url()
    return PostgresBackend(root, server=address, namespace=namespace(root))


def everything(memory: Holdfast) -> tuple[object, ...]:
    """The documents, the facts, the log of facts and the sessions."""
    store = memory.store
    documents = {name: document.text for name in store.names() if (document := store.read(name))}
    return documents, list(store.backend.facts()), list(memory.facts.trail.entries()), memory.sessions()
