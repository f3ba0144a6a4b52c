"""Clients of Anthropic and OpenAI whose servers compact inside a request, where no function could be guarded.

Every request that holds a conversation is journalled before it is sent. A request that may compact is sent only after
a flush. It may compact unless it is certain to stay below its threshold. A token has at least one byte, so the last
answer's token count and the bytes added since are an upper bound.
"""

import inspect
import json
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

from attrs import define, evolve, field, frozen

from holdfast.api import HoldfastError, Message, Session
from holdfast_app.loops.hold import Hold, finished, like, logger, parse, refusing
from holdfast_app.loops.rows import Row, plain
from holdfast_app.message_formats.summaries import SUMMARY

#: Where requests hold their rows, by the path's end.
_ROWS: Final = {
    "/messages": "messages",
    "/chat/completions": "messages",
    "/responses": "input",
    "/responses/compact": "input",
}
_DEFAULT_TOKENS: Final = {"compact_20260112": 150_000, "clear_tool_uses_20250919": 100_000}
_USED: Final = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
#: Tokens that a server adds itself, such as its prompt for tools.
_SLACK: Final = 2_000


def guarded(hold: Hold, original: Any) -> Any:
    """A copy of the client ``original`` with the gate in its ``post``. A ``session`` function gets the request's body.
    Raises, from a request: FlushRefused, and nothing was sent."""
    inner = type(original)
    wire = _Wire(hold=hold)

    def post(self: Any, path: str, *, body: Any = None, **more: Any) -> Any:
        sent = wire.before(path, body)
        answer = inner.post(self, path, body=body, **more)
        return answer if sent is None else wire.watched(sent, answer)

    async def apost(self: Any, path: str, *, body: Any = None, **more: Any) -> Any:
        sent = await finished(wire.before, path, body)
        answer = await inner.post(self, path, body=body, **more)
        return answer if sent is None else await finished(wire.watched, sent, answer)

    client = like(original, post=apost if inspect.iscoroutinefunction(inner.post) else post)
    for name in [n for n in vars(client) if isinstance(inspect.getattr_static(inner, n, None), cached_property)]:
        del vars(client)[name]  # a resource that holds the unguarded post
    return client


@frozen(kw_only=True)
class _Sent:
    """A request: its messages, its bytes and the flush before it."""

    session: Session
    said: list[Message]
    size: int
    whole: bool  # the rows are the whole conversation, not only the new ones
    flush_id: str = ""


