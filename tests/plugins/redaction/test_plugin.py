"""The plugin as core sees it: findings, policy, placeholders that are stable within a store, and failing closed."""

# ruff: noqa: E501
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.api import ConfigError, HookFailed, PluginContext, Refused
from holdfast.gate import Gate
from holdfast.plugin.manager import PluginManager
from holdfast_redaction import Redaction
from holdfast_redaction.patterns import RedactionFailed

SECRET = "hunter2hunter"
TEXT = f"the password is {SECRET}, ask jane@corp.dev"


def plugin(project: Path, **settings: object) -> Redaction:
    return Redaction(context=PluginContext("redaction", settings, str(project), str(project / "state")))


def gate(of: Redaction) -> Gate:
    manager = PluginManager()
    manager.register(of, "redaction")
    return Gate(manager)


@pytest.mark.req("R240", "R241")
def test_plugin__through_the_gate__masks_the_secret_and_nothing_else(project):
    admitted = gate(plugin(project)).admit(TEXT, surface="daily")
    assert re.fullmatch(
        r"the password is \[REDACTED:password:[0-9a-f]{4}\], ask \[REDACTED:email:[0-9a-f]{4}\]", admitted
    )


@pytest.mark.req("R243")
def test_policy__refuse__refuses_the_write_and_a_surface_stands_above_the_general_one(project):
    refusing = gate(plugin(project, policy={"secret": "refuse"}))
    with pytest.raises(Refused) as refused:
        refusing.admit(TEXT, surface="daily")
    assert SECRET not in str(refused.value) + refusing.outgoing(TEXT, surface="daily")
    of = plugin(project, policy={"pii": "refuse"}, surfaces={"user": {"email": "allow"}})
    assert "jane@corp.dev" in gate(of).admit("ask jane@corp.dev", surface="user")
    with pytest.raises(Refused):
        gate(of).admit("ask jane@corp.dev", surface="daily")


@pytest.mark.parametrize(
    "settings",
    [
        {"polcy": {}},
        {"policy": {"secret": "hide"}},
        {"policy": {"secrets": "mask"}},
        {"surfaces": {"user": "mask"}},
        {"budget_s": 0},
        {"rules": "x.toml"},
        {"rules": ["missing.toml"]},
        {"rules": ["../outside.toml"]},
    ],
)
def test_settings__that_cannot_be_used__are_an_error_with_their_path(project, settings):
    with pytest.raises(ConfigError, match=r"plugins\.redaction|rules file"):
        plugin(project, **settings)


def test_placeholder__of_equal_secrets__is_the_same_in_every_process_of_a_store(project):
    code = (
        "import sys; from holdfast.plugin.discovery import PluginContext; from holdfast_redaction import Redaction;"
        "print(Redaction(PluginContext('redaction', {}, sys.argv[1], sys.argv[1] + '/state')).redact('password=' + sys.argv[2]))"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(project), SECRET], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    printed = {process.communicate(timeout=60)[0] for process in running}
    assert len(printed) == 1
    key = project / "state" / "redaction.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert sorted(p.name for p in key.parent.iterdir()) == [
        ".gitignore",
        "owner",
        "redaction.key",
        "redaction.key.lock",
    ]


def test_key_file__damaged__refuses_and_says_what_to_do(project):
    (project / "state").mkdir()
    (project / "state" / "redaction.key").write_bytes(b"short")
    with pytest.raises(RedactionFailed, match="Delete it"):
        plugin(project).redact(TEXT)


@pytest.mark.req("R240")
def test_rule__that_runs_past_its_budget__refuses_the_write(project):
    """With a budget that nothing can keep, so that the real clock shows it."""
    of = plugin(project, budget_s=1e-9)
    of._scanner._seconds = -1e9
    with pytest.raises(HookFailed) as failed:
        gate(of).admit(TEXT, surface="daily")
    assert SECRET not in str(failed.value)


RULES = r"""
title = "ours"
[allowlist]
stopwords = ["sample"]
[[rules]]
id = "Acme Token"
description = "Acme"
regex = '''(?:tok)_acme-([a-z0-9]{8,})'''
keywords = ["_ACME-"]
entropy = 1.5
secretGroup = 1
[[rules.allowlists]]
regexes = ['''^public''']
[[rules]]
id = "paths-only"
path = '''\.pem$'''
"""


def redactor(project: Path, text: str) -> Redaction:
    (project / "gitleaks.toml").write_text(text, encoding="utf-8")
    return Redaction(
        context=PluginContext("redaction", {"rules": ["gitleaks.toml"]}, str(project), str(project / "state"))
    )


def test_loader__a_users_rule__masks_its_group_and_keeps_to_its_allow_list(project):
    of = redactor(project, RULES)
    assert re.fullmatch(
        r"got tok_acme-\[REDACTED:acme-token:[0-9a-f]{4}\] back", of.redact("got tok_acme-q1w2e3r4t5 back")
    )
    for clean in ("tok_acme-public12", "tok_acme-sample1234", "tok_acme-aaaaaaaaaa", "tok_other-q1w2e3r4t5"):
        assert of.redact(clean) == clean


@pytest.mark.parametrize("regex", ["(", "(a+)+$", "(ab|a)*b", "(?:a?){30}a{30}", "a{3,1}", "(?:x)(?i)a"])
def test_loader__a_broken_or_catastrophic_expression__is_named_and_refused(project, regex, monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)  # as if it were not installed: RE2 itself cannot run away
    with pytest.raises(ConfigError, match=r"'bad-rule' in gitleaks\.toml"):
        redactor(project, f"[[rules]]\nid = 'bad-rule'\nregex = '''{regex}'''\n")
