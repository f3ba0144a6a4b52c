"""Microsoft Agent Framework's compaction strategies, which mark and change a list's messages in place."""

from __future__ import annotations

import copy
from typing import Any

from holdfast_app.loops.hold import Hold, finished, like


def guarded(hold: Hold, given: Any) -> Any:
    """``given``, guarded. A refused compaction is undone and returns False. A ``session`` function gets the
    messages."""
    inner = type(given)

    async def call(self: Any, messages: list[Any]) -> bool:
        session = await finished(hold.opened, messages)
        said = await finished(hold.keep, session, list(messages))
        if said is None:
            return False
        before = [(m, copy.deepcopy(m.additional_properties), list(m.contents)) for m in messages]
        allowed = False
        try:
            changed: bool = await inner.__call__(self, messages)
            allowed = not changed or await finished(hold.may_drop, session, said)
            return changed and allowed
        finally:
            if not allowed:
                messages[:] = [message for message, _, _ in before]
                for message, properties, contents in before:
                    message.additional_properties, message.contents = properties, contents

    return like(given, __call__=call)
