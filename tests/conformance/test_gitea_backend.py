"""The Gitea backend against every clause of docs/storage-contract.md, on the fake server.

With the variables of test_live.py and a token that may make repositories it runs on that server: each test takes a new
one of the token's user, and deletes it.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.backends.gitea.live_kit import ADDRESS, URL, may_make_repositories
from tests.backends.gitea.store_kit import FACTORY, address, archive, ask

from holdfast.testing import StorageContract

pytestmark = pytest.mark.skipif(bool(URL) and not may_make_repositories(), reason="the token may not make repositories")


@pytest.mark.req(
    "R013", "R014", "R015", "R016", "R037", "R042", "R043", "R044", "R045", "R046", "R047", "R048", "R049", "R050",
    "R051", "R052", "R053", "R054", "R056", "R057", "R058", "R059", "R060", "R061", "R096", "R142",
)  # fmt: skip
class TestStore(StorageContract):
    """Every clause. How to spoil a repository: as people do in their browsers."""

    factory = FACTORY
    machine_examples = 3 if URL else 5

    @pytest.fixture(autouse=True)
    def _removed(self, tmp_path_factory) -> Iterator[None]:
        before = {*tmp_path_factory.getbasetemp().rglob(ADDRESS)} if URL else set()
        yield
        for path in {*tmp_path_factory.getbasetemp().rglob(ADDRESS)} - before if URL else ():
            assert ask("DELETE", f"/repos/{address(path.parent)['repository']}").status == 204

    def _edit(self, root: Path, title: str, old: str, new: str) -> None:
        repository = f"/repos/{address(root)['repository']}"
        issues = ask("GET", f"{repository}/issues?state=all&limit=50&page=1").json
        number = next(issue["number"] for issue in issues if issue["title"] == title)
        comment = ask("GET", f"{repository}/issues/{number}/comments").json[-1]
        assert old in comment["body"]
        body = comment["body"].replace(old, new)
        assert ask("PATCH", f"{repository}/issues/comments/{comment['id']}", {"body": body}).status == 200

    def corrupt_document(self, root: Path, name: str) -> None:
        self._edit(root, f"holdfast:doc:{name}", "something was decided", "nothing was decided")

    def corrupt_facts(self, root: Path) -> None:
        self._edit(root, "holdfast:facts", "step", "stop")

    @contextlib.contextmanager
    def unwritable(self, root: Path) -> Iterator[None]:
        archive(root, on=True)
        try:
            yield
        finally:
            archive(root, on=False)
