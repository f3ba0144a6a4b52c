"""Survival of planted statements through repeated compactions, by the public compaction-conformance-kit.

    pip install compaction-conformance-kit==0.8.0
    python benchmarks/compaction.py

Each row of the kit's sessions is added to a session of a new project with the default plugins and no model, then
flushed; the brief within the budget is the compacted context. Its text is the only row of the next round.
"""

from __future__ import annotations

import argparse
import tempfile

from compaction_kit.benchmark import run_budget_benchmark
from compaction_kit.compacted import CompactedContext
from compaction_kit.compactors import _turns_to_text
from compaction_kit.corpus import build_random_session
from compaction_kit.generated import build_generated_session
from compaction_kit.runner import run_conformance
from compaction_kit.session import Turn, build_seeded_session

from holdfast import Holdfast


class Compactor:
    """A project in a folder of its own, and one session."""

    name = "holdfast"

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._memory = Holdfast.open(self._folder.name)
        self._session = self._memory.session("kit")

    def compact(self, turns: list[Turn], round_num: int = 1, budget_chars: int | None = None) -> CompactedContext:
        """The brief after a flush of ``turns``."""
        for turn in turns:
            self._session.add(turn.role, turn.text)
        self._session.flush()
        text = str(self._memory.load(max_chars=budget_chars))
        return CompactedContext(text=text, compactor_name=self.name, round_num=round_num)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seeds", type=int, default=4)
    args = options.parse_args()
    seeds = range(1, args.seeds + 1)
    sessions = [("seeded", build_seeded_session(), None)]
    sessions += [(f"random {seed}", *build_random_session(seed)) for seed in seeds]
    sessions += [(f"generated {seed}", *build_generated_session(seed)) for seed in seeds]
    for name, session, planted in sessions:
        size = len(_turns_to_text(session.transcript()))
        for budget in (4_000, size * 3 // 10, size // 5):
            run = run_conformance(session, Compactor(), rounds=args.rounds, canaries=planted, budget_chars=budget)
            counts = [sum(one.survived.values()) for one in run.rounds]
            types = {kind: f"{share:.0%}" for kind, share in run.rounds[-1].survival_by_type.items()}
            print(
                f"{name}, {budget} of {size}: {counts[0]} then {counts[-1]} of {len(run.rounds[0].survived)}; {types}"
            )
    found = run_budget_benchmark({"holdfast": Compactor}, budgets=(0.2, 0.3), seeds=seeds, rounds=args.rounds)
    for entry in found["entries"]:
        stale = sum(
            entry[part][kind]["stale"] for part, kind in (("randomized", "supersession"), ("semantic", "conflicts"))
        )
        number = sum(
            entry[part][kind]["n"] for part, kind in (("randomized", "supersession"), ("semantic", "conflicts"))
        )
        print(
            f"budget {entry['budget_fraction']:.0%}: survival {entry['randomized']['overall_final_survival']:.0%}, "
            f"stale {stale} of {number}, resolved {entry['semantic']['resolved_rate']:.0%}, "
            f"distinct pairs {entry['semantic']['distinct_pair_rate']:.0%}"
        )


if __name__ == "__main__":
    main()
