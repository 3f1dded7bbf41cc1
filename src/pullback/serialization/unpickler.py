"""A restricted unpickler: runs pickles, and calls nothing but what is on a list.

A pickle is a program for a small stack machine, whose instruction REDUCE calls anything that it can name. Here GLOBAL
finds only what a table allows, REDUCE, NEWOBJ and BUILD act only on what is in that table, and nothing that an
instruction says is
believed: not lengths, not memo numbers, not that a key is cheap to hash. Instructions of protocols 2 to 5 are known,
which is what ``torch.save`` writes.
"""

from __future__ import annotations

import pickle
import struct
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

MAX_DEPTH = 1000  # of lists in lists, and the like
MAX_KEY = 1000  # elements of a tuple that is a key
MAX_CROWD = 100  # keys of one dict that all have the same hash


class LoadError(pickle.UnpicklingError, RuntimeError):
    """A file that cannot be loaded: it is damaged, or contains what is not allowed or not known."""


class Names(Protocol):
    """The globals that a pickle may name, and what may be done with them."""

    def find(self, path: str, module: str = "") -> Any:
        """The object of this name, the first part of which is the module's."""

    def call(self, function: Any, args: tuple[Any, ...], budget: Budget) -> Any:
        """The result of ``function(*args)``."""

    def new(self, cls: Any, args: tuple[Any, ...]) -> Any:
        """A new object of this class."""

    def build(self, target: Any, state: Any) -> None:
        """Give an object its state."""

    def hashed_by_code(self, cls: type) -> bool:
        """Whether objects of a class run its code when they are keys."""


