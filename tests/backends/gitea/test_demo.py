"""``holdfast demo --gitea``: what it shows is what happens, and it leaves nothing behind but its project."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from holdfast_cli import main
from holdfast_cli.demo.trail import PLUGIN


@pytest.mark.req("R077", "R141", "R174")
def test_demo__with_gitea__comment_then_degraded_then_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environment = dict(os.environ)
    assert main(["demo", "--gitea", "--dir", str(tmp_path / "demo")]) == 0
    shown = capsys.readouterr().out
    first, second, third = (shown.index(f"\n{n}. ") for n in (1, 2, 3))
    assert "**review**: approved on the condition" in shown[first:second]
    assert "/shop/payments/pulls/218#issuecomment-1" in shown[first:second]
    assert "Degraded: 1 item waits to be published" in shown[second:third]
    assert "1 item waits to be published, the oldest just now" in shown[second:third]
    assert "nothing waits to be published" in shown[third:]
    assert "**decision** shop/payments#218" in " ".join(shown[third:].split())
    assert dict(os.environ) == environment
    assert f"[plugins.{PLUGIN}]" in (tmp_path / "demo/holdfast.toml").read_text()


def test_demo__without_the_http_library__says_what_to_install_before_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    assert main(["demo", "--gitea", "--dir", str(tmp_path / "demo")]) == 3
    told = capsys.readouterr()
    assert "holdfast-memory[gitea]" in told.err
    assert "1. " not in told.out
