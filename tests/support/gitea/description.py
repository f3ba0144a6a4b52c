"""Gitea's own description of its API, cut down to the calls that are made.

``python -m tests.support.gitea.description DESCRIPTION`` prints the reduced copy, ``tests/data/gitea/swagger.json``.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: The reduced copy, see the README beside it.
REDUCED = Path(__file__).parents[2] / "data" / "gitea" / "swagger.json"

_REPO = "/repos/{owner}/{repo}"
#: Path to methods: what the fake server answers.
CALLS = {
    "/version": ("get",),
    "/user": ("get",),
    "/users/{username}": ("get",),
    "/orgs/{org}": ("get",),
    _REPO: ("get",),
    f"{_REPO}/pulls/{{index}}/reviews": ("get",),
    f"{_REPO}/pulls/{{index}}/reviews/{{id}}/comments": ("get",),
    f"{_REPO}/pulls/{{index}}": ("get",),
    f"{_REPO}/commits/{{ref}}/status": ("get",),
    f"{_REPO}/activities/feeds": ("get",),
    f"{_REPO}/releases": ("get",),
    f"{_REPO}/collaborators": ("get",),
    f"{_REPO}/issues": ("get", "post"),
    f"{_REPO}/issues/comments": ("get",),
    f"{_REPO}/issues/comments/{{id}}": ("get", "patch", "delete"),
    f"{_REPO}/issues/{{index}}": ("get", "patch", "delete"),
    f"{_REPO}/issues/{{index}}/comments": ("get", "post"),
    f"{_REPO}/issues/{{index}}/reactions": ("post",),
    f"{_REPO}/issues/{{index}}/timeline": ("get",),
}
#: Sent with every user, and documented nowhere.
UNDOCUMENTED = {"User": {"username": {"type": "string"}}}


def reduced(description: dict[str, Any]) -> dict[str, Any]:
    """The description with ``CALLS`` alone, and the definitions and answers that they need. Nothing is reworded."""
    calls = {path: {name: description["paths"][path][name] for name in methods} for path, methods in CALLS.items()}
    kept = {**description, "paths": calls}
    for group in ("responses", "definitions"):
        kept[group] = {}
    wanted = set(_references(kept["paths"]))
    while wanted:
        group, name = wanted.pop()
        if name not in kept[group]:
            kept[group][name] = description[group][name]
            wanted |= set(_references(kept[group][name]))
    for group in ("responses", "definitions"):
        kept[group] = dict(sorted(kept[group].items()))
    return kept


def _references(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str):
            group, _, name = reference.removeprefix("#/").partition("/")
            yield group, name
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


if __name__ == "__main__":
    source = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.stdout.write(json.dumps(reduced(source), indent=1, ensure_ascii=False) + "\n")
