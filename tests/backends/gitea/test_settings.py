"""The settings of the store in issues, and where its token comes from."""

import pytest

import holdfast_gitea
from holdfast.config.values import StorageConfig
from holdfast.errors import ConfigError
from holdfast_gitea.backend import GiteaBackend, from_options

REPO = "agent/memory"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"repository": REPO}, "server"),
        ({"server": "https://x.org"}, "repository"),
        ({"server": 3, "repository": REPO}, "server"),
        ({"server": "https://x.org", "repository": "memory"}, "repository"),
        ({"server": "http://x.org", "repository": REPO}, "server"),
        ({"server": "https://x.org", "repository": REPO, "timeout_s": True}, "timeout_s"),
        ({"server": "https://x.org", "repository": REPO, "insecure_http": 1}, "insecure_http"),
    ],
)
def test_from_options__not_usable__config_error_names_the_key(tmp_path, options, named):
    with pytest.raises(ConfigError, match=named):
        from_options(tmp_path, ".holdfast", options, {"HOLDFAST_GITEA_TOKEN": "t"})


def test_hook__gitea__the_backend(gitea, tmp_path, monkeypatch):
    monkeypatch.setenv("GITEA_TOKEN", gitea.token)
    config = StorageConfig(backend="gitea", options={"server": gitea.url, "repository": REPO})
    store = holdfast_gitea.storage_backend(config, tmp_path)
    assert isinstance(store, GiteaBackend)
    store.close()
