from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from holdfast import untrusted
from holdfast.cli import main


@pytest.mark.parametrize("key", ["a", "'a'", '"a b"', "ключ"])
@pytest.mark.parametrize("line", ["{} = 1", "[{}]", "x = {{ {} = 1 }}", "[[{}]]"])
@pytest.mark.parametrize("dot", [".", " . "])
@pytest.mark.parametrize("tables", [101, 100_000])
def test_from_toml__dotted_key_of_many_tables__not_valid(tables: int, dot: str, line: str, key: str) -> None:
    """Such a key costs the parser memory with the square of its length, and whoever walks over the result recursion."""
    with pytest.raises(tomllib.TOMLDecodeError, match="nested too deeply"):
        untrusted.from_toml(line.format(dot.join([key] * tables)))


def test_from_toml__dotted_keys_within_inline_tables__not_valid() -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match="nested too deeply"):
        untrusted.from_toml("x = " + ("{ a" + ".a" * 50 + " = ") * 3 + "1" + " }" * 3)


def test_from_toml__long_values_with_few_dots__as_tomllib_reads_them() -> None:
    text = f'word = "{"a" * 1_000_000}"\ndots = "{"." * 100_000}"\nquotes = "{chr(39) * 100_000}"\n'
    assert untrusted.from_toml(text) == tomllib.loads(text)


def test_from_toml__tables_nested_as_people_nest_them__as_tomllib_reads_them() -> None:
    text = "[plugins.acme.rules]\nlist = [[1, 2], [{a.b.c = 3}]]\n" + "a" + ".a" * 90 + " = 1"
    assert untrusted.from_toml(text) == tomllib.loads(text)


def test_config__settings_with_a_key_of_many_tables__refused_with_the_next_step(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "holdfast.toml").write_text("a" + ".a" * 5_000 + " = 1\n")
    assert main(["--root", str(project), "config"]) == 2
    assert "nested too deeply" in capsys.readouterr().err
