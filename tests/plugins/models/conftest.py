"""A model server, and each provider."""

from collections.abc import Iterator

import pytest
from tests.support.model_server import ModelServer


@pytest.fixture(params=("openai", "anthropic"))
def provider(request) -> str:
    return str(request.param)


@pytest.fixture
def server(monkeypatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ModelServer() as running:
        yield running
