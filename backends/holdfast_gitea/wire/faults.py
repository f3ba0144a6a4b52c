"""Gitea's and Forgejo's errors, which all servers share: see :mod:`holdfast_keys.faults`."""

from __future__ import annotations

import logging
from typing import Final

from holdfast_keys.faults import Absent, Closed, Passing, Service, TooLong

__all__ = ["GITEA", "Absent", "Closed", "Passing", "TooLong", "garbled", "level"]

GITEA: Final = Service(
    "Gitea",
    "gitea",
    path="/api/v1",
    scheme="token",
    scope_step="Create a token with the scope `write:issue`, then run `holdfast auth set gitea`.",
    refused_step="Check its log, and that its version is 1.25 or later.",
    extra="gitea",
)
garbled = GITEA.garbled


def level(error: Exception) -> int:
    """The level at which to log an edit that failed and can be done without. Invited users may lack the right to it."""
    return logging.INFO if isinstance(error, Closed) else logging.WARNING
