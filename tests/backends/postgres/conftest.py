"""The shared cluster, stores on it, and a proxy in front of it."""

from collections.abc import Iterator

import pytest
from tests.backends.postgres.cluster import DATABASE, Cluster, shared
from tests.backends.postgres.proxy import Proxy

from holdfast_postgres.backend import PostgresBackend


@pytest.fixture
def cluster() -> Cluster:
    return shared()


class Opened:
    """Opens stores; all of them are closed when the test ends."""

    def __init__(self) -> None:
        self._stores: list[PostgresBackend] = []

    def __call__(
        self,
        cluster: Cluster,
        namespace: str,
        *,
        user: str = "hf",
        port: int = 0,
        timeout_s: float = 10.0,
        database: str = DATABASE,
    ) -> PostgresBackend:
        server = cluster.url(user, database, port)
        self._stores.append(PostgresBackend(".", server=server, namespace=namespace, timeout_s=timeout_s))
        return self._stores[-1]

    def close(self) -> None:
        for store in self._stores:
            store.close()


@pytest.fixture
def opened() -> Iterator[Opened]:
    stores = Opened()
    yield stores
    stores.close()


@pytest.fixture
def proxy(cluster) -> Iterator[Proxy]:
    one = Proxy(cluster.port)
    yield one
    one.close()
