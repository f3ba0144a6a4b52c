"""What two machines said differently: a dream keeps the newest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.text.lazy import log

if TYPE_CHECKING:
    from holdfast_app.facts.store.lifecycle import Facts

logger = log("holdfast.dream")


def keep_newest(facts: Facts) -> None:
    """Keep the newest fact wherever two machines disagree. The fact log has the others. Never raises HoldfastError."""
    try:
        for conflict in facts.conflicts():
            facts.decide(conflict, conflict.facts[0], why="a dream kept the newest of two machines' values")
    except HoldfastError as error:
        logger.warning("conflicting facts stay until the next dream: %s", error.message)
