"""An agent loop of your own with a memory that survives it: `python examples/own_loop.py`.

The "model" is a function that answers from a list, so that this runs anywhere; put yours in its place. What matters is
where holdfast stands: every message is journalled before the next step, the context is made smaller only by
`session.compact`, and a new start reads the brief.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator

from holdfast import FlushRefused, Holdfast

MAX_TOKENS = 40  # of the context; tiny, so that the example compacts


def scripted_model() -> Callable[[list[dict[str, str]]], str]:
    """A stand-in for a model: it answers line by line, whatever the question."""
    answers: Iterator[str] = iter(
        (
            "I will look at the test first. It reads the clock twice.",
            "Decision: inject the clock instead of mocking it.",
            "Done, 41 passed. Next: run the suite ten times on staging.",
        )
    )
    return lambda messages: next(answers)


def run(root: str) -> None:
    model = scripted_model()
    with Holdfast.open(root) as memory:
        brief = str(memory.load(max_chars=9000))  # where an earlier process left off
        session = memory.session("login-test")
        for request in ("Fix the flaky login test.", "How do we keep it from coming back?", "Do it."):
            session.add("user", request)
            context = [{"role": "system", "content": brief}]
            context += [{"role": m.role, "content": m.text} for m in session.with_summary()]
            session.add("assistant", model(context))
            if session.token_usage > MAX_TOKENS:
                try:
                    session.compact(keep_last=2)
                except FlushRefused as refused:  # nothing was dropped: go on with the long context, and say why
                    print(refused)
        session.end()
    with Holdfast.open(root) as memory:  # as another process would
        print(memory.load())


if __name__ == "__main__":
    # A dream may still work in the background when the folder is removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        run(folder)
