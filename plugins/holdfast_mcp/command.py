"""``holdfast mcp``: serve the project's memory to a client over stdin and stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_SDK = ("mcp", "mcp_types")


def configure(parser: ArgumentParser) -> None:
    from holdfast.cli.args import examples

    parser.add_argument(
        "--session",
        metavar="ID",
        default="",
        help="the session that `flush` writes (default: the one that the client's hooks speak of)",
    )
    parser.epilog = (
        examples(
            "holdfast mcp",
            "holdfast --root ~/work/shop mcp --session shop",
            "claude mcp add holdfast --scope project -- holdfast mcp",
        )
        + "\n\nA client starts it: requests on stdin until that is closed, answers on stdout, the log on stderr."
        '\nNeeds the SDK: pip install "holdfast[mcp]".'
    )


def run(args: Namespace) -> int:
    """Serve until the client closes stdin. Raises: PluginLoadFailed when the SDK is missing or too old."""
    from holdfast import settings
    from holdfast.errors import PluginLoadFailed

    try:
        from holdfast_mcp.server import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _SDK:
            raise
        raise PluginLoadFailed(
            "`holdfast mcp` needs the MCP SDK, version 2 or newer, which is not installed.",
            next_step='Install it with `pip install "holdfast[mcp]"`.',
        ) from error
    _log_to_stderr(debug=args.debug)
    serve(settings.find_root(args.root), session=args.session)
    return 0


def _log_to_stderr(*, debug: bool) -> None:
    """stdout belongs to the protocol. Warnings are worth a line in the client's log of its servers."""
    import logging
    import sys

    logging.basicConfig(stream=sys.stderr, level=logging.DEBUG if debug else logging.WARNING)
