"""A repository's events, reviews and releases, which the morning report reads besides issues and comments."""

from __future__ import annotations

from datetime import datetime

from holdfast_gitea.wire import models, pages
from holdfast_gitea.wire.client import Repo, since_of, stamp
from holdfast_gitea.wire.faults import garbled
from holdfast_gitea.wire.models import Event, Review
from holdfast_gitea.wire.pages import PAGE, PAGES


def timeline(repo: Repo, number: int, since: datetime, until: datetime) -> list[Event]:
    """Events and comments of an issue that changed in the window, oldest first. The server's count is the page's, so a
    page that is not full is the last. Raises: Unavailable."""
    found: list[Event] = []
    window = {**since_of(since), "before": stamp(until)}
    for page in range(1, PAGES):
        some = pages.page(repo, f"/issues/{number}/timeline", page, **window).rows
        found += [models.event(one) for one in some if one is not None]
        if len(some) < PAGE:
            return found
    raise garbled("the timeline does not end")


def reviews(repo: Repo, number: int) -> list[Review]:
    """Reviews of a pull request, at most 50, the server's first. Takes `read:repository`. Raises: Unavailable."""
    return [models.review(one) for one in models.many(repo.get(f"/pulls/{number}/reviews", limit=PAGE).data)]


def releases(repo: Repo) -> list[tuple[str, str, str, datetime]]:
    """The newest releases, at most 50: name, author, address, time of publication. Takes `read:repository`. Raises:
    Unavailable."""
    listed = models.many(repo.get("/releases", draft="false", page=1, limit=PAGE).data)
    return [models.release(one) for one in listed]
