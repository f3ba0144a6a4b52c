"""The plugin: what it looks at, what it says, and what it does not import."""

from collections.abc import Mapping

import pytest
from attrs import field, frozen

from holdfast.models import Finding, Severity
from holdfast.validation import ValidationRequest
from holdfast_app.dream import Grounding

SOURCES = (("memory/2026-11-20.md", "# 2026-11-20\n\n- The cache of the gateway holds 300 entries.\n"),)


@frozen
class Context:
    settings: Mapping[str, object] = field(factory=dict)


def check(
    text: str, *, surface: str = "memory", sources: tuple[tuple[str, str], ...] = SOURCES, **settings: object
) -> list[Finding]:
    plugin = Grounding(context=Context(settings))
    return list(plugin.on_validate(ValidationRequest(surface, "MEMORY.md", text, sources)))


@pytest.mark.req("R028", "R029")
@pytest.mark.parametrize("surface", ["memory", "user", "profile"])
def test_on_validate__an_invented_number__one_error_with_line_token_and_nearest_source(surface):
    (finding,) = check(
        "# Memory\n\n- The cache of the gateway holds 300 entries\n- The gateway cache holds 900 entries\n",
        surface=surface,
    )
    assert finding.rule == "grounding/number"
    assert finding.severity is Severity.ERROR
    assert finding.line == 4
    assert "`900`" in finding.message
    assert "memory/2026-11-20.md line 3" in finding.message
    assert finding.replacement is None


@pytest.mark.req("R028")
def test_on_validate__words_of_its_own__are_unproven_until_a_judge_admits_them():
    line = "- The gateway caches 300 entries"
    (finding,) = check(f"{line}\n")
    assert finding.rule == "grounding/unproven"
    assert "cannot be proved" in finding.message
    request = ValidationRequest("memory", "MEMORY.md", f"{line}\n", SOURCES, entailed=(line,))
    assert list(Grounding(context=Context({})).on_validate(request)) == []
    (finding,) = Grounding(context=Context({"strict": True})).on_validate(request)
    assert finding.rule == "grounding/unsupported"


@pytest.mark.req("R028")
@pytest.mark.parametrize(("surface", "sources"), [("memory", ()), ("daily", SOURCES), ("diary", SOURCES)])
def test_on_validate__no_sources_or_another_surface__says_nothing(surface, sources):
    assert check("- 900 entries at https://nowhere.example\n", surface=surface, sources=sources) == []
