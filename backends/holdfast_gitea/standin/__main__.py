"""``python -m holdfast_gitea.standin [--port N] [--version V] [--repo OWNER/NAME]``: runs until it is interrupted."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import threading

from .standin import LEAST, StandIn


def main(arguments: list[str] | None = None) -> int:
    """Prints one line of JSON with ``url`` and ``token`` as soon as it answers; ends on SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m holdfast_gitea.standin", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="the port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--version", choices=("1.26", "1.25", "forgejo"), default="1.26", help="the server to play")
    parser.add_argument("--repo", action="append", default=[], metavar="OWNER/NAME", help="make it (repeat for more)")
    parser.add_argument("--scope", action="append", metavar="SCOPE", help="of the token; write:issue if none is given")
    options = parser.parse_args(arguments)
    with StandIn(version=options.version, scopes=options.scope or LEAST, port=options.port) as gitea:
        for name in options.repo:
            gitea.make_repo(name)
        sys.stdout.write(json.dumps({"url": gitea.url, "token": gitea.token}) + "\n")
        sys.stdout.flush()
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
