"""One machine's agent, for :mod:`tests.support.machines`: reads steps from stdin, prints the number of each done one.

A step may be killed at any instant and is given again afterwards, so each finds out how far it came.
"""

import sys

from holdfast.api import CuratedDecision, HandoffFields, Holdfast, Payload


def state(memory: Holdfast, name: str, number: int, text: str) -> None:
    memory.facts.remember(text)


def work(memory: Holdfast, name: str, number: int, text: str) -> None:
    session = memory.session(f"{name}-{number % 3}")
    asked = f"Please do step {number} on {name}."
    if not any(message.text == asked for message in session.messages):
        session.add("user", asked)
    next_step = f"Do step {number + 3} on {name}"
    session.flush(
        Payload(
            objective=f"Finish the work of {name}",
            facts=(f"Machine {name} finished step {number}", *([text] if text else [])),
            decisions=(f"Machine {name} chose library number {number}",),
            blockers=(),
            next_step=next_step,
            artifacts=(f"docs/{name}-{number}.md",),
            follow_ups=(),
            state_mutations=(),
            handoff=HandoffFields(active_task=f"task {name}", branch=name, blocker="none", next_action=next_step),
            curated=CuratedDecision(memory=(f"Keep the module {name}{number} small.",)),
        )
    )


def forget(memory: Holdfast, name: str, number: int, text: str) -> None:
    for fact in memory.facts.list():
        if fact.content == text:
            memory.facts.delete(fact.id)


def main(name: str) -> None:
    actions = {"state": state, "work": work, "forget": forget}
    with Holdfast.open(".") as memory:
        for line in sys.stdin:
            number, action, text = line.rstrip("\n").split("|")
            actions[action](memory, name, int(number), text)
            print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
