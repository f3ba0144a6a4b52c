"""The table of settings in docs/configuration.md. ``python -m tests.support.settings_page`` writes it."""

import json
from pathlib import Path

from holdfast.config.values import PluginConfig
from holdfast_app.config import Config
from holdfast_app.project_settings.resolved import described

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
_HEAD = "| key | default | meaning | a project may set |\n|---|---|---|---|\n"


def table() -> str:
    """The table as the settings' fields describe it."""
    lines = []
    for key, about in {**described(Config), **described(PluginConfig, "plugins.NAME.")}.items():
        default = "not set" if about.default is None else f"`{json.dumps(about.default)}`"
        lines.append(f"| `{key}` | {default} | {about.help} | {about.project.words} |\n")
    return _HEAD + "".join(lines)


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition("## Keys\n\n")
    after = rest.partition("\n\n")[2]
    PAGE.write_text(f"{before}## Keys\n\n{table()}\n{after}", encoding="utf-8")
