"""The classes of ``holdfast.Holdfast`` and ``holdfast.Session``: as holdfast's own distribution declares them in the
group ``holdfast.application``, otherwise the kernel's own. The kernel names no application."""

from holdfast.plugin import discovery
from holdfast.project import Project


def _declared() -> type[Project]:
    for one in discovery.scan():
        if one.group == discovery.APPLICATION and one.distribution == discovery.OWN:
            return discovery.import_object(one)  # type: ignore[return-value]
    return Project


Holdfast = _declared()


def __getattr__(name: str) -> object:
    if name == "Session":
        return Holdfast.session_type()
    raise AttributeError(name)
