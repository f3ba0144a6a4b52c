"""Which rules an entry of the index was masked by, so that it is not masked again while they stay the same."""

from __future__ import annotations

import functools
import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from holdfast.fs import ownership_mark
from holdfast_memory import DISTRIBUTION

if TYPE_CHECKING:
    from holdfast import Holdfast

_HOOK: Final = "on_validate"
#: Optional libraries with which our validators find more.
_LIBRARIES: Final = ("re2", "stdnum")


def rules(memory: Holdfast) -> int:
    """A number for the validators, their settings and their files. 0 when a validator is not holdfast's own, is not
    loaded or has a user's own rules, because then its answer can change unnoticed."""
    plugins, config = memory.services.plugins, memory.config
    own = {one.name for one in plugins.statuses if one.distribution == DISTRIBUTION and one.status == "loaded"}
    names = plugins.implementing(_HOOK)
    settings = [config.plugin(name) for name in names]
    if (
        len(own) < len(plugins.statuses)
        or not own.issuperset(names)
        or any(one.settings.get("rules") for one in settings)
    ):
        return 0
    loaded = plugins.implementations_of(object)
    return _number(repr(settings), tuple(type(loaded[name]).__module__ for name in names))


@functools.cache
def _number(settings: str, modules: tuple[str, ...]) -> int:
    folders = {os.path.dirname(sys.modules[name].__file__ or "") for name in modules}
    files = sorted(os.path.join(one, name) for top in folders for one, _, names in os.walk(top) for name in names)
    stamps = [(path, os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in files if not path.endswith(".pyc")]
    known = [name for name in _LIBRARIES if find_spec(name)]
    return int(ownership_mark.digest(repr((settings, stamps, known)).encode(), size=6), 16) or 1
