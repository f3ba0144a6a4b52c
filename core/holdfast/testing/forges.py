"""The forge contract, on which the morning report and the outbox rely for every server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, NamedTuple

import pytest

from holdfast.errors import HoldfastError, Unsupported
from holdfast.models import Evidence, Payload, Receipt
from holdfast.testing.base import fails

_ALWAYS = datetime(2001, 1, 1, tzinfo=UTC)


class _Ask(NamedTuple):
    about: str
    target: str


class ForgeContract:
    """Tests of a forge (``holdfast_app.outbox.forge.Forge``). Override :attr:`target`, :meth:`happens`, :meth:`posted`,
    :meth:`down` and :attr:`known`, and give the fixture ``forge``. Tests whose override is missing are skipped."""

    #: Work that takes posts, as in a payload; empty for a forge that only reads.
    target: ClassVar[str] = ""
    #: A claim's ``about`` and ``target``, and a value of the answer, empty if the forge must leave the claim out.
    known: ClassVar[Mapping[tuple[str, str], str]] = {}
    #: The token, which no error may show.
    token: ClassVar[str] = ""

    @pytest.fixture
    def forge(self) -> Any:
        """The forge, with an empty private folder."""
        raise NotImplementedError

    def happens(self, text: str) -> None:
        """Let another user do something with ``text`` now, such as a comment."""
        pytest.skip("the suite was not told how something happens on this forge")

    def posted(self) -> Sequence[str]:
        """The server's post bodies on :attr:`target`."""
        pytest.skip("the suite was not told how to read posts")

    def down(self) -> AbstractContextManager[object]:
        """Let the forge be out of reach inside the block."""
        pytest.skip("the suite was not told how to make this forge unreachable")

    # what happened

    def test_g1_activity__something_happens__is_in_its_window_and_nowhere_else(self, forge: Any) -> None:
        before = datetime.now(UTC)
        self.happens("Deliver each webhook once")
        since, until = before - timedelta(seconds=2), datetime.now(UTC) + timedelta(seconds=2)
        events = [event for event in forge.activity(since, until) if "Deliver each webhook once" in event.text]
        assert events
        assert all(event.kind and event.pointer and since <= event.at <= until for event in events)
        earlier = forge.activity(_ALWAYS, before - timedelta(days=1))
        assert not [event for event in earlier if "Deliver each webhook once" in event.text]

    def test_g2_activity__read_again__is_the_same_and_in_order(self, forge: Any) -> None:
        for number in range(3):
            self.happens(f"Step {number}")
        until = datetime.now(UTC) + timedelta(seconds=2)
        first = list(forge.activity(_ALWAYS, until))
        assert first == list(forge.activity(_ALWAYS, until))
        moments = [event.at for event in first if event.kind != "incomplete"]
        assert moments == sorted(moments)
        assert all(moment.tzinfo is not None for moment in moments)

    def test_g3_activity__hard_text__is_one_short_line(self, forge: Any) -> None:
        self.happens("A first line \x1b[31mred\u2028and a second one " + "long " * 500)
        for event in forge.activity(_ALWAYS, datetime.now(UTC) + timedelta(seconds=2)):
            assert event.text.splitlines() in ([event.text], [])
            assert len(event.text) <= 400

    # claims

    def test_g4_facts__known_targets__have_their_value_and_others_are_left_out(self, forge: Any) -> None:
        assert dict(forge.facts([], _ALWAYS)) == {}
        if not self.known:
            pytest.skip("the suite knows no targets")
        asks = [_Ask(*ask) for ask in self.known]
        foreign = [_Ask(about, "\n") for about in ("state", "commit", "unheard of")]
        foreign += [_Ask("state", "not a target"), _Ask("state", "https://elsewhere.example/o/r/issues/1")]
        facts = forge.facts([*asks, *foreign], _ALWAYS)
        assert {ask: value for ask, value in self.known.items() if value and value not in facts.get(ask, ())} == {}
        assert [ask for ask in facts if not self.known.get(ask)] == []

    # posts

    def _publish(self, forge: Any, flush: str, *bodies: str) -> list[Evidence]:
        if not self.target:
            pytest.skip("this forge takes no posts")
        receipt = Receipt(flush_id=flush, session_id="s", reason="compaction", at=datetime.now(UTC))
        changes = [{"kind": "status", "target": self.target, "summary": body} for body in bodies]
        return list(forge.on_flush(Payload(objective="Ship it", state_mutations=changes), receipt) or ())

    def test_g6_publish__a_post__is_there_as_it_reads_back(self, forge: Any) -> None:
        [proof] = self._publish(forge, "flush_1", "deployed to staging")
        assert (proof.pending, proof.target) == (0, self.target), proof.note
        assert proof.pointer
        assert "deployed to staging" in proof.read_back
        assert proof.published == proof.read_back

    def test_g7_publish__the_same_flush_again__is_there_once(self, forge: Any) -> None:
        for _ in range(3):
            self._publish(forge, "flush_1", "deployed to staging")
        self._publish(forge, "flush_2", "rolled back again")
        assert ["deployed" in post for post in self.posted()].count(True) == 1
        assert ["rolled back" in post for post in self.posted()].count(True) == 1

    def test_g8_publish__out_of_reach_and_then_back__waits_and_is_there_once(self, forge: Any) -> None:
        with self.down():
            [proof] = self._publish(forge, "flush_1", "deployed to staging")
            assert proof.pending
            assert proof.note
        [proof] = self._publish(forge, "flush_1", "deployed to staging")
        assert proof.pending == 0, proof.note
        assert ["deployed" in post for post in self.posted()].count(True) == 1

    def test_g9_publish__nothing__asks_nobody(self, forge: Any) -> None:
        with self.down():
            assert not self._publish(forge, "flush_1")

    def test_g10_forge__that_only_reads__takes_no_posts(self, forge: Any) -> None:
        assert forge.publishes is bool(self.target)
        if not self.target:
            with pytest.raises(Unsupported):
                forge.send(None)

    # errors

    def test_g11_forge__out_of_reach__says_so_with_a_next_step_and_without_the_token(self, forge: Any) -> None:
        now = datetime.now(UTC)
        with self.down():
            for error in fails(HoldfastError, lambda: forge.activity(now - timedelta(days=1), now), forge.check):
                assert not self.token or self.token not in f"{error} {error!r} {forge!r}"

    def test_g12_check__in_reach__says_what_it_can_use(self, forge: Any) -> None:
        assert forge.is_on
        assert forge.check()
