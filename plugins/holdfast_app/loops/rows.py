"""The rows of agent frameworks, recognised by their members and read without importing any framework.

A row is a dict or an object that becomes one. :data:`_READERS` is the one table of forms. A row that it does not name
is read as a row of the Chat Completions, the Messages or the Responses interface. Read from the sources of LangChain
1.5.2, pydantic-ai 2.68.0, Google ADK 2.13.0, Agent Framework 1.23.0 and OpenAI Agents 0.24.0.
"""

import base64
import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final

from holdfast_app.message_formats.leaves import digest_of, says

Row = dict[str, Any]


def rows_of(source: object) -> list[Row]:
    """The plain rows in a framework's row. An empty list for a row that only changes the list. Raises: TypeError for
    values that JSON cannot represent."""
    value = plain(source)
    row: Row = value if isinstance(value, dict) else {}
    read = next((reader for knows, reader in _READERS if knows(row)), None)
    return [row] if read is None else list(read(row))


def plain(value: object, *, model: bool = False) -> object:
    """``value`` as JSON data, with the SDKs' models as dicts. Bytes in a model become base64. Raises: TypeError for
    values that JSON cannot represent."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(entry, model=model) for name, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry, model=model) for entry in value]
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, bytes | bytearray):
        if model:
            return f"data:application/octet-stream;base64,{base64.b64encode(value).decode()}"
        raise TypeError("bytes")
    if hasattr(value, "raw_item"):  # OpenAI Agents, whose item also holds its agent
        return plain(value.raw_item, model=True)
    for name in ("model_dump", "to_dict"):
        if callable(dump := getattr(value, name, None)):
            return plain(dump(), model=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), model=True) for field in dataclasses.fields(value)}
    if isinstance(value, Iterable):
        return [plain(entry, model=model) for entry in value]
    if type(value).__str__ is not object.__str__:  # a time, a decimal number, an UUID
        return str(value)
    raise TypeError(type(value).__name__)


def _filled(row: Mapping[str, Any], but: Collection[str] = ()) -> Row:
    """``row`` without empty members and without those named in ``but`` that say nothing."""
    return {k: v for k, v in row.items() if v not in (None, [], {}, "") and (k not in but or says(v))}


def _thought(text: object) -> Row:
    return {"role": "assistant", "content": [{"type": "thinking", "thinking": text}]}


def _call(call_id: object, name: object, arguments: object) -> Row:
    return {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "name": name, "arguments": arguments}]}


# LangChain, LangGraph, deepagents

_LANGCHAIN: Final = {
    "human": "user", "ai": "assistant", "tool": "tool", "function": "function", "system": "system", "chat": "user",
    "remove": "",
}  # fmt: skip
_LANGCHAIN_MADE: Final = (
    "type", "id", "response_metadata", "usage_metadata", "chunk_position", "tool_call_chunks", "example",
)  # fmt: skip
_CALLS: Final = frozenset({"tool_use", "tool_call", "function_call"})


def _langchain_row(row: Row) -> tuple[str, Row]:
    """A message's kind and members, also of a serialised message."""
    row = row["kwargs"] if row.get("lc") == 1 and isinstance(row.get("kwargs"), dict) else row
    kind = str(row.get("type")).removesuffix("MessageChunk").lower()
    row = row["data"] if isinstance(row.get("data"), dict) and "content" not in row else row
    known = kind in _LANGCHAIN and "content" in row and ("role" not in row or kind == "chat")
    return (kind if known else ""), row


def _langchain(source: Row) -> Iterator[Row]:
    kind, row = _langchain_row(source)
    if kind == "remove":
        return
    more = dict(row.get("additional_kwargs") or {})
    if more.pop("lc_source", "") == "summarization":
        yield {"type": "compaction", "content": row["content"]}
        return
    calls = [call for call in row.get("tool_calls") or () if isinstance(call, dict)]
    if calls:  # the provider's form of the same calls
        more = {name: value for name, value in more.items() if name not in {"tool_calls", "function_call"}}
    ids = {call.get("id") for call in calls}
    content = row["content"]
    if isinstance(content, list):  # a call also stands among the blocks
        ours = (isinstance(block, dict) and block.get("type") in _CALLS and block.get("id") in ids for block in content)
        content = [block for block, is_call in zip(content, ours, strict=True) if not is_call]
    members = _filled({**more, **row}, _LANGCHAIN_MADE)
    members.pop("additional_kwargs", None)
    if kind == "tool":
        members["is_error"] = members.pop("status", "") == "error"
    yield {**members, "role": _LANGCHAIN[kind], "content": content}


# pydantic-ai

_SPOKEN: Final = {"user-prompt": "user", "text": "assistant", "system-prompt": "system", "retry-feedback": "system"}


