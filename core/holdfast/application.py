"""The classes of ``holdfast.Holdfast``, ``holdfast.Session`` and ``holdfast.Config``: as holdfast's own distribution
declares them in the group ``holdfast.application``, otherwise the kernel's own. The kernel names no application."""

from holdfast.plugin import discovery
from holdfast.project import Project

Holdfast: type[Project] = discovery.declared("Holdfast") or Project


def __getattr__(name: str) -> object:
    if name == "Session":
        return Holdfast.session_type()
    if name == "Config":
        from holdfast.config.values import config_type

        return config_type()
    raise AttributeError(name)
