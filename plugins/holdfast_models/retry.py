"""Model requests with a time limit, retries of temporary failures only, and a usage record."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from attrs import frozen

from holdfast.errors import AnswerUnusable, HoldfastError, ModelFailed
from holdfast.fs import durable, private
from holdfast.storage import deadline, time_left
from holdfast.text.lazy import log
from holdfast_keys.faults import PASSING, patiently, seconds
from holdfast_keys.secrets import command

logger = log(__name__)

USAGE_FILE: Final = "usage.jsonl"
#: HTTP statuses worth retrying. Source: RFC 9110 and the providers' error pages.
RETRYABLE: Final = PASSING | {409}


@frozen(kw_only=True)
class Completion:
    """A model's answer. ``stop`` is the provider's stop reason."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    stop: str = ""


def refused(provider: str, status: int, retry_after: str | None = None, *, origin: str = "") -> ModelFailed:
    """The error for an HTTP status. The server's message is left out, because it may quote the key or the prompt.

    ``origin`` is the responding address's origin, empty for the provider's own.
    """
    steps = {
        # The key belongs to this address alone, so no redirect is followed.
        **dict.fromkeys(
            range(300, 400),
            "It redirects elsewhere. Set `base_url` to the final address yourself, and a key for it with "
            f"`holdfast auth set {provider} --origin URL`.",
        ),
        400: "Check `model` and `base_url`, and that the model takes this many tokens.",
        401: f"Set a valid key: {command(provider, origin)}.",
        403: f"Set a key that may use this model: {command(provider, origin)}, or choose another model.",
        404: "Check `model` and `base_url`.",
        429: "The quota is used up for now.",
    }
    return ModelFailed(
        f"The {provider} endpoint answered with HTTP status {status}.",
        next_step=steps.get(status, "It will be retried." if status in RETRYABLE else ""),
        status=status,
        retryable=status in RETRYABLE,
        retry_after_s=seconds(retry_after),
    )


def unreachable(provider: str, *, timed_out: bool = False) -> ModelFailed:
    """The error for a missing answer."""
    return ModelFailed(
        f"The {provider} endpoint {'took too long to answer' if timed_out else 'could not be reached'}.",
        next_step="Check `base_url` and the network. The request will be retried.",
        retryable=True,
    )


def persist(
    attempt: Callable[[float], Completion], *, timeout_s: float, max_retries: int, budget_s: float
) -> Completion:
    """Call ``attempt`` with its time limit in seconds, and retry temporary failures. ``timeout_s`` bounds one attempt,
    ``budget_s`` all attempts and the pauses between them. Raises: ModelFailed, the last one."""
    with deadline(budget_s):
        return patiently(lambda: attempt(max(0.1, min(timeout_s, time_left()))), tries=max_retries + 1)


def record(state: str, *, plugin: str, model: str, took_s: float, outcome: Completion | Exception) -> None:
    """Add a line to ``state/usage.jsonl`` for an answered or failed call, or for an unusable answer, whose call
    already has a line. A write failure is only logged, because the answer matters more."""
    row: dict[str, object] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "plugin": plugin,
        "model": model,
        "took_s": round(took_s, 3),
    }
    if isinstance(outcome, Completion):
        row |= {"input_tokens": outcome.input_tokens, "output_tokens": outcome.output_tokens, "stop": outcome.stop}
    else:
        failed = outcome.message if isinstance(outcome, HoldfastError) else type(outcome).__name__
        row |= {"failed": failed, "answered": isinstance(outcome, AnswerUnusable)}
    try:
        private.make(state)
        path = os.path.join(state, USAGE_FILE)
        with private.lock(path):
            durable.append(path, (json.dumps(row) + "\n").encode(), flush=False)
    except HoldfastError as error:
        logger.warning("the use of tokens could not be recorded: %s", error)
