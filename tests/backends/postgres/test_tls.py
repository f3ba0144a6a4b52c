"""TLS with an authority of the tests' own, and passwords from the environment, the keyring and a password file."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.backends.postgres.cluster import DATABASE, PASSWORD, USER, Cluster
from tests.support import file_keyring

from holdfast.api import HoldfastError, Outcome, Unavailable
from holdfast_keys import secrets
from holdfast_postgres.backend import PostgresBackend, from_options
from holdfast_postgres.checks import inspect


def own_address() -> str:
    """This machine's address on a network, as another machine would name it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no network address")
        return str(probe.getsockname()[0])


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def authority(folder: Path, name: str) -> Path:
    words = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    openssl(folder, *words, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    return folder / f"{name}.pem"


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory) -> Iterator[tuple[Cluster, Path]]:
    """A server with a certificate for ``localhost``, signed by ``ours.pem`` in the folder; it asks for passwords."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on this machine")
    folder = tmp_path_factory.mktemp("tls")
    authority(folder, "ours")
    authority(folder, "theirs")
    (folder / "san").write_text("subjectAltName=DNS:localhost\n")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    openssl(folder, "req", *curve, "-nodes", "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr")
    signed = ("-CA", "ours.pem", "-CAkey", "ours.key", "-CAcreateserial", "-days", "2", "-extfile", "san")
    openssl(folder, "x509", "-req", "-in", "server.csr", *signed, "-out", "server.pem")
    cluster = Cluster(auth="scram-sha-256", host="")
    for name in ("server.pem", "server.key"):
        cluster.owned(cluster.folder / "data" / name, (folder / name).read_bytes())
    for name, value in (("ssl_cert_file", "server.pem"), ("ssl_key_file", "server.key"), ("ssl", "on")):
        cluster.sql(f"ALTER SYSTEM SET {name} = '{value}'")
    cluster.sql("SELECT pg_reload_conf()")
    yield cluster, folder
    cluster.remove()


def opened(cluster: Cluster, host: str, options: str = "", password: str = PASSWORD) -> PostgresBackend:
    server = f"postgresql://{USER}@{host}:{cluster.port}/{DATABASE}{options}"
    return PostgresBackend(".", server=server, namespace="tls", password=lambda: password, timeout_s=5)


def test_tls__right_name_and_own_authority__encrypted(encrypted):
    cluster, folder = encrypted
    store = opened(cluster, "localhost", f"?sslmode=verify-full&sslrootcert={folder}/ours.pem")
    store.write("MEMORY.md", "- Encrypted.\n")
    assert store.read("MEMORY.md") is not None
    told = list(inspect(store.database))
    assert {check.outcome for check in told} == {Outcome.OK}
    assert "the connection is encrypted" in [check.message for check in told]
    assert "@" not in store.where("MEMORY.md")
    store.close()


@pytest.mark.parametrize(
    ("host", "options", "words", "step"),
    [
        ("127.0.0.1", "?sslmode=verify-full&sslrootcert={}/ours.pem", "certificate for another name", "storage.server"),
        ("localhost", "?sslmode=verify-full&sslrootcert={}/theirs.pem", "no trusted authority signed", "sslrootcert"),
        ("other", "", "no trusted authority signed", "sslrootcert"),
        ("localhost", "?sslmode=verify-full&sslrootcert={}/none.pem", "cannot be reached over TLS", "sslrootcert"),
    ],
)
def test_tls__wrong_name_or_unknown_authority__refused_with_a_next_step(encrypted, host, options, words, step):
    cluster, folder = encrypted
    store = opened(cluster, own_address() if host == "other" else host, options.format(folder))
    with pytest.raises(Unavailable, match=words) as caught:
        store.read("MEMORY.md")
    assert step in caught.value.next_step
    assert PASSWORD not in str(caught.value)


def test_tls__server_on_another_machine_has_none__nothing_is_sent():
    cluster = Cluster(host="")
    store = opened(cluster, own_address())
    with pytest.raises(Unavailable, match="offers no TLS") as caught:
        store.write("MEMORY.md", "x")
    assert "ssl = on" in caught.value.next_step
    plain = opened(cluster, own_address(), "?sslmode=disable")
    plain.write("MEMORY.md", "x")
    warned = [check.message for check in inspect(plain.database) if check.outcome is Outcome.WARN]
    assert warned == ["The connection crosses the network without encryption."]
    plain.close()
    cluster.remove()


def test_password__each_place__found_in_its_order_and_never_shown(encrypted, tmp_path, monkeypatch):

    cluster, _ = encrypted
    monkeypatch.setenv("HOME", str(tmp_path))
    file_keyring.chosen(monkeypatch, tmp_path / "keyring")
    for name in ("PGPASSWORD", "PGPASSFILE", "HOLDFAST_POSTGRES_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    options = {"server": f"postgresql://{USER}@localhost:{cluster.port}/{DATABASE}", "namespace": "tls"}

    def reads() -> str:
        store = from_options(tmp_path, ".holdfast", options)
        try:
            store.write("MEMORY.md", "x")
        except HoldfastError as error:
            return f"{error} {error.next_step}"
        finally:
            store.close()
        return "yes"

    refused = reads()
    assert "refuses the password" in refused
    assert "holdfast auth set postgres" in refused
    monkeypatch.setenv("HOLDFAST_POSTGRES_PASSWORD", PASSWORD)
    assert reads() == "yes"
    monkeypatch.setenv("HOLDFAST_POSTGRES_PASSWORD", "wrong")
    assert "refuses the password" in reads()
    monkeypatch.delenv("HOLDFAST_POSTGRES_PASSWORD")
    secrets.store("postgres", PASSWORD, f"postgresql://localhost:{cluster.port}")
    assert reads() == "yes"
    secrets.remove("postgres", None)
    secrets.store("postgres", PASSWORD, "postgresql://another.example")
    assert "refuses the password" in reads()
    passfile = tmp_path / ".pgpass"
    passfile.write_text(f"localhost:*:*:{USER}:{PASSWORD}\n")
    passfile.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passfile))
    assert reads() == "yes"
    monkeypatch.setenv("PGPASSFILE", os.devnull)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert reads() == "yes"
