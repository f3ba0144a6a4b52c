"""The body of the issue that describes the repository as a store."""

from __future__ import annotations

import json
from typing import Final

from holdfast_gitea import marker
from holdfast_gitea.folding import new_id
from holdfast_gitea.index import SCHEMA

_NOTE: Final = "holdfast stores memory in this repository, in the issues whose titles begin with `holdfast:`."


def new() -> str:
    """The body for a new store."""
    return body(new_text())


def new_text() -> str:
    """The description of a new store, in JSON."""
    return json.dumps({"schema": SCHEMA, "store": new_id(), "requires": []}, indent=2)


def body(text: str, **more: str | int) -> str:
    """The body with the JSON ``text``; ``more`` are fields of its marker, empty ones are left out."""
    return marker.frame(_NOTE, text, language="json", kind="store", **more)
