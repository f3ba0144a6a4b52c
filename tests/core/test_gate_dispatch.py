"""The gate and the guards: what a plugin gets wrong never opens a gate, and never goes unnamed."""

import itertools
import re
import threading
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.api import Extraction, Finding, FlushRefused, HookFailed, Refused, hookimpl
from holdfast.config.values import PluginConfig
from holdfast.gate import Gate
from holdfast.plugin.manager import PluginManager
from holdfast.validation import Chunks, ValidationRequest, mask
from holdfast_app.capture import label
from holdfast_app.dream.checking import filter_lines


def validator(answer, **register):
    """A gate with one validator that returns ``answer(request)``."""

    class Validator:
        @hookimpl
        def on_validate(self, request):
            return answer(request)

    manager = PluginManager()
    manager.register(Validator(), "mine", "dist 1.0", **register)
    return Gate(manager)


def finding(start: int, end: int, replacement: str | None = "*", **more) -> Finding:
    return Finding(rule="r", message="m", span=(start, end), replacement=replacement, **more)


@pytest.mark.req("R166")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda s: 1 / 0, "ZeroDivisionError"),  # not its words: they may quote the text
        (lambda s: exec("raise SystemExit(3)"), "SystemExit"),
        (lambda s: None, "NoneType"),
        (lambda s: "fine", "str"),
        (lambda s: ["fine"], "list"),
        (lambda s: (f for f in ()), "generator"),
        (lambda s: 0, "int"),
        (lambda s: [finding(0, 1, "\ud800")], "UnicodeEncodeError"),
        (lambda s: [finding(0, 1, 5)], "TypeError"),
        (lambda s: [Finding(rule="r", message="m", span=(0,))], "TypeError"),
    ],
)
def test_validator__raises_or_returns_a_wrong_type__refuses_and_is_named(answer, reason):
    with pytest.raises(HookFailed, match=reason) as failed:
        validator(answer).admit("text", surface="daily")
    assert (failed.value.plugin, failed.value.distribution, failed.value.hook) == ("mine", "dist 1.0", "on_validate")
    assert "[plugins.mine] enabled = false" in failed.value.next_step


def test_refusal__one_rule_in_several_texts__is_said_once():
    with pytest.raises(Refused, match=r"refused: m \(r\)\. "):
        validator(lambda s: [Finding(rule="r", message="m")]).admit_all(["one", "two"], surface="daily")


@pytest.mark.parametrize(
    ("steps", "reason"),
    [([[], None, [finding(0, 4)]], "NoneType"), (itertools.repeat([]), "do not end"), ([[], "fine"], "str")],
)
def test_validator__chunks_are_wrong_or_endless__refuses_and_is_named(monkeypatch, steps, reason):
    """None counted as the end, so the findings after it were lost."""
    monkeypatch.setattr("holdfast.plugin.calls._MAX_STEPS", 1_000)
    with pytest.raises(HookFailed, match=rf"'mine'.*{reason}"):
        validator(lambda s: Chunks(iter(steps))).admit("text", surface="daily")


@pytest.mark.parametrize("said", ["word " * 1_000_000, "x" * 5_000_000, None])
def test_plugin__error_without_a_usable_message__is_named_at_once(opened, said):
    """Megabytes were masked for minutes, and a message that cannot be made was an unforeseen error without a name."""

    class Odd(Exception):
        def __str__(self):
            if said is None:
                raise RuntimeError
            return said

    class Bad:
        @hookimpl
        def on_flush(self, payload, receipt):
            raise Odd

    session = opened(Bad()).session("s")
    session.add("user", "hello")
    began = time.process_time()
    with pytest.raises(FlushRefused, match=r"'test0' \(this process\) failed in on_flush: Odd") as refused:
        session.flush()
    assert time.process_time() - began < 2
    assert len(refused.value.message) < 3_000


def test_plugin__object_with_a_table__has_its_deadline(opened):
    late = SimpleNamespace(on_validate=hookimpl(lambda request: time.sleep(0.5)))
    with pytest.raises(HookFailed, match="longer than"):
        opened(late, plugins={"test0": PluginConfig(deadline_s=0.1)}).session("s").add("user", "hi")


@pytest.mark.req("R166")
def test_validators__several__none_follows_a_late_one():
    called: list[str] = []
    go = threading.Event()

    class Validator:
        def __init__(self, name: str) -> None:
            self.name = name

        @hookimpl
        def on_validate(self, request):
            called.append(self.name)
            if request.text == self.name:
                go.wait(20)
            return []

    manager = PluginManager()
    for name in ("third", "late", "first"):  # the last registered is called first
        manager.register(Validator(name), name, deadline_s=0.4 if name == "late" else 20)
    Gate(manager).admit("text", surface="daily")
    assert called == ["first", "late", "third"]
    before = {*threading.enumerate()}
    with pytest.raises(HookFailed, match=r"'late'.*longer than 0\.4 s"):
        Gate(manager).admit("late", surface="daily")
    go.set()
    for thread in {*threading.enumerate()} - before:
        thread.join(20)
    assert len(called) == 5


