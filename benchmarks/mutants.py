"""``python -m benchmarks.mutants``: how many small write-path faults simulated crashes find, and which they miss.

A mutant has one change in a function that the simulated histories enter: an inverted comparison or condition, a number
that is one higher, or a call, a lock or an error that is left out.
"""

import argparse
import ast
import difflib
import inspect
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any

PACKAGES = (
    "holdfast.flush",
    "holdfast.journal",
    "holdfast.fs",
    "holdfast.services",
    "holdfast.session",
    "holdfast_file",
)
HANGS_S = 30
OTHER = {
    ast.Eq: ast.NotEq, ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.In: ast.NotIn, ast.Is: ast.IsNot, ast.And: ast.Or,
}  # fmt: skip
OTHER |= {new: old for old, new in OTHER.items()}


def entered(histories: int) -> list[tuple[str, int]]:
    """File and first line of the functions of the write path that the first histories enter."""
    from tests.simulation.__main__ import play

    codes = set[CodeType]()

    def note(frame: FrameType, event: str, _: object) -> None:
        codes.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    for seed in range(1, histories + 1):
        play(seed)
    sys.setprofile(None)
    modules = {getattr(module, "__file__", ""): name for name, module in [*sys.modules.items()]}
    found = {code for code in codes if modules.get(code.co_filename, "").startswith(PACKAGES)}
    is_function = inspect.CO_OPTIMIZED  # no class and no module
    return sorted(
        (code.co_filename, code.co_firstlineno)
        for code in found
        if code.co_flags & is_function and code.co_name[0] != "<"
    )


def faults(function: ast.AST) -> Iterator[Callable[[], Any]]:
    """Each makes one change to the function."""
    for node in ast.walk(function):
        match node:
            case ast.Constant(value=number) if type(number) is int:
                yield partial(setattr, node, "value", number + 1)
            case ast.Compare(ops=[first, *_]):
                yield partial(node.ops.__setitem__, 0, OTHER[type(first)]())
            case ast.BoolOp(op=op):
                yield partial(setattr, node, "op", OTHER[type(op)]())
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                yield partial(setattr, node, "test", ast.UnaryOp(ast.Not(), test))
        for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            for at, statement in enumerate(body if isinstance(body, list) else ()):
                match statement:
                    case ast.Expr(value=ast.Call()) | ast.Raise():
                        yield partial(body.__setitem__, at, ast.Pass())
                    case ast.With(body=inner):
                        yield partial(body.__setitem__, slice(at, at + 1), inner)


def mutant(path: str, line: int, chance: Random) -> tuple[ast.Module, str]:
    """The changed module, and the lines that differ; none where the function has nothing to change."""
    tree = ast.parse(Path(path).read_text("utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    function = next(one for one in functions if min(n.lineno for n in (one, *one.decorator_list)) == line)
    before, choices = ast.unparse(function), [*faults(function)]
    if choices:
        chance.choice(choices)()
    changed = [*difflib.ndiff(before.split("\n"), ast.unparse(function).split("\n"))]
    return ast.fix_missing_locations(tree), "\n".join(one for one in changed if one[0] in "+-")


def hunt(path: str, tree: ast.Module, seconds: float) -> str:
    """The first rule that a history breaks while this module is replaced; empty if none does in this processor time."""
    load = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> CodeType | None:
        return compile(tree, path, "exec") if self.path == path else load(self, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
    from tests.simulation.__main__ import hurry, play

    hurry()
    broken, seed = None, 0
    while broken is None and time.process_time() < seconds:
        seed += 1
        # A history that hangs ends the process, which counts as found.
        signal.setitimer(signal.ITIMER_PROF, HANGS_S)
        signal.alarm(20 * HANGS_S)  # on a busy machine
        broken = play(seed)
    return f"seed {seed}: {broken}" if broken else ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which mutants (1)")
    parser.add_argument("--mutants", type=int, default=100, metavar="N", help="how many (100)")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="of processor time for each (60)")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="how many at once (2)")
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help="only the mutants with these numbers")
    parser.add_argument("--one", nargs=3, metavar=("FILE", "LINE", "SEED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        path, line, seed = options.one
        sys.stdout.write(hunt(path, mutant(path, int(line), Random(seed))[0], options.seconds))
        return 0
    chance, chosen = Random(options.seed), list[tuple[str, int, str, str]]()
    functions = entered(150)
    while len(chosen) < options.mutants:
        path, line = chance.choice(functions)
        seed = str(chance.random())
        change = mutant(path, line, Random(seed))[1]
        if change and change not in {one[3] for one in chosen}:
            chosen.append((path, line, seed, change))
    numbers = options.only or range(len(chosen))
    chosen = [chosen[number] for number in numbers]

    def found(one: tuple[str, int, str, str]) -> bool:
        given = ["--seconds", str(options.seconds), "--one", one[0], str(one[1]), one[2]]
        done = subprocess.run([sys.executable, "-m", "benchmarks.mutants", *given], capture_output=True, check=False)
        return bool(done.stdout or done.returncode)

    count = 0
    with ThreadPoolExecutor(options.processes) as pool:
        for number, (path, line, _, change), is_found in zip(numbers, chosen, pool.map(found, chosen), strict=True):
            count += is_found
            if not is_found:
                print(f"{number}: {path}:{line}\n{change}\n", flush=True)
    print(f"{count} of {len(chosen)} found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
