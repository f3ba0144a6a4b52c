"""An extraction's result, with candidate facts and the user's profile."""

from __future__ import annotations

from attrs import field, frozen

from holdfast.models.checks import strings
from holdfast.models.payload import Payload


@frozen(kw_only=True)
class FactCandidate:
    """An extractor's proposal; not yet checked, deduplicated or stored."""

    content: str
    category: str
    confidence: float
    source: str = ""


@frozen(kw_only=True)
class Profile:
    """The user and recent activity, a few sentences each; empty where nothing is known. Source: R063, R064."""

    work: str = ""
    personal: str = ""
    top_of_mind: str = ""
    recent: str = ""
    earlier: str = ""
    background: str = ""


@frozen(kw_only=True)
class Extraction:
    """The result of ``on_extract``: a summary, candidate facts, and the payload fields it found (others None).

    ``profile`` holds new information about the user; core merges it into the stored profile. ``retire`` lists the ids
    of facts shown to the extractor that the turns make obsolete.
    """

    summary: str = ""
    facts: tuple[FactCandidate, ...] = field(default=(), converter=tuple[FactCandidate, ...])
    draft: Payload = field(factory=Payload)
    profile: Profile = field(factory=Profile)
    retire: tuple[str, ...] = field(default=(), converter=strings)
