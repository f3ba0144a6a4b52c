"""The public API is a list in docs/versions.md, and the code has exactly that."""

import importlib
import re
import tomllib

from tests.support import public_api

import holdfast
from holdfast import api


def test_public_names__of_the_package__are_those_of_the_page(root):
    page = (root / "docs" / "versions.md").read_text(encoding="utf-8")
    line = page.partition("`holdfast.__all__`:")[2].partition(".\n")[0]
    named = re.findall(r"`(\w+)`", line)
    assert named == sorted(holdfast.__all__)


def test_public_modules__of_the_page__are_public_in_the_architecture(root):
    page = (root / "docs" / "versions.md").read_text(encoding="utf-8")
    section = page.partition("## The public API")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(holdfast\.[a-z]\w*)`", section))
    tables = tomllib.loads((root / "tests" / "repo" / "architecture.toml").read_text(encoding="utf-8"))
    assert named
    assert named <= set(tables["public"])


def test_public_modules__all_of_them__import_and_say_what_they_are_for():
    assert [name for name in public_api.modules() if not importlib.import_module(name).__doc__] == []


def test_public_modules__on_their_page__are_as_in_the_code(root):
    assert (root / "docs" / "plugin-api.md").read_text(encoding="utf-8") == public_api.page(), public_api.__doc__


def test_api__each_name__is_its_modules():
    assert {name: getattr(api, name) for name in api.__all__}.keys() == set(dir(api))
    assert [name for name in holdfast.__all__ if getattr(api, name) is not getattr(holdfast, name)] == []
