"""Load damaged files: whatever is in one, ``load`` returns or raises LoadError, soon, and within little memory.

    python scripts/fuzz_load.py [number of files] [seed]

Files are made from good ones by flipping, cutting, copying and overwriting bytes, in the file as a whole or in the
pickle inside, whose checksum is then made right again, or by putting instructions together at random. Exits with 1 if
any file gave another exception, and is killed by the system if one took longer than 10 seconds or needed more than 2
GiB.
"""

from __future__ import annotations

import io
import random
import struct
import sys
import time
from argparse import Namespace
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import pullback as torch
from pullback.serialization import LoadError
from pullback.serialization.archive import Reader, Writer
from pullback.serialization.unpickler import INSTRUCTIONS

GOOD = Path(__file__).parent.parent / "tests" / "golden" / "pt"
NUMBERS = [0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1]
REFUSED_DEVICE = "Attempting to deserialize object on a"  # a mutated "cpu" may say "cuda"


def entries(file: bytes) -> dict[str, bytes]:
    """The entries of an archive."""
    reader = Reader(io.BytesIO(file))
    return {name: reader.read(name).tobytes() for name in reader._entries}


def archive(parts: dict[str, bytes]) -> bytes:
    """An archive of these entries."""
    out = io.BytesIO()
    writer = Writer(out.write, "archive")
    for name, data in parts.items():
        writer.add(name, data)
    writer.close()
    return out.getvalue()


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The same bytes with one to four changes."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at, length = rng.randrange(len(out) + 1), rng.choice((1, 1, 2, 4, 8, rng.randrange(1, 200)))
        other = rng.randrange(len(out) + 1)
        change = rng.randrange(8)
        if change == 0 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif change == 1 and at < len(out):
            out[at] = rng.randrange(256)
        elif change == 2:
            del out[at : at + length]
        elif change == 3:
            out[at:at] = out[other : other + length]
        elif change == 4:
            out[at : at + length] = out[other : other + length]
        elif change == 5:
            number = struct.pack("<Q", rng.choice(NUMBERS))[: rng.choice((1, 2, 4, 8))]
            out[at : at + len(number)] = number
        elif change == 6:
            out[at:at] = bytes([rng.choice(list(INSTRUCTIONS))]) * rng.choice((1, 1, 3, 1000))
        elif rng.random() < 0.3:
            del out[at:]
    return bytes(out)


def shuffled(code: bytes, rng: random.Random) -> bytes:
    """A pickle of instructions of the given one, in another order."""
    import pickletools

    starts = [at for _, _, at in pickletools.genops(code)] + [len(code)]
    parts = [code[a:b] for a, b in zip(starts, starts[1:])]
    kept = parts[: rng.randrange(len(parts))]
    return b"".join(kept + [rng.choice(parts[:-1]) for _ in range(rng.randrange(40))] + [b"."])


def ordinary() -> bytes:
    """A file of what only ``weights_only=False`` reads."""
    records = np.array([(1, (2, 3))], [("a", "f4"), ("b", "i8", (2,))])
    things = [records, np.array(["x", None], object), np.datetime64("2020-01-01"), np.arange(6.0).reshape(2, 3).T]
    things += [Namespace(a=1), SimpleNamespace(), defaultdict(list, {1: [2]}), deque([1], 3), Path("/a"), range(3)]
    things += [frozenset([1]), datetime(2020, 1, 1), Decimal(1), torch.nn.Linear(2, 2), slice(1), ...]
    out = io.BytesIO()
    torch.save(things, out)
    return out.getvalue()


def files(count: int, seed: int) -> Iterator[bytes]:
    """So many damaged files."""
    rng = random.Random(seed)
    good = [path.read_bytes() for path in sorted(GOOD.glob("*.pt"))] + [ordinary()] * 3
    parts = [entries(data) if data.startswith(b"PK") else None for data in good]
    for _ in range(count):
        which = rng.randrange(len(good))
        inside = parts[which]
        if inside is None or rng.random() < 0.2:
            yield mutated(good[which], rng)
        else:
            change = shuffled if rng.random() < 0.3 else mutated
            yield archive({**inside, "data.pkl": change(inside["data.pkl"], rng)})


def touch(value: Any) -> None:
    """Read every element of every tensor, which would crash if one lay outside of its memory; however deeply nested."""
    seen: set[int] = set()
    todo = [value]
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            if value.numel() < 1 << 20:
                value._array.tobytes()
        elif isinstance(value, np.ndarray):
            value.tobytes()
        elif isinstance(value, (dict, list, tuple)):
            todo += value.values() if isinstance(value, dict) else value


def fuzz(count: int, seed: int = 0) -> Counter[str]:
    """Load so many damaged files; returns how often what came of it.

    Raises:
        AssertionError: if anything but a LoadError was raised.
    """
    outcomes: Counter[str] = Counter()
    for number, data in enumerate(files(count, seed)):
        if alarm is not None:
            alarm(10)
        began = time.perf_counter()
        try:
            touch(torch.load(io.BytesIO(data), weights_only=number % 2 == 0))
            outcomes["loaded"] += 1
        except LoadError as error:
            outcomes[
                "refused: " + " ".join(str(error).removeprefix("Weights only load failed. ").split()[:2])[:60]
            ] += 1
        except RuntimeError as error:
            assert str(error).startswith(REFUSED_DEVICE), f"file {number}: {error!r}"
            outcomes["refused: other device"] += 1
        except Exception as error:
            raise AssertionError(f"file {number} of seed {seed} raised {error!r}") from error
        took = time.perf_counter() - began
        assert took < 5, f"file {number} of seed {seed} took {took:.0f} seconds"
        if sys.stderr.isatty() and number % 1000 == 0:
            print(f"\r{number:,} of {count:,}", end="", file=sys.stderr)
    if alarm is not None:
        alarm(0)
    return outcomes


try:
    from signal import alarm
except ImportError:  # Windows
    alarm = None  # type: ignore[assignment]


if __name__ == "__main__":
    try:
        import resource
    except ImportError:
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    total, first = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, int(sys.argv[2]) if len(sys.argv) > 2 else 0
    found = fuzz(total, first)
    for outcome, times in found.most_common(25):
        print(f"{times:8,}  {outcome}")
    print(f"{sum(found.values()):8,}  in all, without a crash")
