"""``holdfast mcp``: serve the project's memory to a client over stdin and stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast_memory import extra

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

#: The help section that lists the command, and its line there.
HEADING = "Guard a client"
SUMMARY = "serve tools and documents to an MCP client, on stdin and stdout"


def configure(parser: ArgumentParser) -> None:
    from holdfast_cli.args import examples

    parser.add_argument(
        "--session",
        metavar="ID",
        default="",
        help="the session that `flush` writes (by default the session in which the client's hooks run)",
    )
    parser.epilog = (
        examples(
            "holdfast mcp",
            "holdfast --root ~/work/shop mcp --session shop",
            "claude mcp add holdfast --scope project -- holdfast mcp",
        )
        + "\n\nClients start it. Requests on stdin until it is closed, answers on stdout, the log on stderr."
        f"\nNeeds the SDK: {extra('mcp')}."
    )


def run(args: Namespace) -> int:
    """Serve until the client closes stdin. Raises: PluginLoadFailed when the SDK is missing or too old."""
    import logging
    import sys

    from holdfast.config import settings
    from holdfast.plugin import nested
    from holdfast_cli.problem import not_installed

    if nested.inside():
        return 0  # a model that holdfast runs gets no tools
    try:
        from holdfast_mcp.server import serve
    except ImportError as error:
        raise not_installed(error, "mcp") from error
    # Clients keep stderr in a log. stdout belongs to the protocol.
    logging.basicConfig(stream=sys.stderr, level=logging.DEBUG if args.debug else logging.WARNING)
    serve(settings.find_root(args.root), session=args.session)
    return 0
