"""Start a process for work that no client waits for. Agents' hooks call this, so nothing heavy is imported here."""

import os
import sys

from holdfast_memory import nested

#: Value of ``[extract] when`` that extracts turns as they end.
TURN = "turn"
#: The command that extracts ended turns.
EXTRACT = ("extract", "--turns")
#: The command that brings the search index up to date.
INDEX = ("search", "--index")


def after_turn(root: str, *, is_full: bool = False) -> None:
    """Start extracting an ended turn in the project at ``root`` if the settings in force ask for it, or if the context
    ``is_full``, so that a compaction is near, and a plugin is enabled that is not on by default.

    Never raises, because the turn is journalled and the next turn or flush finds it.
    """
    from holdfast.errors import HoldfastError
    from holdfast_app.project_settings import resolved

    try:
        settings = resolved.hot(root)
    except HoldfastError:
        return  # unreadable settings are reported by the code that needs them
    table, plugins = settings.get("extract"), settings.get("plugins")
    if is_full and isinstance(plugins, dict):
        from holdfast.plugin import discovery

        is_full = any(name not in discovery.defaults() for name in plugins)
    if is_full or (isinstance(table, dict) and table.get("when") == TURN):
        start(root, *EXTRACT)


def start(root: str, *words: str) -> None:
    """Start a holdfast command for the project at ``root`` and return at once.

    The process has no terminal, shares no stream with its caller and survives it. If several are started, one works and
    the others exit. Never raises.
    """
    if nested.inside():
        return
    import subprocess

    command = [*nested.THIS, "--root", root, *words]
    detached: dict[str, object] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    try:
        subprocess.Popen(  # type: ignore[call-overload]  # noqa: S603 - this program, with the project as its argument
            command,
            cwd=os.path.abspath(root),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=True,
            **detached,
        )
    except OSError:
        return  # no process can be started now, so the turns wait
