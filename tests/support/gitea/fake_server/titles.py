"""How the server cuts a long title: silently, and by width instead of length."""

import unicodedata

#: In estimated columns: Latin letters take one, most others two.
WIDEST = 255
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
#: The ellipsis counts as three columns, and the last few characters are kept if they fit instead of it.
_ROOM = 3
#: Marks, formatting characters and spaces take one column, wherever they are from.
_NARROW = ("Mn", "Mc", "Me", "Cf", "Cs", "Zs", "Zl", "Zp")


def stored(title: str) -> str:
    """The title as it will be read back. At most 255 characters, fewer for scripts of wide letters.

    Source: read in Gitea's own ``EllipsisDisplayString`` (v1.25.4, v1.26.3) and seen on v1.26.3.
    """
    if len(title.encode()) <= WIDEST:
        return title
    used = end = 0
    while end < len(title) and used + _width(title[end]) + _ROOM <= WIDEST:
        used += _width(title[end])
        end += 1
    rest = title[end:]
    if len(rest) <= _ROOM and used + sum(map(_width, rest)) <= WIDEST:
        return title
    return title[:end] + ELLIPSIS


def _width(letter: str) -> int:
    if ord(letter) <= 0xFF:
        return 1
    if letter == "\N{IDEOGRAPHIC SPACE}":
        return 2
    return 1 if unicodedata.category(letter) in _NARROW else 2
