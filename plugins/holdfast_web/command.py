"""``holdfast web``: look at the memory in a browser."""

import contextlib
import os
import threading
import webbrowser
from typing import Final

from holdfast_cli.command import Call, Command, argument, flag, positive
from holdfast_cli.problem import UsageError, not_installed
from holdfast_cli.terminal import home_short
from holdfast_file import gitrun

_IDLE_MINUTES: Final = 30
_HIGHEST_PORT: Final = 65_535


@Command(
    "Manage",
    "show the memory in a browser, as a read-only page on this machine",
    argument("--port", metavar="N", type=positive, default=0, help="port (default: any free port)"),
    flag("--no-open", "only print the link; do not start a browser"),
    argument(
        "--idle",
        metavar="MINUTES",
        type=positive,
        default=_IDLE_MINUTES,
        help=f"stop after this time without a request (default: {_IDLE_MINUTES})",
    ),
    examples=("holdfast web", "holdfast web --no-open --port 8123", "holdfast --root ~/work/shop web"),
    notes="The page is read-only and reachable only from this machine, with the printed link. Ctrl-C stops it."
    "\nNeeds the extra `web`; without it, this says how to install it.",
    json=False,
)
def web(call: Call) -> int:
    """Serve until Ctrl-C or until idle. Raises: PluginLoadFailed when a package is missing; UsageError; Unavailable."""
    args, out = call.args, call.out
    if args.port > _HIGHEST_PORT:
        raise UsageError(f"--port {args.port} is too high.", next_step=f"Use a port up to {_HIGHEST_PORT}.")
    try:
        from holdfast_web.server import Server
    except ImportError as error:
        raise not_installed(error, "web") from error
    memory = call.memory
    with Server(memory, args.port, idle_s=args.idle * 60) as server:
        link = server.site.access.link()
        out.say(f"The memory of {out.plain(home_short(memory.services.root))}, read-only, on this machine:\n")
        out.say(f"  {link}\n")
        out.say(out.dim(f"Ctrl-C stops it, and so do {args.idle} minutes without a request."))
        out.stream.flush()
        if not args.no_open:
            os.environ["PATH"] = os.pathsep.join(gitrun.search_path(memory.services.root))  # no browser of the clone
            _open(server.site.access.link_once())
        with contextlib.suppress(KeyboardInterrupt):
            server.run()
        out.say("\nStopped.")
    return 0


def _open(link: str) -> None:
    """Start the default browser, in a thread, because a browser in the terminal would wait for this process."""

    def start() -> None:
        with contextlib.suppress(webbrowser.Error, OSError):
            webbrowser.open(link)

    threading.Thread(target=start, daemon=True).start()
