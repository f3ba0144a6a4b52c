"""The classes behind ``holdfast.Holdfast`` and ``holdfast.Session``: what holdfast's own distribution declares in the
group ``holdfast.application``, otherwise the kernel's own. The kernel names no application."""

from holdfast.plugin import discovery
from holdfast.project import Project
from holdfast.session.session import Session as KernelSession


def _declared() -> type[Project]:
    for one in discovery.scan():
        if one.group == discovery.APPLICATION and one.distribution == discovery.OWN:
            return discovery.import_object(one)  # type: ignore[return-value]
    return Project


Holdfast = _declared()
Session = Holdfast.session_type or KernelSession
