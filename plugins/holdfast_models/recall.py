"""Recalled memory is data, so it is fenced on output and never treated as a new message."""

import re

from holdfast.text.lazy import Lazy

OPEN, CLOSE = "<recalled-memory>", "</recalled-memory>"

#: Inserted into the tag's name wherever fenced text contains it, so that the text cannot contain the tag.
MARK = "[quoted]"

#: In folded text: everything between two letters or digits is noise that a lenient reader may skip.
_NOISE = r"[^a-z0-9\x01]*+"
_QUOTED = rf"(?:{re.escape(MARK)}|[^a-z0-9\x01])*+"
_NAME = Lazy(rf"({_NOISE.join('recalled')}){_QUOTED}{_NOISE.join('memory')}")
#: A ``<`` that may start a tag, a comment, an instruction or a model's token like ``<|im_end|>``, or an entity for it.
#: holdfast's own note markers stay, because a comment closed on its line hides nothing, and this form is not a
#: :func:`heading`.
_TAG_START = Lazy(r"<(?!!-- (?:holdfast:\w+ )?\w+=[^<>\n]*-->)(?=[^\W\d_]|\s*[/!?|｜])|&(?=(?:amp;)*lt;)")
_ENTITY = Lazy(r"&(?:amp;)*(?:#[0-9]{1,8}|#x[0-9a-f]{1,8}|[a-z][a-z0-9]{1,31});?", re.IGNORECASE)
#: Letters from other scripts that look like a letter in the name. Source: Unicode TR39, confusables.
_LOOK_ALIKE = dict(zip("асԁеӏмоуүгοαԛе", "acdelmoyyroaqe", strict=True))


def fence(text: str) -> str:
    """``text`` between the tags, defused so that it cannot close its own fence."""
    return f"{OPEN}\n{defuse(text)}\n{CLOSE}"


def defuse(text: str) -> str:
    """``text`` made safe to put between the tags; :func:`original` undoes it.

    The result does not contain the tag's name in any spelling: other case or width, with blanks, invisible characters
    or line ends inside, or as entities. So it cannot contain the tag, with any kind of bracket. No ``<`` in it starts
    another tag, comment or instruction either, which could close the client's own wrapper.
    """
    if "<" in text or "&" in text:
        text = _TAG_START.sub(lambda match: "&lt;" if match[0] == "<" else "&amp;", text)
    return without_name(text)


def without_name(text: str) -> str:
    """``text`` without the tag's name, in any spelling."""
    ends = [match.end(1) for match in _NAME.finditer(_folded(text))]
    if not ends:
        return text
    starts = [0, *ends]
    return MARK.join(text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True))


def _folded(text: str) -> str:
    """``text`` in lower case, with its length unchanged. Each character, and each entity at its first position, becomes
    the plain letter or digit that a lenient reader takes it for; letters not in the tag's name become U+0001."""
    if "&" in text:
        text = _ENTITY.sub(_decoded, text)
    return text.translate(_FOLDS)


def _decoded(entity: re.Match[str]) -> str:
    import html

    plain = html.unescape(html.unescape(re.sub("(?i)^&(amp;)+", "&", entity[0])).removesuffix(";"))
    return plain.ljust(len(entity[0]), "\0") if len(plain) == 1 else entity[0]


class _Folds(dict[int, str]):
    """Filled on demand."""

    def __missing__(self, code: int) -> str:
        import unicodedata

        char = chr(code)
        base = "".join(c for c in unicodedata.normalize("NFKD", char) if not unicodedata.combining(c)).casefold()
        base = _LOOK_ALIKE.get(base, base)
        if len(base) != 1 or not base.isascii():
            base = "\x01" if unicodedata.category(char)[0] in "LN" else "\0"
        self[code] = base
        return base


_FOLDS = _Folds()
