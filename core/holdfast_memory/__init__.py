"""The distribution's name, and the program that installed hooks start (``__main__``)."""

#: The name to install from a package index, and the program in clients' settings.
DISTRIBUTION = "holdfast-memory"
#: The commands that repair an installation, without quotes, because a shell reads them in Codex's hook.
REPAIR = f"pip uninstall holdfast && pip install --force-reinstall {DISTRIBUTION}"


def extra(name: str) -> str:
    """The command that installs an optional dependency."""
    return f"pip install '{DISTRIBUTION}[{name}]'"