class Budget:
    """How many elements may be copied in all: a pickle contains what is copied, so more than its length is a trick."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise LoadError("the pickle has the same values copied over and over")


class Mark:
    """Stands on the stack where a MARK was."""


MARK = Mark()


class Machine:
    """Runs the pickle that starts at ``at``; afterwards ``at`` is behind it.

    Args:
        code: bytes with the pickle in them.
        names: what it may name.
        storage: the storage of a persistent id.
        encoding: of the strings of Python 2.
    """

    def __init__(
        self, code: bytes, names: Names, storage: Callable[[Any], Any], at: int = 0, encoding: str = "utf-8"
    ) -> None:
        self.code, self.at, self.names, self.storage, self.encoding = code, at, names, storage, encoding
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.budget = Budget(len(code))
        self.crowds: Counter[tuple[int, int]] = Counter()

    def run(self) -> Any:
        """The object that was pickled.

        Raises:
            LoadError: if there is no pickle here, or one that does what is not allowed.
        """
        try:
            while (code := self.take(1)[0]) != STOP:
                instruction = INSTRUCTIONS.get(code)
                if instruction is None:
                    raise LoadError(f"Unsupported operand {code}: it is not an instruction of torch.save's pickles")
                instruction(self)
            result = self.pop()
        except LoadError:
            raise
        except (IndexError, KeyError):
            raise LoadError("the pickle is damaged: it takes what was never put there") from None
        except Exception as error:
            raise LoadError(f"the pickle is damaged: {type(error).__name__}: {error}") from error
        _check_depth(result)
        return result

    # --- code and stack -----------------------------------------------------------------------------------------

    def take(self, count: int) -> bytes:
        """The next bytes of the code."""
        start, self.at = self.at, self.at + count
        if self.at > len(self.code):
            raise LoadError("Ran out of input: the pickle is cut off")
        return self.code[start : self.at]

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self) -> str:
        end = self.code.find(b"\n", self.at)
        return self.take((end if end >= 0 else len(self.code)) + 1 - self.at)[:-1].decode()

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is MARK:
            raise LoadError("the pickle is damaged: a mark is taken for a value")
        return value

    def pop_mark(self) -> list[Any]:
        """Pop the values pushed since the last mark, and the mark."""
        values: list[Any] = []
        while (value := self.stack.pop()) is not MARK:
            values.append(value)
        values.reverse()
        return values

    # --- what is more than a push -------------------------------------------------------------------------------

    def extend(self, values: list[Any]) -> None:
        target = self.stack[-1]
        kind = next((k for k in (list, deque) if isinstance(target, k)), None)
        if kind is None:
            raise LoadError(f"Can only append to lists, but got {type(target)}")
        kind.extend(target, values)  # not what a subclass makes of it

    def fill(self, entries: list[Any]) -> None:
        target = self.stack[-1]
        kind = next((k for k in (OrderedDict, dict) if isinstance(target, k)), None)
        if kind is None:
            raise LoadError(f"Can only set items of dicts, but got {type(target)}")
        if len(entries) % 2:
            raise LoadError("the pickle is damaged: a key lacks its value")
        for key, value in zip(entries[::2], entries[1::2]):
            if type(key) is not str:
                self.check_key(target, key)
            kind.__setitem__(target, key, value)  # not what a subclass makes of it

    def add_to_set(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not set:
            raise LoadError(f"Can only add to sets, but got {type(target)}")
        for value in values:
            self.check_key(target, value)
            target.add(value)

    def freeze(self, values: list[Any]) -> None:
        elements: set[Any] = set()
        for value in values:
            self.check_key(elements, value)
            elements.add(value)
        self.stack.append(frozenset(elements))

    def check_key(self, target: Any, key: Any) -> None:
        """Refuse keys that are expensive to hash or compare, and crowds of keys that are made to collide."""
        todo, seen = [key], 0
        while todo:
            part = todo.pop()
            seen += 1
            if type(part) is tuple:
                todo.extend(part)
            elif (
                type(part) is complex
                or type(part).__hash__ is None
                or type(part) is int
                and part.bit_length() > 64
                or self.names.hashed_by_code(type(part))
            ):
                raise LoadError(f"a key of type {type(part).__name__} is not allowed in a dict or set")
            if seen + len(todo) > MAX_KEY:
                raise LoadError("a tuple that is a key has too many elements")
        crowd = id(target), hash(key)
        self.crowds[crowd] += 1
        if self.crowds[crowd] > MAX_CROWD:
            raise LoadError("too many keys of one dict have the same hash")

    def find(self, module: str, name: str) -> None:
        from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING

        if (module, name) in NAME_MAPPING:  # how Python 2 called it, which protocol 2 still says
            module, name = NAME_MAPPING[module, name]
        module = IMPORT_MAPPING.get(module, module)
        self.stack.append(self.names.find(f"{module}.{name}", module))

    def call(self) -> None:
        args, function = self.args(), self.pop()
        self.stack.append(self.names.call(function, args, self.budget))

    def new(self) -> None:
        args, cls = self.args(), self.pop()
        self.stack.append(self.names.new(cls, args))

    def args(self) -> tuple[Any, ...]:
        args = self.pop()
        if type(args) is not tuple:
            raise LoadError("the pickle is damaged: arguments are not a tuple")
        return args

    def build(self) -> None:
        state = self.pop()
        self.names.build(self.stack[-1], state)

    def load_storage(self) -> None:
        self.stack.append(self.storage(self.pop()))

    def global_on_stack(self) -> None:
        name, module = self.pop(), self.pop()
        if type(name) is not str or type(module) is not str:
            raise LoadError("the pickle is damaged: a name is not a string")
        self.find(module, name)

    def take_tuple(self, count: int) -> None:
        self.stack.append(tuple([self.pop() for _ in range(count)][::-1]))

    def remember(self, index: int) -> None:
        value = self.stack[-1]
        if value is MARK:
            raise LoadError("the pickle is damaged: a mark is taken for a value")
        self.memo[index] = value


# --- instructions -----------------------------------------------------------------------------------------------

STOP = ord(".")


def _push(value: Callable[[Machine], Any]) -> Callable[[Machine], None]:
    return lambda m: m.stack.append(value(m))


INSTRUCTIONS: dict[int, Callable[[Machine], Any]] = {
    ord(code): instruction
    for code, instruction in {
        b"\x80": lambda m: m.take(1),  # PROTO
        b"\x95": lambda m: m.take(8),  # FRAME: how much comes, which is not needed here
        b"(": _push(lambda m: MARK),
        b"0": lambda m: m.stack.pop(),
        b"1": lambda m: m.pop_mark(),
        b"2": _push(lambda m: m.stack[-1]),
        # constants
        b"N": _push(lambda m: None),
        b"\x88": _push(lambda m: True),
        b"\x89": _push(lambda m: False),
        b"J": _push(lambda m: m.number("<i")),
        b"K": _push(lambda m: m.number("<B")),
        b"M": _push(lambda m: m.number("<H")),
        b"\x8a": _push(lambda m: int.from_bytes(m.take(m.number("<B")), "little", signed=True)),
        b"\x8b": _push(lambda m: int.from_bytes(m.take(m.number("<I")), "little", signed=True)),
        b"G": _push(lambda m: m.number(">d")),
        b"X": _push(lambda m: m.take(m.number("<I")).decode("utf-8", "surrogatepass")),
        b"\x8c": _push(lambda m: m.take(m.number("<B")).decode("utf-8", "surrogatepass")),
        b"\x8d": _push(lambda m: m.take(m.number("<Q")).decode("utf-8", "surrogatepass")),
        b"U": _push(lambda m: m.take(m.number("<B")).decode(m.encoding)),
        b"T": _push(lambda m: m.take(m.number("<I")).decode(m.encoding)),
        b"C": _push(lambda m: m.take(m.number("<B"))),
        b"B": _push(lambda m: m.take(m.number("<I"))),
        b"\x8e": _push(lambda m: m.take(m.number("<Q"))),
        b"\x96": _push(lambda m: bytearray(m.take(m.number("<Q")))),
        # containers
        b")": _push(lambda m: ()),
        b"]": _push(lambda m: []),
        b"}": _push(lambda m: {}),
        b"\x8f": _push(lambda m: set()),
        b"t": _push(lambda m: tuple(m.pop_mark())),
        b"\x85": lambda m: m.take_tuple(1),
        b"\x86": lambda m: m.take_tuple(2),
        b"\x87": lambda m: m.take_tuple(3),
        b"a": lambda m: m.extend([m.pop()]),
        b"e": lambda m: m.extend(m.pop_mark()),
        b"s": lambda m: m.fill([m.pop(), m.pop()][::-1]),
        b"u": lambda m: m.fill(m.pop_mark()),
        b"\x90": lambda m: m.add_to_set(m.pop_mark()),
        b"\x91": lambda m: m.freeze(m.pop_mark()),
        # memo
        b"q": lambda m: m.remember(m.number("<B")),
        b"r": lambda m: m.remember(m.number("<I")),
        b"\x94": lambda m: m.remember(len(m.memo)),
        b"h": _push(lambda m: m.memo[m.number("<B")]),
        b"j": _push(lambda m: m.memo[m.number("<I")]),
        # names, and what is done with them
        b"c": lambda m: m.find(m.line(), m.line()),
        b"\x93": lambda m: m.global_on_stack(),
        b"R": lambda m: m.call(),
        b"\x81": lambda m: m.new(),
        b"b": lambda m: m.build(),
        b"Q": lambda m: m.load_storage(),
    }.items()
}


CONTAINERS = (list, tuple, dict, set, frozenset, deque)


def _check_depth(result: Any) -> None:
    """Refuse nests in which Python's own functions, which recurse, would run out of stack.

    Visits everything once, containers after their contents; a container inside itself counts as flat.
    """
    depth: dict[int, int] = {id(result): 0}
    path: list[tuple[Any, Iterator[Any]]] = [(result, _contents(result))]
    while path:
        container, rest = path[-1]
        for value in rest:
            if id(value) not in depth:
                if not isinstance(value, (*CONTAINERS, np.ndarray)) and not attributes_of(value):
                    continue
                depth[id(value)] = 0
                path.append((value, _contents(value)))
                break
            depth[id(container)] = max(depth[id(container)], depth[id(value)] + 1)
        else:
            path.pop()
            if path:
                outer = id(path[-1][0])
                depth[outer] = max(depth[outer], depth[id(container)] + 1)
            if depth[id(container)] > MAX_DEPTH:
                raise LoadError(f"the pickle nests more than {MAX_DEPTH} containers")


def _contents(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        yield from value
    elif isinstance(value, np.ndarray) and value.dtype.hasobject:
        yield from value.flat
    elif isinstance(value, dict):
        yield from value.keys()
        yield from value.values()
    if not isinstance(value, type):
        yield from attributes_of(value).values()


def attributes_of(value: Any) -> dict[str, Any]:
    """The ``__dict__`` of an object, without running its code; empty where there is none."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
