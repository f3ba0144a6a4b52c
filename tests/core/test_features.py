"""Methods that packages add to ``Holdfast``, and what is on by default: both are entry points of distributions."""

from collections.abc import Callable

import pytest
from tests.support import distributions

from holdfast.api import Holdfast, PluginLoadFailed
from holdfast.plugin import discovery
from holdfast_cli import main, table

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path, monkeypatch) -> Install:
    """``install(name, group, entries, source)``: a distribution with one module ``NAME_module``."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(name: str, group: str, entries: str, source: str = "") -> None:
        distributions.install(tmp_path, name, f"[{group}]\n{entries}\n", **{f"{name}_module": source})

    return make


def test_method__offered_by_two_distributions__is_an_error_that_names_both(install, opened):
    install("one", "holdfast.methods", "twice = one_module:f")
    install("two", "holdfast.methods", "twice = two_module:f")
    with pytest.raises(PluginLoadFailed, match="one and two"):
        opened().twice()  # type: ignore[attr-defined]


def test_command__of_holdfast_itself__is_not_replaced_by_another_distribution(install):
    install("greedy", "holdfast.commands", "purge = greedy_module\nflush = greedy_module", "SUMMARY = 'mine'")
    assert table.summary("purge") != "mine"
    assert table.summary("flush") != "mine"
    assert not any("mine" in group.values() for group in table.described().values())


def test_defaults__of_another_distribution__do_not_count(install):
    install("pushy", "holdfast.defaults", "pushy = pushy_module")
    assert any(f.distribution == "pushy" for f in discovery.scan())
    assert "pushy" not in discovery.defaults()
    assert "redaction" in discovery.defaults()


def test_name_of_an_own_plugin__taken_by_another_distribution__is_not_to_be_switched_off(install, project, capsys):
    install("evil", "holdfast.plugins", "redaction = evil_module:Plugin")
    with Holdfast.open(project) as memory, pytest.raises(PluginLoadFailed) as refused:
        memory.session("s").add("user", "Fix the parser")
    assert refused.value.next_step == "Uninstall all but one."
    assert main(["doctor", "--root", str(project)]) == 1
    assert "redaction.enabled" not in capsys.readouterr().out
