"""``holdfast auth`` and where keys come from, with a keyring of the test's own behind the real library."""

import os
from pathlib import Path
from unittest.mock import patch

import keyring
import keyring.backends.fail
import pytest
from tests.support import file_keyring
from tests.support.trusting import trusted

from holdfast.fs import userdir
from holdfast_app.project_settings import resolved, trust
from holdfast_app.trust import trusting
from holdfast_keys import secrets


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path):
    for names in secrets.USUAL_VARIABLES.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    return file_keyring.chosen(monkeypatch, tmp_path / "keyring.json")


OWN = "https://api.openai.com"


def test_auth_set__piped_in__kept_for_the_providers_address_and_never_printed(run, kept):
    done = run("auth", "set", "openai", stdin="s3cret\n")
    assert done.code == 0
    assert OWN in done.out
    assert secrets.stored("openai") == {OWN: "s3cret"}
    assert secrets.get("openai") == secrets.get("openai", origin=OWN) == "s3cret"
    status = run("auth", "status")
    assert "keyring" in status.out
    assert f"for {OWN}" in status.out
    told = run("auth", "status", "--json")
    assert {"name": "openai", "where": "keyring", "origin": OWN} in told.json["keys"]
    assert {"name": "gitea", "where": None, "origin": None} in told.json["keys"]
    assert all("s3cret" not in text for r in (done, status, told) for text in (r.out, r.err))


def test_auth_set__gitea_without_an_origin__the_one_server_of_the_users_settings_or_refused(run, project, kept):
    done = run("auth", "set", "gitea", stdin="t")
    assert (done.code, "--origin" in done.err) == (2, True)
    (project / "holdfast.toml").write_text('[storage]\nbackend = "gitea"\nserver = "https://evil.example.org"\n')
    assert run("auth", "set", "gitea", stdin="t").code == 2  # the project's word does not count
    assert kept.held == {}
    config = Path(userdir.path(userdir.CONFIG_FILE))
    config.parent.mkdir(parents=True)
    config.write_text('[plugins.gitea_trail]\nserver = "https://git.example.org/"\n')
    assert run("auth", "set", "gitea", stdin="t").code == 0
    assert secrets.stored("gitea") == {"https://git.example.org": "t"}
    trusted(project)
    assert run("auth", "set", "gitea", stdin="t").code == 2  # two servers now
    config.write_text("")
    assert run("auth", "set", "gitea", stdin="u").code == 0  # the user trusted what the project says
    assert secrets.get("gitea", origin="https://evil.example.org") == "u"


@pytest.mark.parametrize("origin", ["git.example.org", "https://me:pw@x.org", "ftp://x.org", "https://x.org\\@y.org"])
def test_auth_set__origin_that_is_none__exit_2(run, kept, origin):
    done = run("auth", "set", "gitea", "--origin", origin, stdin="t")
    assert done.code == 2
    assert "pw" not in done.err
    assert kept.held == {}


def test_get__key_in_the_environment__for_any_address_but_one_that_only_the_project_names(project, run):
    setting, address = "plugins.openai.base_url", "https://gateway.example.org"

    def get(**more):
        with patch.dict(os.environ, {"OPENAI_API_KEY": "k", **more}):
            return secrets.get("openai", origin=address, root=project, settings=(setting,))

    assert get() == "k"  # the calling program chose it
    (project / "holdfast.toml").write_text(f'[plugins.openai]\nmodel = "m"\nbase_url = "{address}/v1"\n')
    with pytest.raises(secrets.AddressNotTrusted, match="only this project") as caught:
        get()
    assert "holdfast trust" in caught.value.next_step
    assert get(HOLDFAST_PLUGINS__OPENAI__BASE_URL=address + "/other") == "k"
    assert get(HOLDFAST_TRUST=trust.digest(resolved.portable(str(project)))) == "k"
    with pytest.raises(secrets.AddressNotTrusted):
        get(HOLDFAST_TRUST="0" * 64)
    assert run("auth", "set", "openai", "--origin", address, stdin="bound").code == 0
    assert get() == "bound"  # set for this very address
    trusted(project)
    assert get() == "k"
    trusting.revoke(str(project))
    run("auth", "remove", "openai")
    config = Path(userdir.path(userdir.CONFIG_FILE))
    config.write_text(f'[plugins.openai]\nbase_url = "{address}"\n')
    assert get() == "k"
    config.write_text('[plugins.anthropic]\nbase_url = "https://gateway.example.org"\n')  # another key's address
    with pytest.raises(secrets.AddressNotTrusted):
        get()


def test_auth__no_keyring_on_this_machine__clear_words_and_the_way_around(run):
    keyring.set_keyring(keyring.backends.fail.Keyring())
    done = run("auth", "set", "openai", stdin="x")
    assert (done.code, "This machine has no keyring" in done.err) == (3, True)
    assert "HOLDFAST_<NAME>_KEY" in done.err
    assert "no usable keyring" in run("auth", "status").out
    assert run("auth", "status", "--json").json["keyring"] is False
    assert secrets.get("openai") is None
