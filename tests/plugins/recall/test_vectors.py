"""Vectors from an endpoint: what they add to words, what is sent where, and what happens when they fail."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.local_server import Handler, LocalServer

from holdfast.config.values import PluginConfig

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
#: Words of the same meaning.
MEANINGS = ("car automobile vehicle", "dog hound puppy", "money salary wage", "house home flat")


def meaning(text: str) -> list[float]:
    low = text.lower()
    return [float(sum(word in low for word in words.split())) + 0.01 for words in MEANINGS]


class Server(LocalServer):
    """An embeddings endpoint that knows meanings."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.keys: list[str] = []
        self.status = 200
        self.answer: bytes | None = None

    def handler(self) -> type[Handler]:
        owner = self

        class Embedding(Handler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.asked += body["input"]
                owner.keys.append(self.headers["Authorization"])
                rows = [{"index": n, "embedding": meaning(text)} for n, text in enumerate(body["input"])]
                data = owner.answer if owner.answer is not None else json.dumps({"data": rows[::-1]}).encode()
                self.give(owner.status, {"Location": f"{owner.url}/elsewhere"}, data)

        return Embedding


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        yield made


@pytest.fixture
def talked(opened, server):
    """A talk in a project with the plugin ``embeddings``."""

    def run(model: str = "m", **settings: Any):
        given = {"model": model, "base_url": f"{server.url}/v1", **settings}
        return opened(plugins={"embeddings": PluginConfig(enabled=True, settings=given)})

    memory = run()
    for number, text in enumerate(["I bought a new automobile", "The hound sleeps all day", "Rain tomorrow"]):
        memory.session("talk").add("user", text, message_id=f"m{number}")
    memory.close()
    return run


def found(memory: Any, question: str) -> list[str]:
    return [hit.place for hit in memory.search(question)]


def test_search__same_meaning_in_other_words__found_with_vectors_alone(talked, opened):
    assert found(talked(), "which car?")[0] == "m0"
    assert found(talked(), "any puppy?")[0] == "m1"
    assert found(opened(), "which car?") == []


def test_search__turn_added__only_it_and_the_question_are_sent(talked, server):
    memory = talked()
    found(memory, "which car?")
    server.asked.clear()
    memory.session("talk").add("user", "My salary is fine", message_id="new")
    assert found(memory, "what wage?")[0] == "new"
    assert sorted(server.asked) == ["My salary is fine", "what wage?"]


@pytest.mark.parametrize("failure", ["stopped", "status", "redirect", "page", "rows"])
def test_search__endpoint_fails__words_are_searched_with_one_warning(talked, server, failure):
    memory = talked()
    if failure == "stopped":
        server.__exit__()
    elif failure in ("status", "redirect"):
        server.status = 500 if failure == "status" else 307
    else:
        rows = {"page": b"<html>", "rows": b'{"data": [{"index": 0, "embedding": []}]}'}
        server.answer = rows[failure]
    answer = memory.search("automobile")
    assert answer[0].place == "m0"
    assert answer.warning.startswith("Searched by words alone: The ")
    assert len(server.asked) <= 3  # nothing was tried again, and no redirect was followed


def test_search__secret_in_a_stored_text__masked_before_it_is_sent(project, opened, server):
    opened().session("talk").add("user", f"the token is {SECRET}", message_id="m0")
    settings = {"model": "m", "base_url": f"{server.url}/v1"}
    plugins = {"embeddings": PluginConfig(enabled=True, settings=settings), "redaction": PluginConfig(enabled=True)}
    opened(plugins=plugins).search(f"token {SECRET}")
    assert server.asked
    assert SECRET not in "".join(server.asked)


def test_embeddings__key_of_the_environment__sent_to_the_named_address(talked, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    found(talked(), "which car?")
    assert set(server.keys) == {"Bearer sk-test"}
