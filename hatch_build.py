"""Compiles the redaction rules when the distribution is built, or installed in development mode, and gives it a README
whose links work on any page."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any
from zlib import crc32

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

#: The target of a link or picture in the README that is not absolute.
_TARGET = re.compile(r"(!?\[[^\]]*\]\()(?!https?:|#)([^)\s]+)")


class Page(MetadataHookInterface):
    """README and addresses. The release names the repository in ``HOLDFAST_REPOSITORY``, like
    ``https://git.example.org/team/holdfast``; without it links stay relative."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        address, tag = os.environ.get("HOLDFAST_REPOSITORY", "").rstrip("/"), f"v{metadata['version']}"
        if address:
            text = _TARGET.sub(
                lambda link: f"{link[1]}{address}/{'raw' if link[1][0] == '!' else 'blob'}/{tag}/{link[2]}", text
            )
            pages = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md", "Security": "SECURITY.md"}
            urls = {name: f"{address}/blob/{tag}/{page}" for name, page in pages.items()}
            metadata["urls"] = {"Homepage": address, "Issues": f"{address}/issues", **urls}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class Rules(BuildHookInterface[Any]):
    """Writes ``rules.json`` next to ``rules.toml``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        plugins = Path(self.root, "plugins")
        sys.path.insert(0, str(plugins))
        from holdfast_redaction.rules.table import tables

        path = plugins / "holdfast_redaction" / "rules" / "rules.toml"
        source = path.read_bytes()
        compiled = {"source": crc32(source), "rows": tables(source.decode())}
        path.with_suffix(".json").write_text(json.dumps(compiled), encoding="utf-8")
        build_data["artifacts"].append("plugins/holdfast_redaction/rules/rules.json")
