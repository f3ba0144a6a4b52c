"""Private files that each hold one attrs object as JSON."""

import json
import os
from typing import TypeVar

from holdfast.config.serde import structure, unstructure
from holdfast.errors import Corrupt
from holdfast.fs import durable, private
from holdfast.text import untrusted

T = TypeVar("T")


def load(path: str, cls: type[T]) -> T | None:
    """The object, None without a file. Raises: Corrupt, with a next step; Unavailable."""
    data, name = private.read(path), os.path.basename(path)
    if data is None:
        return None
    step = f"Move {name} out of the private folder, then try again."
    try:
        return structure(untrusted.from_json(data), cls, what=name, error=Corrupt, next_step=step)
    except ValueError as error:
        raise Corrupt(f"{name} is not valid JSON: {error}.", next_step=step) from error


def load_if_readable(path: str, cls: type[T]) -> T | None:
    """The same for a record that only informs. None also when it is unreadable."""
    try:
        return structure(private.table(path), cls, what=os.path.basename(path), error=Corrupt)
    except Corrupt:
        return None


def save(path: str, value: object) -> None:
    """Write the object, durably. Raises: Unavailable."""
    durable.replace(path, json.dumps(unstructure(value), ensure_ascii=False).encode("utf-8"))