def test_extractor__one_fails__the_other_is_heard_and_the_failure_named(opened):
    class Good:
        @hookimpl
        def on_extract(self, turns):
            return Extraction(summary="good")

    class Bad:
        @hookimpl
        def on_extract(self, turns):
            raise RuntimeError("boom")

    line = Bad.on_extract.__code__.co_firstlineno + 2

    class Wrong:
        @hookimpl
        def on_extract(self, turns):
            return {"summary": "a dict"}

    session = opened(Bad(), Good(), Wrong()).session("s")
    session.add("user", "hello")
    receipt = session.flush()
    assert "### Summary\n\ngood" in receipt.summary
    warnings = "\n".join(receipt.warnings)
    assert "'test0' (this process) failed in on_extract: RuntimeError: boom" in warnings
    assert f"It failed at core/test_gate_dispatch.py:{line}." in warnings
    assert "'test2' (this process) failed in on_extract: it returned dict" in warnings


@given(
    st.text(alphabet="abc", max_size=30),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted), max_size=6),
)
def test_mask__any_spans__no_character_of_any_span_is_left(text, spans):
    marked = [finding(start, end, "") for start, end in spans]
    kept = [c for n, c in enumerate(text) if not any(start <= n < end for start, end in spans)]
    assert mask(text, marked) == "".join(kept)


@pytest.mark.parametrize("span", [(10, 12), (3, 3), (2, 1), (-5, -2)])
def test_gate__error_whose_span_masks_nothing__refuses(span):
    with pytest.raises(Refused):
        validator(lambda s: [finding(*span)]).admit("text", surface="daily")


def test_gate__warning__lets_pass_and_is_noted_once():
    warning = Finding(rule="w", message="hm", severity="warning")

    def answer(request):
        return [warning, *([finding(0, 1, "-")] if request.text.startswith("s") else [])]

    notes: list[Finding] = []
    assert validator(answer).admit("sxt", surface="daily", notes=notes) == "-xt"
    assert notes == [warning]


def test_gate__error_that_stood_there_before__does_not_refuse_and_a_new_one_does():
    def answer(request):
        lines = request.text.splitlines()
        return [Finding(rule="no-x", message="x", line=n) for n, line in enumerate(lines, 1) if line.startswith("x")]

    gate = validator(answer)
    assert gate.admit("x by hand\nnew", surface="memory", previous="x by hand\n") == "x by hand\nnew"
    with pytest.raises(Refused):
        gate.admit("x by hand\nx new", surface="memory", previous="x by hand\n")


@pytest.mark.parametrize("way", ["admit_all", "outgoing_all"])
def test_gate__five_megabytes_in_many_texts__no_question_is_larger_than_a_validator_can_judge(way):
    asked = []

    def answer(request):
        asked.append(len(request.text))
        return [finding(m.start(), m.end(), "***") for m in re.finditer("secret", request.text)]

    texts = [f"{number} secret " + "x" * 5_000 for number in range(1_000)] + ["", "y" * 900_000, ""]
    got = getattr(validator(answer), way)(texts, surface="daily")
    assert got == [text.replace("secret", "***") for text in texts]
    assert max(asked) < 1_000_000
    assert sum(size > 300_000 for size in asked) <= 1  # one text is judged whole: a secret may be anywhere in it
    assert len(asked) < 100


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("default", True),
        ("fix-login", True),
        ("claude-code-0b0f7a52-1f6e-4c57-9a34-5ad1ad8c1c11", True),
        ("opencode-ses_6f3a1bc2dffeAbCdEfGhIj1234", True),
        ("ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8", False),
        ("4111-1111-1111-1111", False),
        ("AKIA" + "A" * 16, False),
        ("s1", False),
        ("a" * 500, False),
    ],
)
def test_identifier__form_of_the_id__decides_whether_validators_are_asked(given, plain):
    asked = []
    assert validator(lambda request: asked.append(request) or []).identifier(given) == given
    assert (not asked) is plain


def test_identifier__secret_without_a_replacement__is_refused_only_for_an_error():
    gate = validator(lambda request: [finding(0, 6, None, severity="warning")])
    assert gate.identifier("SECRET-1") == "SECRET-1"
    gate = validator(lambda request: [finding(0, 6, None)])
    with pytest.raises(Refused, match="an id"):
        gate.identifier("SECRET-1")
    assert label(gate, "SECRET-1") == ""


def test_admit_all__the_same_warning_in_several_chunks__is_noted_once():
    gate = validator(lambda request: [Finding(rule="r", message="m", severity="warning")])
    notes = [Finding(rule="earlier", message="m", severity="warning")]
    texts = ["x" * 200_000 for _ in range(4)]
    assert gate.admit_all(texts, surface="daily", notes=notes) == texts
    assert [note.rule for note in notes] == ["earlier", "r"]


def test_admit_all__texts_are_refused_only_when_joined__each_is_admitted_with_its_warnings():
    def answer(request):
        severity = "error" if "\n" in request.text else "warning"
        return [Finding(rule=request.text[:3], message="m", severity=severity)]

    notes: list[Finding] = []
    assert validator(answer).admit_all(["one", "two"], surface="daily", notes=notes) == ["one", "two"]
    assert [note.rule for note in notes] == ["one", "two"]


@pytest.mark.parametrize("line", [None, 0, 3])
def test_sift__error_in_no_line_of_the_text__the_whole_text_is_refused(line):
    gate = validator(lambda request: [Finding(rule="r", message="m", line=line)])
    with pytest.raises(Refused, match="m"):
        filter_lines(gate, ValidationRequest("memory", "", "one\ntwo\n"))


def test_identifier__secret_and_a_remark_about_the_whole_id__only_the_secret_is_masked():
    def answer(request):
        remark = Finding(rule="r", message="m", severity="error")
        return [remark, finding(2, 8, "***")] if "secret" in request.text else [remark]

    assert validator(answer).identifier("S-secret") == "S-***"
    assert validator(answer).identifier("S-other") == "S-other"
