"""The distribution's name, how to add to its environment, and the program that installed hooks start (``__main__``)."""

#: The name to install from a package index, and the program in clients' settings.
DISTRIBUTION = "holdfast-memory"
#: The commands that repair an installation, without quotes, because a shell reads them in Codex's hook.
REPAIR = f"pip uninstall holdfast && pip install --force-reinstall {DISTRIBUTION}"


def extra(name: str) -> str:
    """The command that installs an optional dependency where holdfast runs."""
    return install(f"{DISTRIBUTION}[{name}]")


def install(requirement: str) -> str:
    """The command that adds ``requirement`` to the environment that runs holdfast. That is a uv tool, a pipx
    application, or an ordinary environment with or without pip."""
    import os
    import shutil
    import sys
    from importlib.util import find_spec

    quote = '"' if os.name == "nt" else "'"
    wanted = f"{quote}{requirement}{quote}"
    receipt = os.path.join(sys.prefix, "uv-receipt.toml")
    if os.path.exists(receipt):
        return f"uv tool install {' --with '.join(f'{quote}{name}{quote}' for name in _uv_tool(receipt, requirement))}"
    if os.path.basename(os.path.dirname(sys.prefix)).startswith("archive-v"):  # uvx; uv may remove it at any time
        return f"uv tool install {wanted}"
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return f"pipx inject {DISTRIBUTION} {wanted}"
    python = f"{quote}{sys.executable}{quote}" if " " in sys.executable else sys.executable
    if find_spec("pip") is None:
        return f"uv pip install --python {python} {wanted}"
    pip = shutil.which("pip")
    at_hand = pip is not None and os.path.dirname(pip) == os.path.dirname(sys.executable)
    return f"{'pip' if at_hand else f'{python} -m pip'} install {wanted}"


def _uv_tool(receipt: str, requirement: str) -> list[str]:
    """All requirements of the tool, with ``requirement``. uv reinstalls a tool from its command line alone."""
    import tomllib

    with open(receipt, "rb") as file:
        rows = tomllib.load(file)["tool"]["requirements"]
    name, _, extras = requirement.partition("[")
    made = []
    for row in rows:
        more = {*row.get("extras", ()), *(filter(None, [extras.rstrip("]")]) if row["name"] == name else ())}
        place = row.get("path") or row.get("directory") or row.get("url") or row.get("editable") or ""
        brackets = f"[{','.join(sorted(more))}]" if more else ""
        made.append(f"{row['name']}{brackets}{row.get('specifier', '')}{place and ' @ '}{place}")
    return made if any(row["name"] == name for row in rows) else [*made, requirement]
