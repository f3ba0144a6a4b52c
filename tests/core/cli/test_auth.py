"""``holdfast auth`` and where keys come from, with a keyring of the test's own behind the real library."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import ClassVar

import keyring
import keyring.backends.fail
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

from holdfast import secrets
from holdfast.errors import BadValue, NotFound


class Kept(KeyringBackend):
    """A keyring in memory."""

    priority: ClassVar[float] = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringLocked("locked: s3cret")
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise KeyringLocked
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if (service, username) not in self.held:
            raise PasswordDeleteError
        del self.held[service, username]


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    for names in secrets.USUAL_VARIABLES.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    before, ours = keyring.get_keyring(), Kept()
    keyring.set_keyring(ours)
    yield ours
    keyring.set_keyring(before)


def test_auth_set__piped_in__kept_found_and_never_printed(run, kept):
    done = run("auth", "set", "openai", stdin="s3cret\n")
    assert done.code == 0
    assert kept.held == {("holdfast", "openai"): "s3cret"}
    assert secrets.get("openai") == "s3cret"
    status = run("auth", "status")
    assert "keyring" in status.out
    told = run("auth", "status", "--json")
    assert {"name": "openai", "where": "keyring"} in told.json["keys"]
    assert all("s3cret" not in text for r in (done, status, told) for text in (r.out, r.err))


def test_auth_set__at_a_terminal__asked_unseen(run, kept, monkeypatch):
    import getpass

    monkeypatch.setattr(getpass, "getpass", lambda prompt: "typed")
    monkeypatch.setattr("holdfast.cli.auth.sys.stdin", type("Tty", (), {"isatty": lambda self: True})())
    from holdfast.cli import main

    assert main(["auth", "set", "anthropic"]) == 0
    assert kept.held == {("holdfast", "anthropic"): "typed"}
    assert sys.stdin is not None


def test_auth_set__environment_wins__said_so(run, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "from env")
    assert "OPENAI_API_KEY is set in the environment" in run("auth", "set", "openai", stdin="x").out
    assert secrets.get("openai") == "from env"
    monkeypatch.setenv("HOLDFAST_OPENAI_KEY", " first ")
    assert secrets.get("openai") == "first"
    assert "environment: HOLDFAST_OPENAI_KEY" in run("auth", "status", "openai").out


def test_auth_remove__kept_key__gone_and_unknown_told(run, kept):
    run("auth", "set", "openai", stdin="x")
    assert run("auth", "remove", "openai").code == 0
    assert kept.held == {}
    done = run("auth", "remove", "openai")
    assert done.code == 1
    assert "no key for 'openai'" in done.err


@pytest.mark.parametrize(
    ("words", "stdin"), [(["set"], "x"), (["set", "openai"], " \n"), (["set", "../x"], "x"), (["show", "openai"], "")]
)
def test_auth__bad_input__exit_2(run, kept, words, stdin):
    assert run("auth", *words, stdin=stdin).code == 2
    assert kept.held == {}


def test_auth__no_keyring_on_this_machine__clear_words_and_the_way_around(run):
    keyring.set_keyring(keyring.backends.fail.Keyring())
    done = run("auth", "set", "openai", stdin="x")
    assert done.code == 3
    assert "This machine has no keyring" in done.err
    assert "HOLDFAST_<NAME>_KEY" in done.err
    assert "no keyring" in run("auth", "status").out
    assert run("auth", "status", "--json").json["keyring"] is False
    assert secrets.get("openai") is None


def test_auth__locked_keyring__clear_words_without_what_it_said(run, kept):
    kept.locked = True
    done = run("auth", "set", "openai", stdin="x")
    assert done.code == 3
    assert "KeyringLocked" in done.err
    assert "s3cret" not in done.err
    with pytest.raises(secrets.KeyringUnusable):
        secrets.get("openai")


def test_keyring_library_missing__counts_as_no_key_and_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert secrets.get("openai") is None
    with pytest.raises(secrets.KeyringUnusable, match=r"holdfast\[auth\]"):
        secrets.store("openai", "x")


def test_secrets__names_and_blank_keys__refused(kept):
    for name in ("", "A", "a b", "../x"):
        with pytest.raises(BadValue):
            secrets.variables(name)
    with pytest.raises(BadValue):
        secrets.store("openai", " ")
    with pytest.raises(NotFound):
        secrets.remove("openai")
