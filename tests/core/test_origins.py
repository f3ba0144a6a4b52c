"""Origins: what counts as one, and which addresses a key may go to at all."""

from urllib.parse import urlsplit

import pytest
from httpcore2 import URL
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import ConfigError
from holdfast_keys import origins


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://git.example.org", "https://git.example.org"),
        ("HTTPS://Git.Example.ORG:443/a/b?c=d", "https://git.example.org"),
        ("https://git.example.org:8443/", "https://git.example.org:8443"),
        ("http://localhost:80", "http://localhost"),
        ("http://127.0.0.1:3000/api", "http://127.0.0.1:3000"),
        ("http://[::1]:3000", "http://[::1]:3000"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
        ("https://my_host/v1/chat/completions?k=s", "https://my_host"),
    ],
)
def test_of__address__scheme_host_and_port(url, origin):
    assert origins.of(url) == origin


@given(st.text(alphabet="abk:/@?#[].\\%1 \u212a\u017f", max_size=20))
def test_of__any_text__host_is_the_one_that_other_parsers_read(tail):
    url = f"https://{tail}"
    try:
        origin = origins.of(url)
    except ConfigError:
        return
    assert urlsplit(url.strip()).hostname == urlsplit(origin).hostname
    assert URL(url.strip()).origin == URL(origin).origin


@pytest.mark.parametrize(
    "url", ["http://git.example.org", "http://127.0.0.1.example.org", "http://192.168.1.5:11434", "http://localhost.x"]
)
def test_safe__plain_http_to_another_machine__refused_unless_allowed(url):
    with pytest.raises(ConfigError, match="plain HTTP") as caught:
        origins.safe(url)
    assert "https://" in caught.value.next_step
    assert origins.safe(url, insecure_http=True) == url
