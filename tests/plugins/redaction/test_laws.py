"""Laws that hold for every text."""

# ruff: noqa: E501
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast_redaction import redact

HEX = "0123456789abcdef"
HINTS = [
    "password", "the password is ", "token: ", "api_key=", "SECRET", '"', "'", " = ", ": ", "://", "@", "Bearer ",
    "[REDACTED:", "]", "\\n", "\n", "-----BEGIN ", "as the ", "{", "}", "$", "sk-", "ghp_", "eyJ", "hunter2", "İ",
    "Authorization",
]  # fmt: skip

pieces = st.lists(st.sampled_from(HINTS) | st.text(max_size=12), max_size=24).map("".join)
hexes = st.text(HEX, min_size=7, max_size=40)
shapes = st.one_of(
    hexes.filter(lambda h: not h.isdigit()).map("fixed in commit {}".format),
    st.uuids(version=4).map("run {} is over".format),
    st.integers(1, 99_999).map("see #{} for it".format),
    st.integers(1, 99_999).map("acme/api#{} is merged".format),
    st.text(HEX, min_size=8, max_size=8).map("fact_{} stands".format),
    st.text(HEX, min_size=64, max_size=64).map("sha256:{}".format),
    st.lists(st.sampled_from(["src", "secrets", "token", "auth", "keys", "credentials"]), min_size=2, max_size=5).map(lambda p: "/".join(p) + ".py"),
    st.sampled_from(["TOKEN", "DB_PASSWORD", "api_key"]).flatmap(lambda n: st.sampled_from([f"{n}=${n}", f"{n}: ${{{n}}}", f"{n} = os.environ['{n}']", f"{n}: ${{{{ secrets.{n} }}}}"])),
)  # fmt: skip
secrets = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=12, max_size=40).filter(
    lambda s: len(set(s)) > 6 and re.search("[0-9]", s) and re.search("[a-z]", s) and re.search("[A-Z]", s)
)


@settings(max_examples=100)
@given(pieces)
def test_redact__any_text__is_idempotent(text):
    once = redact(text)
    assert redact(once) == once


@settings(max_examples=100)
@given(shapes)
def test_redact__protected_shapes__are_never_touched(text):
    assert redact(text) == text


@pytest.mark.req("R240")
@settings(max_examples=100)
@given(
    secrets,
    st.sampled_from(
        [
            "password={}",
            'api_key = "{}"',
            '{{"client_secret": "{}"}}',
            "DB_PASSWORD: {}",
            "the password is {}",
            "https://bob:{}@host.dev/x",
        ]
    ),
    pieces,
)
def test_redact__a_secret_with_its_name__is_never_in_the_result(secret, form, before):
    assert secret not in redact(form.format(secret))
    assert secret not in redact(before.replace("[REDACTED:", "") + "\n" + form.format(secret) + "\nand so on")
