"""``HOLDFAST_TRACE=hooks`` shows each call of a hook on stderr."""

import re

from holdfast import Holdfast, hookimpl

LINE = re.compile(r"^holdfast: hook (\w+) of (\w+) \((.+)\): (.+), (\d+\.\d) ms$")


class Loud:
    EXTRACTS_AT_ONCE = True

    @hookimpl
    def on_validate(self, request):
        return ()

    @hookimpl
    def on_extract(self, turns):
        raise RuntimeError("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")


def test_trace__of_hooks__shows_hook_plugin_distribution_outcome_and_time_and_no_text(project, monkeypatch, capsys):
    monkeypatch.setenv("HOLDFAST_TRACE", "hooks")
    monkeypatch.setenv("HOLDFAST_PLUGINS__LOUD__DEADLINE_S", "inf")
    with Holdfast.open(project, plugins=[("loud", Loud())]) as memory:
        session = memory.session("s")
        session.add("user", "the password of staging is tulip")
        session.flush()
    out, err = capsys.readouterr()
    lines = [LINE.match(line) for line in err.splitlines()]
    assert all(lines), err
    seen = {(m[1], m[2], m[3]) for m in lines if m}
    assert ("on_validate", "loud", "this process") in seen
    assert ("on_validate", "redaction") in {row[:2] for row in seen}
    assert {m[4] for m in lines if m and (m[1], m[2]) == ("on_extract", "loud")} == {"failed (RuntimeError)"}
    assert out == ""
    assert "tulip" not in err
    assert "ghp_" not in err
