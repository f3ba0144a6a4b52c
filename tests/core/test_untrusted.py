import json
from itertools import product

import pytest

from holdfast import Holdfast
from holdfast.text import untrusted
from holdfast_cli import main


@pytest.mark.parametrize("line", ["{} = 1", "[{}]", "x = {{ {} = 1 }}", "[[{}]]"])
def test_from_toml__dotted_key_of_many_tables__not_valid(line):
    """Parsing it takes memory with the square of its length, and a walk over the result exceeds the recursion limit."""
    for key, dot, tables in product(["a", "'a'", '"a b"', "ключ"], [".", " . "], [101, 100_000]):
        with pytest.raises(ValueError, match="nested too deeply"):
            untrusted.from_toml(line.format(dot.join([key] * tables)))


@pytest.mark.parametrize("shape", ["[{}]", '{{"a":{}}}'])
@pytest.mark.parametrize("levels", [202, 900, 100_000])
def test_from_json__nested_in_hundreds_of_levels__not_valid(levels, shape):
    before, after = shape.format("\0").split("\0")
    text = before * levels + "1" + after * levels
    for data in (text, text.encode()):
        with pytest.raises(ValueError, match="nested too deeply"):
            untrusted.from_json(data)


def test_from_json__values_without_text__not_valid_unlike_text_of_that_form():
    dense = "[" + "{}," * 2**20 + "{}]"
    with pytest.raises(ValueError, match="too many values"):
        untrusted.from_json(dense)
    assert untrusted.from_json(json.dumps([dense, '\\"'])) == [dense, '\\"']


def test_purge__a_private_file_of_deeply_nested_json__searched_as_bytes(project, capsys):
    assert main(["--root", str(project), "add", "user", "Ana asked for the port."]) == 0
    deep = project / ".holdfast" / "state" / "put-there.json"
    deep.write_text('{"a":' * 900 + '"Ana"' + "}" * 900)
    assert main(["--root", str(project), "purge", "--subject", "Ana", "--yes"]) == 0, capsys.readouterr()
    assert not deep.exists() or "Ana" not in deep.read_text()


@pytest.mark.parametrize("command", ["load", "report", "doctor"])
def test_handoff__a_number_of_thousands_of_digits__is_reported_as_damage(project, capsys, command):
    with Holdfast.open(project) as memory:
        session = memory.session("s")
        session.add("user", "Fix the login test.")
        session.flush()
    handoff = project / ".holdfast" / "continuity" / "active.md"
    handoff.write_text(handoff.read_text().replace("version = 1", "version = " + "9" * 5_000))
    assert main(["--root", str(project), command]) == 1
    told = capsys.readouterr()
    assert "64 bits" in told.out + told.err


@pytest.mark.parametrize(
    "data", [b'{"a\xed\xa0\x80": ["\xed\xb0\x80"]}', r'{"a\ud800": ["\udc00"]}', rb'{"a\uD800": ["\uDC00"]}']
)
def test_from_json__lone_surrogates__become_storable(data):
    assert untrusted.from_json(data) == {"a\ufffd": ["\ufffd"]}
    assert untrusted.from_json(rb'"\ud83d\ude00"') == "😀"


def test_flush__lone_surrogate_in_the_marker__is_flushed(project):
    """The marker holds what somebody stated, and the next flush writes it again."""
    marker = b'{"session":"s1","at":"2026-11-21T00:00:00Z","reason":"manual","pending":{"pa\xed\xa0\x80yload":{}}}'
    with Holdfast.open(project) as memory:
        session = memory.session("s1")
        session.add("user", "hello")
        (project / ".holdfast/state/unsafe").mkdir()
        (project / ".holdfast/state/unsafe/s1.json").write_bytes(marker)
        assert session.flush().flush_id


@pytest.mark.parametrize(
    "before",
    [
        "",
        "[",
        "x = {",
        'x = {a = """q"""", ',
        "x = {a = '''q'''', ",
        'x = {a = "q\\\\", ',
        'x = {a = "", ',
        'y = "#"\n',
    ],
)
def test_from_toml__a_long_key_anywhere__is_refused(before):
    for part in ("a", '"a"', "'a'", '"a\\"x"'):
        with pytest.raises(ValueError, match="nested too deeply"):
            untrusted.from_toml(before + f"{part}." * 200 + "b = 1")
