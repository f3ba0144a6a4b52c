"""Remove characters that are invisible or reorder the text around them before it is stored.

A reader must see the same text as the model. So invisible characters are removed, and reordering ones (bidirectional
embeddings, overrides and isolates) become visible escapes. Characters that a script needs stay: joiners after a letter
of a script that spells with them and within emoji, direction marks next to right-to-left letters, zero-width spaces
between letters of scripts without blanks, one variation selector after a character, the tags of flag emoji, a
byte-order mark at the start.
"""

import re

from holdfast.text.lazy import Lazy

_RTL = r"\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_SOUTH_EAST = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\ua9e0-\ua9ff\uaa60-\uaa7f"
_FORMS = (
    ("keep", r"\U0001f3f4[\U000e0020-\U000e007e]{1,12}\U000e007f"),  # a flag
    ("line", r"[\u0085\u2028\u2029]"),
    ("control", r"[\u0080-\u009f]"),
    ("shown", r"[\u202a-\u202e\u2066-\u2069]"),
    # A joiner is kept after an emoji character or a script other than Latin, Greek and Cyrillic.
    ("gone", r"(?<![\u0590-\u1fff\u2190-\u2bff\u2e80-\uffee\U00010000-\U000dffff])[\u200c\u200d]"),
    ("gone", r"(?<=[\u200c\u200d])[\u200c\u200d]"),
    ("gone", rf"(?<![{_RTL}])[\u061c\u200e\u200f]+(?!\s?[{_RTL}])"),
    ("gone", rf"(?<![{_SOUTH_EAST}])\u200b|\u200b(?![{_SOUTH_EAST}])"),
    ("gone", r"(?<!\A)\ufeff|[\u00ad\u180e\u2060-\u2065\u206a-\u206f\ufff9-\ufffb]"),
    # Fillers and joiners of other scripts, which stay next to their own letters.
    ("gone", r"(?<![\u0590-\u05ff])\u034f|[\u17b4\u17b5]"),
    ("gone", r"(?<![\u1100-\u11ff])[\u115f\u1160](?![\u1100-\u11ff])|[\u3164\uffa0]"),
    ("gone", r"(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+"),
    ("gone", r"[\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"),
)
#: All of their characters. Most text has none.
_MAY_BE = Lazy(
    r"[\u0080-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_ANY = Lazy("|".join(f"(?P<{kind}{number}>{form})" for number, (kind, form) in enumerate(_FORMS)))


def without(text: str) -> str:
    """``text`` as a reader sees it. Idempotent."""
    # Removing one may bring two others together.
    while _MAY_BE.search(text) and (clean := _ANY.sub(_instead, text)) != text:
        text = clean
    return text


def _instead(match: re.Match[str]) -> str:
    kind = (match.lastgroup or "").rstrip("0123456789")
    return {"keep": match[0], "line": "\n", "control": "�", "shown": f"\\u{ord(match[0][0]):04x}"}.get(kind, "")
