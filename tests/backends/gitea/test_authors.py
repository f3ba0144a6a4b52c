"""Whoever can read a repository can comment there; only named authors' records are memory."""

from pathlib import Path

import pytest
from tests.backends.gitea.store_kit import REPO, issue_of, record, text_of
from tests.support.gitea.fake_server import FakeServer

from holdfast.api import ConfigError, Outcome
from holdfast.testing.base import make_fact
from holdfast_gitea import marker
from holdfast_gitea.backend import GiteaBackend
from holdfast_gitea.checks import inspect

TEAM = "team/memory"


CLAIMS = (
    ("holdfast:authors", ""),
    ("holdfast:doc:MEMORY.md", marker.line(kind="copy", head="f" * 32, comment=1)),
    ("holdfast:doc:MEMORY.md", marker.line(kind="copy", head="f" * 32, comment=1, deleted=1)),
    ("A bug", marker.line(kind="copy", log="aG9sZGZhc3Q6ZG9jOk1FTU9SWS5tZA", head="f" * 32, comment=1)),
    ("holdfast:doc:USER.md", ""),
    ("holdfast:facts", ""),
    ("holdfast:store", marker.frame("x", '{"schema": 99, "requires": ["all"]}', language="json", kind="store")),
)


@pytest.mark.parametrize("pull", [True, False])
def test_issues__made_by_a_reader__are_not_part_of_the_store(gitea, machine, pull):
    def claim() -> list[int]:
        made = [gitea.make_issue(REPO, title, body, poster="mallory", pull=pull) for title, body in CLAIMS]
        for number in made:
            gitea.make_comment(REPO, number, record("ver", "theirs\n"), poster="mallory")
            gitea.make_comment(REPO, number, record("ops", '{"op": "del", "id": "fact_00000001"}'), poster="mallory")
        return made

    claim()
    store = machine()
    assert store.names() == []
    store.write("MEMORY.md", "mine\n")
    store.add_fact(make_fact(1), 100)
    late = claim()
    for view in (store, machine()):
        assert view.names() == ["MEMORY.md"]
        assert text_of(view, "MEMORY.md") == "mine\n"
        assert text_of(view, "USER.md") is None
        assert len(list(view.facts())) == 1
    checks = list(inspect(machine().log))
    assert all(check.outcome is not Outcome.FAIL for check in checks)
    named = [number for number in late if any(f"#{number}" in c.message and "mallory" in c.message for c in checks)]
    assert pull or named


def _on_team(gitea: FakeServer, tmp_path: Path, name: str, user: str, scopes: tuple[str, ...]) -> GiteaBackend:
    (tmp_path / name).mkdir(exist_ok=True)
    token = gitea.make_token(user, scopes)
    return GiteaBackend(tmp_path / name, server=gitea.url, repository=TEAM, token=token, patience_s=1.0)


@pytest.mark.parametrize("scopes", [("write:issue",), ("write:issue", "read:user")])
def test_authors__none_named_and_the_repository_of_an_organisation__the_tokens_user_counts_on_a_new_machine(
    gitea, tmp_path, scopes
):
    """A token with `write:issue` alone cannot ask whose it is."""
    gitea.make_repo(TEAM, rights={"bot": "write", "eve": "write"})
    first = _on_team(gitea, tmp_path, "one", "bot", scopes)
    first.write("MEMORY.md", "one\n")
    number = issue_of(gitea, "doc:MEMORY.md", TEAM)
    base = marker.fields(gitea.bodies(TEAM, number)[-1])["id"]
    gitea.make_comment(TEAM, number, record("ver", "evil\n", base=base), poster="eve")
    for name in ("two", "two"):  # the second time from what the first kept
        second = _on_team(gitea, tmp_path, name, "bot", scopes)
        assert text_of(second, "MEMORY.md") == "one\n"
        second.close()
    assert text_of(first, "MEMORY.md") == "one\n"
    first.close()


def test_authors__nothing_says_whose_the_token_is__an_error_with_the_setting_never_an_empty_memory(gitea, tmp_path):
    gitea.make_repo(TEAM, rights={"bot": "write"})
    first = _on_team(gitea, tmp_path, "one", "bot", ("write:issue",))
    first.write("MEMORY.md", "one\n")
    first.close()
    reader = _on_team(gitea, tmp_path, "two", "bot", ("read:issue",))
    with pytest.raises(ConfigError, match="whose records") as caught:
        reader.read("MEMORY.md")
    assert "authors" in caught.value.next_step
    reader.close()
