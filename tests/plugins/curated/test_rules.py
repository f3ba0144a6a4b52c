"""The rules over lines whose answer is known. The lists lie beside this file; add a line when a rule is wrong."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import field, frozen

from holdfast.validation import ValidationRequest
from holdfast_app.curated import CuratedMemory

HERE = Path(__file__).parent


@frozen
class Context:
    settings: Mapping[str, object] = field(factory=dict)


def lines(name: str) -> list[str]:
    text = (HERE / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("# ")]


STANDING = lines("standing.txt")
REFUSED = [tuple(part.strip() for part in line.split(" | ", 1)) for line in lines("refused.txt")]


@pytest.fixture(scope="module")
def plugin() -> CuratedMemory:
    return CuratedMemory(context=Context())


@pytest.mark.parametrize("line", STANDING)
def test_curated__standing_fact__passes(plugin, line):
    assert list(plugin.on_validate(ValidationRequest("memory", "MEMORY.md", f"- {line}\n"))) == []


@pytest.mark.req("R108", "R154", "R155", "R156", "R158", "R173", "R176")
@pytest.mark.parametrize("surface", ["memory", "user"])
@pytest.mark.parametrize(("rule", "line"), REFUSED)
def test_curated__line_that_will_not_stand__is_refused(plugin, surface, rule, line):
    text = f"# Memory\n\n## Standing\n- Python 3.11 is the minimum\n- {line}\n"
    [finding] = plugin.on_validate(ValidationRequest(surface, f"{surface}.md", text))
    assert (finding.rule, finding.severity, finding.line) == (f"curated/{rule}", "error", 5)
    assert finding.message
    assert finding.fix


SENTENCES = (HERE.parents[1] / "data" / "curated" / "sentences.tsv").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(("where", "line"), [row.split("\t") for row in SENTENCES])
def test_curated__sentence_written_without_knowledge_of_the_rules__goes_where_it_belongs(plugin, where, line):
    found = plugin.on_validate(ValidationRequest("memory", "MEMORY.md", f"- {line}\n"))
    assert [one.severity for one in found] == ([] if where == "keep" else ["error"])
    assert all("daily note" in str(one.fix) for one in found)
