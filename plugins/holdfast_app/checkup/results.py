"""Results of ``holdfast doctor`` checks, before they are named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.errors import HoldfastError
from holdfast.fs import durable
from holdfast.plugin.checks import Check, Outcome


class Result(NamedTuple):
    """One line of a check. ``is_repaired`` when it has just been repaired."""

    outcome: Outcome
    message: str
    next_step: str = ""
    is_repaired: bool = False


def good(message: str) -> Result:
    """It works."""
    return Result(Outcome.OK, message)


def repaired(message: str) -> Result:
    """It works again."""
    return Result(Outcome.OK, message, is_repaired=True)


def warn(message: str, next_step: str) -> Result:
    """Work can continue."""
    return Result(Outcome.WARN, message, next_step)


def fail(message: str, next_step: str) -> Result:
    """Work cannot continue."""
    return Result(Outcome.FAIL, message, next_step)


def failed(error: HoldfastError) -> Result:
    """The check's own error."""
    return fail(error.message, error.next_step or "Correct it, then try again.")


def looked(name: str, results: Iterator[Result]) -> tuple[list[Check], HoldfastError | None]:
    """The checks of ``results`` up to an error, which is the last check, and the error. It cannot hide the others."""
    found: list[Result] = []
    problem: HoldfastError | None = None
    try:
        for result in results:
            found.append(result)  # noqa: PERF402 - results before an error stay
    except HoldfastError as error:
        problem = error
    except OSError as error:
        problem = durable.unavailable(error, error.filename or name, "look at")
    if problem is not None:
        found.append(failed(problem))
    checks = [
        Check(name=name, outcome=r.outcome, message=r.message, next_step=r.next_step, repaired=r.is_repaired)
        for r in found
    ]
    return checks, problem
