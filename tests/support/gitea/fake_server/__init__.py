"""A fake Gitea server: loopback, in memory, standard library only, with the real server's quirks.

It is stateful, answers the calls that holdfast makes (issues, comments, labels, reactions, the repository, the user,
the version), and copies surprising behaviour: comments are never paginated, a missing issue answers 500, titles are cut
at 255 characters, an unknown label unfilters a list, times are whole seconds. It plays Gitea 1.26 or
Forgejo::

    with FakeServer() as gitea:
        gitea.make_repo("agent/memory")
        client = MyClient(gitea.url, token=gitea.token)
        ...
        assert gitea.bodies("agent/memory", 1) == ["the client's text"]
"""

from .fake_server import FakeServer
from .server import Seen
from .state import Flavour

__all__ = ["FakeServer", "Flavour", "Seen"]