def _pydantic_ai(row: Row) -> Iterator[Row]:
    for part in row["parts"]:
        made = {**_filled(part, ("part_kind", "provider_name", "id")), "timestamp": part.get("timestamp")}
        kind, content = str(part.get("part_kind")), part.get("content")
        call_id, name = part.get("tool_call_id"), part.get("tool_name")
        if kind in _SPOKEN:
            yield {"role": _SPOKEN[kind], "content": _blocks(content), "timestamp": made["timestamp"]}
        elif kind == "thinking":
            yield _thought(content)
        elif kind in {"tool-call", "builtin-tool-call"}:
            yield _call(call_id, name, part.get("args"))
        elif kind in {"tool-return", "builtin-tool-return"} or (kind == "retry-prompt" and name):
            failed = kind == "retry-prompt" or part.get("outcome", "success") != "success"
            answer = {"role": "tool", "tool_call_id": call_id, "name": name, "is_error": failed}
            yield {**answer, "content": content, "timestamp": made["timestamp"]}
        elif kind == "compaction":
            yield from _summary(made)
        else:
            role = "assistant" if row["kind"] == "response" else "system"
            yield {"role": str(part.get("speaker", role)), "content": [{**made, "type": kind}]}


def _blocks(content: object) -> object:
    if not isinstance(content, list):
        return content
    return [
        {**_filled({k: v for k, v in block.items() if k != "kind"}), "type": block["kind"]}
        if isinstance(block, dict) and isinstance(block.get("kind"), str)
        else block
        for block in content
    ]


# Google ADK and GenAI


def _adk(row: Row) -> Iterator[Row]:
    compaction = _either(_either(row, "actions") or {}, "compaction")
    if isinstance(compaction, dict):
        parts = (_either(compaction, "compacted_content") or {}).get("parts") or ()
        yield {"type": "compaction", "content": "\n".join(str(p["text"]) for p in parts if p.get("text"))}
        return
    role = "user" if row["author"] == "user" else "model"
    content = row.get("content") or {}
    for message in _genai({"role": role, **_filled(content), "parts": content.get("parts") or []}):
        yield {**message, "timestamp": row.get("timestamp")}
    if error := _either(row, "error_message"):
        yield {"role": "system", "content": str(error), "timestamp": row.get("timestamp")}


def _genai(row: Row) -> Iterator[Row]:
    role = "assistant" if row.get("role") == "model" else "user"
    for part in row["parts"]:
        if not isinstance(part, dict):
            yield {"role": role, "content": part}
            continue
        rest = _filled(part, ("thought_signature", "thoughtSignature"))
        text, thought = rest.pop("text", None), rest.pop("thought", None)
        call, answer = _taken(rest, "function_call"), _taken(rest, "function_response")
        if text is not None:
            yield _thought(text) if thought else {"role": role, "content": text}
        if call:
            yield _call(call.get("id"), call.get("name"), call.get("args"))
        if answer:
            output = answer.get("response")
            failed = isinstance(output, dict) and "error" in output
            made = {"role": "tool", "name": answer.get("name"), "tool_call_id": answer.get("id"), "is_error": failed}
            yield {**made, "content": output}
        if rest:
            yield {"role": role, "content": [rest]}


def _either(row: Mapping[str, Any], name: str) -> Any:
    """The member ``name``, in snake or camel case."""
    first, *others = name.split("_")
    return row.get(name, row.get(first + "".join(map(str.capitalize, others))))


def _taken(row: Row, name: str) -> Row:
    value = _either(row, name)
    if not isinstance(value, dict):
        return {}
    for key in [key for key, member in row.items() if member is value]:
        del row[key]
    return value


# Microsoft Agent Framework


def _agent_framework(row: Row) -> Iterator[Row]:
    role, more = row["role"], row.get("additional_properties") or {}
    if "_summary_of_group_ids" in (more.get("_group") or {}):
        yield {"type": "compaction", "content": [c.get("text") for c in row["contents"] if isinstance(c, dict)]}
        return
    for block in row["contents"]:
        content = _filled(block, ("additional_properties", "raw_representation")) if isinstance(block, dict) else block
        kind = content.get("type") if isinstance(content, dict) else ""
        if kind == "text_reasoning":
            yield _thought(content.get("text"))
        elif kind == "function_call":
            yield _call(content.get("call_id"), content.get("name"), content.get("arguments"))
        elif kind == "function_result":
            error = content.get("exception")
            made = {"role": "tool", "tool_call_id": content.get("call_id"), "is_error": bool(error)}
            yield {**made, "content": content.get("result") or error}
        else:
            yield {"role": role, "content": [content]}


# Summaries that a provider's server made


def _summary(row: Row) -> Iterator[Row]:
    """A summary, or a line that names an encrypted one."""
    sealed = str(row.get("encrypted_content") or (row.get("provider_details") or {}).get("encrypted_content") or "")
    name = f"{row.get('id') or ''}".strip()
    note = f"[server's summary {name}, encrypted: {len(sealed):,} characters that only the provider can read, "
    yield {"type": "compaction", "content": row.get("content") or f"{note}{digest_of(sealed)}]"}


#: The forms with their readers. The first that knows a row reads it.
_READERS: Final[tuple[tuple[Callable[[Row], bool], Callable[[Row], Iterator[Row]]], ...]] = (
    (lambda row: bool(_langchain_row(row)[0]), _langchain),
    (lambda row: row.get("kind") in {"request", "response"} and isinstance(row.get("parts"), list), _pydantic_ai),
    (lambda row: isinstance(row.get("author"), str) and _either(row, "invocation_id") is not None, _adk),
    (lambda row: isinstance(row.get("parts"), list) and row.get("role") in {"user", "model"}, _genai),
    (lambda row: isinstance(row.get("contents"), list) and isinstance(row.get("role"), str), _agent_framework),
    (lambda row: row.get("type") == "compaction" and not row.get("content"), _summary),
)
