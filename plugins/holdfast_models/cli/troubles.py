"""Translates a program's failure for the user. The program's own words are matched but never repeated, because they may
quote the conversation or a key."""

from __future__ import annotations

import re
from typing import Final

from holdfast.errors import ModelFailed

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
    if status == 429:
        return ModelFailed(
            f"`{program}` is over its quota or rate limit.",
            next_step="Wait until the quota is renewed.",
            status=status,
            retryable=True,
        )
    if status in (401, 403):
        return ModelFailed(
            f"`{program}` is not logged in, or its login is not valid.",
            next_step=f"Start `{program}` in a terminal and log in.",
            status=status,
        )
    if status == 404:
        return ModelFailed(
            f"`{program}` does not know the model, or has no access to it.",
            next_step=f"Set another one: `holdfast config --user plugins.{plugin}.model MODEL`.",
            status=status,
        )
    if status is not None and (status in (408, 409) or status >= 500):
        return ModelFailed(
            f"The server that `{program}` asks is not available.",
            next_step="It will be retried.",
            status=status,
            retryable=True,
        )
    how = f" and ended with exit status {code}" if code else ""
    return ModelFailed(
        f"`{program}` gave no answer{how}.",
        next_step=f"Run `{program}` in a terminal to see the cause. It may need an update.",
        status=status,
    )


def late(program: str, timeout_s: float, said: str = "") -> ModelFailed:
    """The error for a program killed at its time limit. ``said`` shows whether it waited for its quota."""
    if _QUOTA.search(said):
        return failed(program, "", said, 429)
    return ModelFailed(
        f"`{program}` did not answer within {timeout_s:.0f} seconds and was ended.",
        next_step="It will be retried; `timeout_s` sets the limit.",
        status=408,
        retryable=True,
    )


def too_long(program: str) -> ModelFailed:
    """The error for a program killed because of too much output."""
    return ModelFailed(
        f"`{program}` wrote more than an answer can be and was ended.",
        next_step=f"Run `{program}` in a terminal to see why.",
    )
