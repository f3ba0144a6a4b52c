"""``holdfast mcp``: serve the project's memory to a client over stdin and stdout."""

import logging
import sys

from holdfast_cli.command import Call, Command, argument
from holdfast_cli.problem import not_installed
from holdfast_memory import nested


@Command(
    "Guard a client",
    "serve tools and documents to an MCP client, on stdin and stdout",
    argument(
        "--session",
        metavar="ID",
        default="",
        help="the session that `flush` writes (by default the session in which the client's hooks run)",
    ),
    examples=(
        "holdfast mcp",
        "holdfast --root ~/work/shop mcp --session shop",
        "claude mcp add holdfast --scope project -- holdfast mcp",
    ),
    notes="Clients start it. Requests on stdin until it is closed, answers on stdout, the log on stderr."
    "\nNeeds the extra `mcp`; without it, this says how to install it.",
    json=False,
)
def mcp(call: Call) -> int:
    """Serve until the client closes stdin. Raises: PluginLoadFailed when the SDK is missing or too old."""
    if nested.inside():
        return 0  # a model that holdfast runs gets no tools
    try:
        from holdfast_mcp.server import serve
    except ImportError as error:
        raise not_installed(error, "mcp") from error
    # Clients keep stderr in a log. stdout belongs to the protocol.
    logging.basicConfig(stream=sys.stderr, level=logging.DEBUG if call.args.debug else logging.WARNING)
    serve(call.root, session=call.args.session)
    return 0
