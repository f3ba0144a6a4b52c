"""The services that the features get, with the settings of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.session import services

if TYPE_CHECKING:
    from holdfast_app.config import Config


class Services(services.Services):
    """:mod:`holdfast_app.services` answers the kernel's questions with the features, which stand on this class."""

    config: Config
