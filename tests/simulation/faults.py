"""Faults of durability that holdfast had, or that its write path exists to avoid, to be planted back one at a time."""

import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from types import CodeType, FunctionType, ModuleType
from typing import Any

_FS, _JOURNAL, _FLUSH, _FILE = "holdfast.fs.", "holdfast.journal.", "holdfast.flush.", "holdfast_file."
_CONTEXT, _TAKE_UP = "holdfast.flush.context Context.", "holdfast.flush.plan _take_up_refused"
_FACTS, _DOCUMENTS = "holdfast_file.facts FactFile.", "holdfast_file.backend _Documents."
_BEGIN = _FLUSH + "record begin"
#: By name: the module and its function, text in its source, and the text instead.
FAULTS: dict[str, tuple[str, str, str]] = {
    "a replaced file is not synced": (_FS + "durable replace", "_flush(fd)", "pass"),
    "a rename is not synced": (_FS + "durable replace", "_sync_names(folder)", "pass"),
    "an append is not synced": (_FS + "durable append", "_flush(fd)", "pass"),
    "a new file's name is not synced": (_FS + "durable append", "_sync_names(folder)", "pass"),
    "a new folder's name is not synced": (_FS + "durable make_private_dir", "_sync_names(parent)", "pass"),
    "a killed process's key is taken for durable": (_FS + "ownership_mark secret", "durable.sync(path)", "pass"),
    "a lock excludes nobody": (_FS + "locks _lock", "fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass"),
    "zeros in a torn line are damage": (_FS + "records may_be_torn", "= tail.partition(", "= b'', b'', tail; str("),
    "a journal's torn line stays": (_JOURNAL + "journal Journal._settled", "if cut < size:", "if False:"),
    "a killed process's message is taken for durable": (_JOURNAL + "journal Journal.settle", "self._settled(", "str("),
    "a journal's failed flush is repeated": (_JOURNAL + "journal Journal._settled", "if cut >", "if 0 >"),
    "a fact's failed flush is repeated": (_FACTS + "_settle", "!= self._size:", "< 0:"),
    "what was written here is not synced": ("holdfast_app.trust.seen Seen.settle", "size ==", "0 <="),
    "a message may come twice": ("holdfast.session Session._journal", 'if r["id"] not in self._ids', "if True"),
    "a flush covers what was said meanwhile": (_CONTEXT + "record_flush", "= upto,", "= self.journal.size(),"),
    "the marker has no plan": (_FLUSH + "record keep_plan", "pending=plan.pending()", "pending=None"),
    "the plan is not synced": (_JOURNAL + "safety _write", "flush=flush", "flush=False"),
    "a refused payload is forgotten": (_TAKE_UP, "if newest is not None", "if False"),
    "a purged marker comes back": ("holdfast_app.privacy.sweep forget_marker", "durable.fsync_dir(folder)", "pass"),
    "a finished flush's marker counts after a power cut": (_BEGIN, "if old is not None and old.p", "if 0 and old.p"),
    "an unfinished flush's block is repeated": (_FLUSH + "check check", "noted(attempt) if", "set() if"),
    "an append has no intent": (_DOCUMENTS + "_extend", "intents.note(self._place.intent, intent)",
        "durable.append(self._place.intent, b'')"),
    "a whole append is not flushed again": (_DOCUMENTS + "_recover", "durable.replace(path, body)", "pass"),
    "a torn block stays": (_DOCUMENTS + "_recover", "durable.truncate(path, pending.offset, private=False)", "pass"),
    "an old block is taken for durable": (_DOCUMENTS + "append", "durable.sync(path, private=False)", "pass"),
    "a fact's torn line stays": (_FACTS + "_settle", "durable.truncate(self._path, self._size, private=False)", "pass"),
}  # fmt: skip


@contextmanager
def planted(name: str) -> Iterator[None]:
    """The fault is in its function, wherever that was imported to."""
    where, old, new = FAULTS[name]
    place, _, function = where.partition(" ")
    module = importlib.import_module(place)
    before = inspect.getsource(attrgetter(function)(module))
    assert old in before, f"{function} has changed"
    with changed(module, inspect.getsource(module).replace(before, before.replace(old, new))):
        yield


@contextmanager
def changed(module: ModuleType, source: str) -> Iterator[None]:
    """The module's functions run the code of another ``source``."""
    new = dict(_codes(compile(source, module.__file__ or "", "exec", dont_inherit=True)))
    old = [(one, one.__code__) for one in _functions(module, module.__name__, set())]
    old = [(one, code) for one, code in old if code.co_qualname in new]
    try:
        for function, code in old:
            function.__code__ = new[code.co_qualname]
        yield
    finally:
        for function, code in old:
            function.__code__ = code


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one.co_qualname, one
            yield from _codes(one)


def _functions(place: Any, module: str, seen: set[int]) -> Iterator[FunctionType]:
    for value in list(vars(place).values()):
        inner = [getattr(value, name, None) for name in ("fget", "func", "__func__", "__wrapped__")]
        for one in (value, *inner):
            if isinstance(one, FunctionType) and one.__module__ == module and id(one) not in seen:
                seen.add(id(one))
                yield one
        if isinstance(value, type) and value.__module__ == module and id(value) not in seen:
            seen.add(id(value))
            yield from _functions(value, module, seen)
