"""Distributions of others, as a folder on the path holds them after their installation."""

from pathlib import Path


def install(site: Path, name: str, entry_points: str, **modules: str) -> None:
    """The distribution ``name`` 1.0 in ``site``, with these entry points and the source of its modules."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    for module, source in modules.items():
        (site / f"{module}.py").write_text(source)
