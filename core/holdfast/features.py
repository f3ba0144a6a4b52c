"""The methods of :class:`holdfast.Holdfast` that packages add: the door for features.

A distribution adds a method by an entry point in the group ``holdfast.methods``: the method's name, and a function
whose first argument is the opened project. It is imported at the first call. Nothing has to be enabled, because a
method does nothing until it is called (docs/hooks.md).

Methods declared here have their types, for callers and their type checkers; the code is in the packages. Other methods
are found by their name at run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast import discovery
from holdfast.errors import PluginNotFound


class Features:
    """The base class of :class:`holdfast.Holdfast`. Every method raises PluginNotFound when no installed distribution
    provides it."""

    if not TYPE_CHECKING:  # a type checker is to see a misspelt name

        def __getattr__(self, name: str) -> Any:
            from functools import partial

            if not name.startswith("_"):
                try:
                    return partial(discovery.method(name), self)
                except PluginNotFound:
                    pass
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _call(self, name: str, *args: object, **options: object) -> Any:
        return discovery.method(name)(self, *args, **options)