@define(kw_only=True)
class _Wire:
    hold: Hold
    #: By session: last measured request, with its conversation's tokens.
    measured: dict[str, tuple[_Sent, int]] = field(factory=dict)
    #: By session: answers that could not be journalled yet.
    waiting: dict[str, list[Row]] = field(factory=dict)

    def before(self, path: str, body: Any) -> _Sent | None:
        """Journal the request's rows, and flush if it may compact. None for other requests."""
        name = path.partition("?")[0].rstrip("/")
        member = next((member for end, member in _ROWS.items() if name.endswith(end)), "")
        if not member or not isinstance(body, Mapping):
            return None
        session = self.hold.opened(body)
        body = {key: value for key, value in body.items() if value}  # without what the SDK omits
        rows = body.get(member) or []
        messages = parse([{"role": "user", "content": rows}] if isinstance(rows, str) else rows)
        whole = not (body.get("previous_response_id") or body.get("conversation"))
        size = len(json.dumps(body, default=str, ensure_ascii=False).encode("utf-8", "replace"))
        sent = _Sent(session=session, said=messages, size=size, whole=whole)
        with refusing("The request cannot be journalled", "It was not sent."):
            self._journal(sent, parse(self.waiting.get(session.id, [])), [])
            self.waiting.pop(session.id, None)
            shortened = self._journal(sent, messages, messages)
        if not shortened and not self._may_compact(name, body, sent):
            return sent
        self.hold.save(session, messages if whole else [])
        receipt = session.last_receipt
        return evolve(sent, flush_id=receipt.flush_id if receipt else "")

    def _journal(self, sent: _Sent, new: list[Message], rows: list[Message]) -> bool:
        """Journal the messages ``new``; with ``rows``, the whole conversation, only those that the session lacks.
        Returns whether ``rows`` lack a message of the session."""
        if rows and sent.whole:
            return sent.session.mirror.catch_up(rows)
        now = datetime.now(UTC)
        sent.session.extend(evolve(m, id=uuid.uuid4().hex, at=now) for m in new)
        return False

    def _may_compact(self, path: str, body: Mapping[str, Any], sent: _Sent) -> bool:
        edits = body.get("context_management") or []
        edits = edits.get("edits") or [] if isinstance(edits, Mapping) else list(edits)
        is_asked = path.endswith("/compact") or body.get("compaction") or body.get("truncation") == "auto"
        if is_asked or not edits:
            return bool(is_asked)
        last, tokens = self.measured.get(sent.session.id, (None, 0))
        reach = sent.size + _SLACK
        if last and last.whole and last.size <= sent.size and sent.said[: len(last.said)] == last.said:
            reach = min(reach, tokens + sent.size - last.size + _SLACK)
        # The server fetches files and runs its own tools inside the request.
        text = str(body)
        fetched = not sent.whole or any(name in text for name in ("'url'", "_url'", "file_id", "mcp_server"))
        fetched = fetched or any("input_schema" not in t and "function" not in str(t) for t in body.get("tools") or ())
        return fetched or reach >= min(map(_threshold, edits))

    def watched(self, sent: _Sent, answer: Any) -> Any:
        """``answer``, journalled. A stream is journalled while it is read."""
        if hasattr(type(answer), "__aiter__"):
            return like(answer, __aiter__=lambda stream: self._aread(sent, answer))
        if hasattr(type(answer), "__next__"):
            return like(answer, __iter__=lambda stream: self._read(sent, answer))
        self.after(sent, answer)
        return answer

    def _read(self, sent: _Sent, stream: Any) -> Iterator[Any]:
        words: dict[int, str] = {}
        for event in stream:
            self.after(sent, event)
            _hear(words, event)
            yield event
        self._said(sent, words)

    async def _aread(self, sent: _Sent, stream: Any) -> AsyncIterator[Any]:
        words: dict[int, str] = {}
        async for event in stream:
            if _tells(event):  # most events are a few words, not worth a thread
                await finished(self.after, sent, event)
            _hear(words, event)
            yield event
        await finished(self._said, sent, words)

    def _said(self, sent: _Sent, words: dict[int, str]) -> None:
        """Journal the words of a stream that has ended, because no request may follow."""
        if words:
            self._keep(sent, [{"role": "assistant", "content": [{"type": "text", "text": t} for t in words.values()]}])

    def after(self, sent: _Sent, answer: Any) -> None:
        """Journal an answer, tie its compaction to the flush, and measure the conversation."""
        if not _tells(answer):
            return
        answer = getattr(answer, "response", answer)  # the last event of a stream of the Responses interface
        block = getattr(answer, "content_block", None)
        table: Any = plain(answer, model=True)
        rows = [] if block else _answer_rows(table)
        blocks = [table["content_block"]] if block else [b for row in rows for b in (row, *(row.get("content") or ()))]
        compactions = [b for b in blocks if isinstance(b, dict) and b.get("type") == "compaction"]
        compactions = [{**row, "id": row.get("id") or table.get("id")} for row in compactions]
        usage = table.get("usage") or {}
        spent = sum(usage.get(name) or 0 for name in _USED) if usage.get("input_tokens") else 0
        tokens = int(usage.get("total_tokens") or spent)  # the conversation's, 0 if the usage lacks its input
        last, _ = self.measured.get(sent.session.id, (None, 0))
        if compactions:  # the server measured less than what the next request may hold
            self.measured[sent.session.id] = (evolve(sent, whole=False), 0)
        elif tokens and not (last and last.said is sent.said and not last.whole):
            self.measured[sent.session.id] = (sent, tokens)
        self._keep(sent, rows, compactions)

    def _keep(self, sent: _Sent, rows: list[Any], compactions: Sequence[Row] = ()) -> None:
        """Journal an answer's ``rows``, and what was found of a compaction."""
        try:
            messages = parse(rows)
            self._journal(sent, messages, [*sent.said, *messages])
            for row in compactions:
                name = row.get("id") or "without an id"
                flush = f"after flush {sent.flush_id}" if sent.flush_id else "although no flush came before it"
                sent.session.add("system", f"[server's summary {name}, {flush}]", tool=SUMMARY)
            if compactions and not sent.flush_id:
                self.hold.may_drop(sent.session, [])
        except HoldfastError as error:
            self.waiting.setdefault(sent.session.id, []).extend([] if sent.whole else rows)
            logger.warning("session %s has an answer to be journalled: %s", sent.session.id, error.message)


def _hear(words: dict[int, str], event: Any) -> None:
    """Add a stream event's words to those of their block. The Responses interface repeats them in its last event."""
    choice = next(iter(getattr(event, "choices", None) or ()), None)
    part = getattr(choice or event, "delta", None) or getattr(event, "content_block", None)
    text = getattr(part, "content" if choice else "text", None)
    if text and isinstance(text, str):
        at = getattr(choice or event, "index", 0)
        words[at] = words.get(at, "") + text


def _tells(answer: Any) -> bool:
    """Whether an answer or a stream's event has a usage or a server's summary."""
    block = getattr(answer, "content_block", None)
    return hasattr(getattr(answer, "response", answer), "usage") or getattr(block, "type", "") == "compaction"


def _threshold(edit: Mapping[str, Any]) -> int:
    trigger = edit.get("trigger") or {}
    if trigger and trigger.get("type") != "input_tokens":
        return 0
    value = edit.get("compact_threshold", trigger.get("value", _DEFAULT_TOKENS.get(str(edit.get("type")), 0)))
    return int(value or 0)


def _answer_rows(answer: Row) -> list[Any]:
    if answer.get("choices"):
        return [choice["message"] for choice in answer["choices"][:1] if "message" in choice]  # a stream has deltas
    if isinstance(answer.get("output"), list):
        repeats = answer.get("object") == "response.compaction"  # it has the request's prompts, and the summary
        return [row for row in answer["output"] if not repeats or row.get("type") == "compaction"]
    return [{"role": "assistant", "content": answer["content"]}] if answer.get("content") else []
