"""The settings of the store in issues, and where its token comes from."""

import pytest

from holdfast.errors import ConfigError
from holdfast_gitea.backend import from_options

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
