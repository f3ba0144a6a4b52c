"""Sessions of Gemini CLI: an object with ``projectHash`` and ``messages``, or one row per line after such an object.

Source: public sessions of 2025 and 2026. A row may be written again, with its tool calls; ``$set`` rows have messages,
too.
"""

from collections.abc import Mapping

from holdfast_app.message_formats.leaves import clean, without_injected
from holdfast_app.message_formats.messages import text_of
from holdfast_app.message_formats.reading import Reading, mapping, row_key


def recognises(row: Mapping[str, object]) -> bool:
    is_message = row.get("type") in ("user", "gemini") and {"id", "timestamp", "content"} <= row.keys()
    return "projectHash" in row or (is_message and "role" not in row)


def take(row: Mapping[str, object], position: int, reading: Reading) -> bool:
    kind, key = clean(row.get("type")), row_key(row.get("id"), position)
    reading.place(session_id=row.get("sessionId"))
    if "$set" in row or "projectHash" in row:
        again = mapping(row.get("$set", row)).get("messages")
        for number, message in enumerate(again if isinstance(again, list) else []):
            take(mapping(message), number, reading)
        return True
    reading.at(row.get("timestamp"))
    text = text_of(row.get("content"))
    if kind == "user":
        reading.say("user", without_injected(text), key=key)
    elif kind == "gemini":
        reading.think({"thinking": row.get("thoughts")}, key=f"{key}#think")
        reading.say("assistant", text, key=key)
        calls = row.get("toolCalls")
        for call in map(mapping, calls if isinstance(calls, list) else []):
            own, results = row_key(call.get("id"), position, key), call.get("result")
            reading.call(call.get("name"), call.get("args"), key=own, call_id=own)
            parts = map(mapping, results if isinstance(results, list) else [])
            output = [body.get("response") for part in parts if (body := mapping(part.get("functionResponse")))]
            if results:
                failed = call.get("status") not in ("success", None)
                name = call.get("name")
                reading.answer(output or results, key=f"{own}#result", call_id=own, failed=failed, tool=name)
    else:  # the client's notices
        reading.say("system", text, key=key, aside=True)
    return bool(kind)
