"""A stand-in for a Gitea server: loopback, in memory, the standard library alone, and as odd as the real one.

For tests of anything that talks to Gitea. It is stateful, knows the calls that holdfast makes (issues, comments,
labels, reactions, the repository, the user, the version), and copies what surprises people: comments that are never
paginated, 500 where an issue is missing, titles cut at 255 characters, lists that come unfiltered when a label does not
exist, whole seconds. It plays Gitea 1.26, Gitea 1.25 or Forgejo::

    from holdfast_gitea.standin import StandIn

    with StandIn() as gitea:
        gitea.make_repo("agent/memory")
        client = MyClient(gitea.url, token=gitea.token)
        ...
        assert gitea.bodies("agent/memory", 1) == ["what the client wrote"]

Or as a process of its own, which prints its address and a token::

    python -m holdfast_gitea.standin --repo agent/memory
"""

from __future__ import annotations

from .server import Seen
from .standin import StandIn
from .state import Flavour

__all__ = ["Flavour", "Seen", "StandIn"]
