"""Translates a program's failure for the user. The program's own words are matched but never repeated, because they may
quote the conversation or a key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from holdfast.errors import ModelFailed

if TYPE_CHECKING:
    from holdfast_models.cli.running import Ended

_QUOTA = re.compile(
    r"\b429\b|usage limit|rate.?limit|quota|hit your .{0,20}limit|limit reached|resource.?exhausted|credit balance|"
    r"insufficient.?(credit|fund|balance)|too many requests",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"\b40[13]\b|not logged in|log ?in\b|/login|sign in|api.?key|unauthori[sz]ed|authenticat|credential|auth method|"
    r"missing environment variable|forbidden",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"\b404\b|selected model|model.{0,60}(not found|not exist|not supported|unknown)|ModelNotFound", re.IGNORECASE
)
_PASSING = re.compile(
    r"\b(408|409|5\d\d)\b|overloaded|high demand|temporar|timed? ?out|network|connection|disconnected|ENOTFOUND|"
    r"ECONN|unavailable|empty response",
    re.IGNORECASE,
)
_PATTERNS: Final = ((429, _QUOTA), (401, _LOGIN), (404, _MODEL), (503, _PASSING))


def failed(program: str, plugin: str, said: str, status: int | None = None, *, code: int = 0) -> ModelFailed:
    """The error for what ``program`` reports: ``said`` in its own words, ``status`` its HTTP status, ``code`` its exit
    status."""
    if status is None or not 400 <= status < 600:
        status = next((number for number, pattern in _PATTERNS if pattern.search(said)), None)
    passes = status is not None and (status in (408, 409, 429) or status >= 500)
    if status == 429:
        problem, step = "is over its quota or rate limit", "Wait until the quota is renewed."
    elif status in (401, 403):
        problem, step = "is not logged in, or its login is not valid", f"Start `{program}` in a terminal and log in."
    elif status == 404:
        problem = "does not know the model, or has no access to it"
        step = f"Set another one: `holdfast config --user plugins.{plugin}.model MODEL`."
    elif passes:
        problem, step = "asks a server that is not available", "It will be retried."
    else:
        problem = "gave no answer" + (f" and ended with exit status {code}" if code else "")
        step = f"Run `{program}` in a terminal to see the cause. It may need an update."
    return ModelFailed(f"`{program}` {problem}.", next_step=step, status=status, retryable=passes)


def killed(program: str, timeout_s: float, ended: Ended) -> ModelFailed:
    """The error for a program killed at its time limit, or for its output. Its words show whether it waited for its
    quota."""
    if ended.too_long:
        problem, step = "wrote more than an answer can be", f"Run `{program}` in a terminal to see why."
        return ModelFailed(f"`{program}` {problem} and was ended.", next_step=step)
    if _QUOTA.search(ended.stderr):
        return failed(program, "", ended.stderr, 429)
    return ModelFailed(
        f"`{program}` did not answer within {timeout_s:.0f} seconds and was ended.",
        next_step="It will be retried; `timeout_s` sets the limit.",
        status=408,
        retryable=True,
    )
