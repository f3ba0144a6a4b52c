"""The settings of the store in issues, and where its token comes from."""

import pytest

from holdfast.errors import ConfigError
from holdfast_gitea.backend import from_options

REPO = "agent/memory"
UNSAFE = (
    "http://x.org", "x.org", "ftp://x.org", "", "https://me:pw@x.org", "https://x.org/?token=x", "http://127.0.0.1.x.org",
)  # fmt: skip


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"repository": REPO}, "server"),
        ({"server": "https://x.org"}, "repository"),
        ({"server": 3, "repository": REPO}, "server"),
        ({"server": "https://x.org", "repository": "memory"}, "repository"),
        *(({"server": server, "repository": REPO}, "server") for server in UNSAFE),
        ({"server": "https://x.org", "repository": REPO, "timeout_s": True}, "timeout_s"),
        ({"server": "https://x.org", "repository": REPO, "insecure_http": 1}, "insecure_http"),
    ],
)
def test_from_options__not_usable__config_error_names_the_key(tmp_path, monkeypatch, options, named):
    monkeypatch.setenv("HOLDFAST_GITEA_TOKEN", "t")
    with pytest.raises(ConfigError, match=named) as caught:
        from_options(tmp_path, ".holdfast", options)
    assert caught.value.next_step
    assert "pw" not in str(caught.value)
