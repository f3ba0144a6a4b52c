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
    from holdfast.config import settings
    from holdfast.plugin import nested

    if nested.inside():
        return 0  # a model that holdfast runs gets no tools
    try:
        from holdfast_mcp.server import serve
    except ImportError as error:
        raise _not_installed(error) from error
    _log_to_stderr(debug=args.debug)
    serve(settings.find_root(args.root), session=args.session)
    return 0


def _not_installed(error: ImportError) -> Exception:
    """The error for a missing or outdated SDK. ``error`` itself when a holdfast module is missing."""
    from importlib import metadata

    from holdfast.errors import PluginLoadFailed

    missing = (error.name or "").partition(".")[0]
    if missing.startswith("holdfast"):
        return error
    try:
        problem = f"version {metadata.version('mcp')} is installed, but {missing or 'a package it needs'} is missing"
    except metadata.PackageNotFoundError:
        problem = "it is not installed"
    return PluginLoadFailed(
        f"`holdfast mcp` needs the MCP SDK, version 2 or newer, and {problem}.",
        next_step=f"Install it for the Python that runs holdfast: `{_python()} -m {extra('mcp')}`.",
    )


def _python() -> str:
    """This interpreter's path, quoted for a command line where needed."""
    import shlex
    import sys

    return shlex.quote(sys.executable) if sys.platform != "win32" else f'"{sys.executable}"'


def _log_to_stderr(*, debug: bool) -> None:
    """Log to stderr, which clients keep in a log. stdout belongs to the protocol."""
    import logging
    import sys

    logging.basicConfig(stream=sys.stderr, level=logging.DEBUG if debug else logging.WARNING)
