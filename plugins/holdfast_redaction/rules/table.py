"""The constants compiled from ``rules.toml``.

Compiling takes a tenth of a second, too long for a hook. So building or installing the distribution
(``hatch_build.py``) writes them to ``rules.json``. Where that is missing or made from other rules, they are compiled on
import.
"""

from __future__ import annotations

import json
import os
from zlib import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(_HERE, "rules.toml")
COMPILED = os.path.join(_HERE, "rules.json")


def _read() -> Any:
    with open(SOURCE, "rb") as file:
        source = file.read()
    try:
        with open(COMPILED, "rb") as made:
            compiled = json.loads(made.read())
        if compiled["source"] == crc32(source):
            return compiled["tables"]
    except (OSError, ValueError, LookupError):
        pass  # a checkout that was not built
    from holdfast_redaction.rules.build import tables

    return tables(source.decode("utf-8"))


#: ``RULES`` has a row per rule, in the order of ``patterns.Rule``'s fields. ``ANYWHERE`` numbers the rules without a
#: keyword, each with the shortest matching word's length. ``WORDS``, ``TEXT`` and ``LOWER`` are
#: keywords with their rules' numbers: of long words, of the whole text, and of the text in lower case.
RULES, ANYWHERE, WORDS, TEXT, LOWER = _read()
