"""Where the token goes: the real client between servers on loopback that record what reaches them."""

import pytest
from tests.support import file_keyring
from tests.support.gitea.fake_server import FakeServer
from tests.support.recorder import Recorder
from tests.support.trusting import trusted

from holdfast.errors import ConfigError
from holdfast_cli import main
from holdfast_gitea.backend import from_options
from holdfast_gitea.wire.client import Gitea
from holdfast_keys import secrets
from holdfast_keys.faults import Closed

REPO = "agent/memory"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch, tmp_path) -> None:
    """No token and no proxy in the environment; an empty keyring in a file."""
    for variable in (*secrets.variables("gitea"), *PROXIES, "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    file_keyring.chosen(monkeypatch, tmp_path / "keyring.json")


@pytest.mark.parametrize("status", [302, 308])
def test_request__redirected_to_another_server__nothing_reaches_it_and_the_next_step_is_told(status):
    with Recorder() as other, Recorder(status, {"Location": f"{other.url}/api/v1/version"}) as server:
        with Gitea(server.url, "t0ken") as gitea, pytest.raises(Closed, match="redirects") as caught:
            gitea.server_version()
        assert other.requests == []
        assert server.requests[0].headers["authorization"] == "token t0ken"
        assert other.url in caught.value.message
    assert "auth set gitea --origin" in caught.value.next_step


def test_request__proxies_in_the_environment__not_used_for_this_machine(monkeypatch):
    with Recorder() as proxy, Recorder(body=b'{"version": "1.26.3"}') as server:
        for name in PROXIES:
            monkeypatch.setenv(name, proxy.url)
        for address in (server.url, server.url.replace("127.0.0.1", "localhost")):
            with Gitea(address, "t0ken") as gitea:
                assert gitea.server_version() == "1.26.3"
        assert proxy.requests == []
        assert len(server.requests) == 2


def test_store__server_that_only_the_project_names__gets_no_token_until_it_is_trusted(project, monkeypatch):
    """The options are handed over as if they were in force: this is the second line of defence."""
    monkeypatch.setenv("GITEA_TOKEN", "t0ken")
    with FakeServer() as server:
        server.make_repo(REPO)
        options = {"server": server.url, "repository": REPO}
        lines = ["[storage]", 'backend = "gitea"', f'server = "{server.url}"', f'repository = "{REPO}"', ""]
        (project / "holdfast.toml").write_text("\n".join(lines))
        with pytest.raises(ConfigError, match="only this project's own settings name") as caught:
            from_options(project, ".holdfast", options)
        assert "holdfast trust" in caught.value.next_step
        trusted(project)
        monkeypatch.setenv("GITEA_TOKEN", server.token)
        store = from_options(project, ".holdfast", options)
        store.write("MEMORY.md", "- kept\n")
        store.close()


def test_token__of_another_server_in_the_keyring__not_sent_and_the_command_is_told(project):
    secrets.store("gitea", "t0ken", "https://git.example.org")
    with Recorder() as server:
        with pytest.raises(ConfigError, match=r"but for https://git\.example\.org") as caught:
            from_options(project, ".holdfast", {"server": server.url, "repository": REPO})
        assert f"`holdfast auth set gitea --origin {server.url}`" in caught.value.next_step
        assert server.requests == []


@pytest.mark.parametrize(("table", "key"), [("storage", "token"), ("plugins.gitea_trail", "password")])
def test_settings__token_written_there__error_says_where_it_belongs(project, capsys, table, key):
    (project / "holdfast.toml").write_text(f'[{table}]\n{key} = "s3cret-1"\n')
    for command in (["status"], ["config"], ["load"]):
        assert main(["--root", str(project), *command]) != 0
        told = capsys.readouterr()
        shown = " ".join((told.out + told.err).split())
        if command == ["config"]:  # agents read the others, so they quote nothing of the file
            assert f"{table}.{key}: a key does not belong in the settings" in shown
            assert "holdfast auth set" in shown
        else:
            assert "a mistake in line 2 of holdfast.toml" in shown
            assert "Run `holdfast config`" in shown
        assert "s3cret-1" not in shown
    (project / "holdfast.toml").unlink()
    assert main(["--root", str(project), "config", f"{table}.{key}", "s3cret-1"]) != 0
    assert not (project / "holdfast.toml").exists()
