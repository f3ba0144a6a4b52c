"""The method added to an opened project; :class:`holdfast.plugin.features.Features` declares it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_validation.validation import Validation


def validate(memory: Holdfast, names: Iterable[str] = ()) -> Validation:
    from holdfast_validation.validation import validate

    return validate(memory.services, names)
