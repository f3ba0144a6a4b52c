"""Results of checks, before :func:`looked` names them."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from holdfast.errors import HoldfastError
from holdfast.fs import durable
from holdfast.models import Check, Outcome


def good(message: str) -> Check:
    """It works."""
    return Check(name="", outcome=Outcome.OK, message=message)


def repaired(message: str) -> Check:
    """It works again."""
    return evolve(good(message), repaired=True)


def warn(message: str, next_step: str) -> Check:
    """Work can continue."""
    return Check(name="", outcome=Outcome.WARN, message=message, next_step=next_step)


def fail(message: str, next_step: str) -> Check:
    """Work cannot continue."""
    return Check(name="", outcome=Outcome.FAIL, message=message, next_step=next_step)


def failed(error: HoldfastError) -> Check:
    """The check's own error."""
    return fail(error.message, error.next_step or "Correct it, then try again.")


def looked(name: str, results: Iterator[Check]) -> tuple[list[Check], HoldfastError | None]:
    """The named checks of ``results`` up to an error, which is the last check, and the error. It cannot hide the
    others."""
    found: list[Check] = []
    problem: HoldfastError | None = None
    try:
        for result in results:
            found.append(result if result.name else evolve(result, name=name))  # noqa: PERF401 - those before an error stay
    except HoldfastError as error:
        problem = error
    except OSError as error:
        problem = durable.unavailable(error, error.filename or name, "look at")
    if problem is not None:
        found.append(evolve(failed(problem), name=name))
    return found, problem
