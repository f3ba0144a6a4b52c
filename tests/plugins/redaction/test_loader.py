"""A user's own rules in the form of gitleaks and betterleaks."""

import re
from pathlib import Path

import pytest

from holdfast.errors import ConfigError
from holdfast.plugin.discovery import PluginContext
from holdfast_redaction import Redaction

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
    import sys

    monkeypatch.setitem(sys.modules, "re2", None)  # as if it were not installed: RE2 itself cannot run away
    with pytest.raises(ConfigError, match=r"'bad-rule' in gitleaks\.toml"):
        redactor(project, f"[[rules]]\nid = 'bad-rule'\nregex = '''{regex}'''\n")
