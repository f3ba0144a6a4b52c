"""The shared cluster, stores on it, and a proxy in front of it."""

import io
from collections.abc import Callable, Iterator

import pytest
from tests.backends.postgres.cluster import DATABASE, Cluster, shared
from tests.backends.postgres.proxy import Proxy

from holdfast_cli import main
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


@pytest.fixture
def command(tmp_path, monkeypatch, capsys) -> Callable[..., tuple[int, str]]:
    """``command(url, namespace, *words)``: a command's exit code, and its stdout with stderr."""

    def run(url: str, namespace: str, *words: str) -> tuple[int, str]:
        for name, value in (("BACKEND", "postgres"), ("SERVER", url), ("NAMESPACE", namespace)):
            monkeypatch.setenv(f"HOLDFAST_STORAGE__{name}", value)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
        code = main(["--root", str(tmp_path), *words])
        told = capsys.readouterr()
        return code, told.out + told.err

    return run
