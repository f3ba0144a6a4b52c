"""Compiles the redaction rules when the distribution is built, or installed in development mode."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from zlib import crc32

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Rules(BuildHookInterface[Any]):
    """Writes ``rules.json`` next to ``rules.toml``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        plugins = Path(self.root, "plugins")
        sys.path.insert(0, str(plugins))
        from holdfast_redaction.rules.table import tables

        path = plugins / "holdfast_redaction" / "rules" / "rules.toml"
        source = path.read_bytes()
        compiled = {"source": crc32(source), "tables": tables(source.decode())}
        path.with_suffix(".json").write_text(json.dumps(compiled), encoding="utf-8")
        build_data["artifacts"].append("plugins/holdfast_redaction/rules/rules.json")
