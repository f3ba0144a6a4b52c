"""Sentences hidden by an encoding that an agent can read."""

import base64
import codecs
from contextlib import suppress
from typing import Final

from holdfast.text.lazy import Lazy

#: As many base64 or hexadecimal digits as a short sentence has.
_LEAST: Final = 20
_RUN: Final = Lazy(rf"[A-Za-z0-9+/_-]{{{_LEAST},20000}}={{0,2}}")

_URL_SAFE: Final = str.maketrans("-_", "+/")


def decoded(text: str) -> str:
    """What the encoded runs of ``text`` say, a line each. A digest or a key says nothing."""
    runs = (match[0] for word in text.split() if len(word) >= _LEAST for match in _RUN.finditer(word))
    readings = (reading for run in runs for reading in _readings(run))
    return "\n".join(text for text in readings if " " in text and text.replace("\n", " ").isprintable())


def _readings(run: str) -> list[str]:
    readings = []
    with suppress(ValueError):
        readings.append(bytes.fromhex(run).decode())
    with suppress(ValueError):
        digits = run.rstrip("=").translate(_URL_SAFE)
        readings.append(base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True).decode())
    return readings


def hides(letters: str, row: str) -> bool:
    """Whether ``row`` has ``letters`` backwards, or each thirteen places on in the alphabet."""
    return letters[::-1] in row or codecs.encode(letters, "rot13") in row
