"""Checks that installed distributions bring to ``holdfast doctor``."""

import sys

import pytest
from tests.support import distributions
from tests.support.trusting import trusted


@pytest.fixture
def bring(tmp_path, monkeypatch):
    """``bring("acme", "def checks(memory): ...")``: a distribution of that name with such a check."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    def install(name, source):
        entries = f"[holdfast.checks]\n{name} = {name}_checks:checks\n[holdfast.plugins]\n{name} = {name}_plugin\n"
        modules = {f"{name}_plugin": "known_settings = ()\n", f"{name}_checks": source}
        distributions.install(tmp_path / "site", name, entries, **modules)
        for module in ("checks", "plugin"):
            monkeypatch.delitem(sys.modules, f"{name}_{module}", raising=False)

    return install


def of(result, name):
    return [check for check in result.json["checks"] if check["name"] == name]


CHECK = """from holdfast.api import Check
def checks(memory):
    return [Check(name="", outcome={}, message="fine")]
"""


def test_doctor__check_with_an_outcome_as_a_string__is_shown(run, project, bring):
    bring("acme", CHECK.format("'ok'"))
    trusted(project, "[plugins.acme]\n")
    assert "fine" in run("doctor").out
    assert of(run("doctor", "--json"), "acme")[0]["outcome"] == "ok"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def checks(memory):\n    raise KeyError('gone')\n", "KeyError"),
        ("def checks(memory):\n    return ['text']\n", "str is not a Check"),
        (CHECK.format("'bad'"), "'bad' is not a valid Outcome"),
        ("import nowhere_to_be_found\n", "nowhere_to_be_found"),
        ("import time\ndef checks(memory):\n    time.sleep(60)\n    yield\n", "it took longer than 0.3 s"),
    ],
)
def test_doctor__check_that_breaks__is_one_failed_line_and_the_others_are_there(run, project, bring, source, told):
    bring("acme", source)
    trusted(project, f"[plugins.acme]\ndeadline_s = {0.3 if 'sleep' in source else 30}\n")
    result = run("doctor", "--json")
    (check,) = of(result, "acme")
    assert check["outcome"] == "fail"
    assert told in check["message"]
    assert check["next_step"]
    assert of(result, "sessions")
    assert result.code == 1


BROKEN = """import time
from holdfast.api import hookimpl
known_settings = ()
@hookimpl
def on_validate(request):
    BODY
"""


@pytest.mark.parametrize(
    ("body", "told"), [("time.sleep(60)", "it took longer than 0.3 s"), ("return ['text']", "list of str")]
)
def test_doctor__validator_that_is_broken__is_named_once_and_the_other_checks_are_there(
    run, project, bring, body, told
):
    bring("acme", "def checks(memory):\n    return []\n")
    assert run("remember", "The deploy day is Tuesday").code == 0
    with open(sys.path[0] + "/acme_plugin.py", "w") as file:
        file.write(BROKEN.replace("BODY", body))
    trusted(project, f"[plugins.acme]\ndeadline_s = {0.3 if 'sleep' in body else 30}\n")
    result = run("doctor", "--json")
    (check,) = of(result, "validators")
    assert check["outcome"] == "fail"
    assert told in check["message"]
    assert "'acme'" in check["message"]
    assert "plugins.acme.enabled false" in check["next_step"]
    assert of(result, "sessions")
    assert of(result, "facts")[0]["outcome"] == "ok"
