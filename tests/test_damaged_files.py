"""Damaged and hostile files: every one is refused, and none runs code or takes more memory than it has bytes."""

from __future__ import annotations

import importlib.util
import io
import pickle
import struct
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest

import pullback as torch
from pullback.serialization import LoadError
from pullback.serialization.archive import Reader, Writer
from pullback.serialization.unpickler import MAX_DEPTH

from .test_serialization import FOUR, archive, tensor_code, through

GOLDEN = Path(__file__).parent / "golden" / "pt"
Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize("name", ["nest", "nest_old", "checkpoint"])
def test_every_truncation(name):
    data = (GOLDEN / f"{name}.pt").read_bytes()
    for end in [*range(0, len(data), 37), len(data) - 1]:
        with pytest.raises(LoadError):
            torch.load(io.BytesIO(data[:end]))


def test_damaged_values_do_not_pass_unnoticed():
    data = bytearray((GOLDEN / "checkpoint.pt").read_bytes())
    start = data.index(b"checkpoint/data/0")
    names, extras = struct.unpack_from("<2H", data, start - 4)
    at = start + names + extras
    data[at] ^= 1
    with pytest.raises(LoadError, match="checksum"):
        torch.load(io.BytesIO(bytes(data)))


@pytest.mark.parametrize(
    "changes",
    [
        {"size": (5,)},
        {"offset": 3},
        {"offset": -1},
        {"size": (-1,)},
        {"stride": (-1,)},
        {"size": (2, 2), "stride": (3, 1)},
        {"size": (2,), "stride": ()},
        {"count": 5},
        {"count": -1},
        {"count": 2**62},
        {"kind": "DoubleStorage"},
        {"key": "1"},
        {"offset": 2**62},
        {"stride": (2**62,)},
        {"size": (2**62,), "stride": (2**62,)},
        {"size": (1,) * 70, "stride": (1,) * 70},
        {"size": (0, 2**62, 2**62), "stride": (1, 1, 1)},
    ],
    ids=str,
)
def test_tensors_outside_of_their_memory(changes):
    assert torch.load(archive(tensor_code(), _0=FOUR)).tolist() == [0, 1]
    with pytest.raises(LoadError):
        torch.load(archive(tensor_code(**changes), _0=FOUR))


def bomb(length: int) -> bytes:
    """A tuple of twice the same tuple of twice the same tuple ..."""
    return b")" + b"2\x86" * length


@pytest.mark.parametrize(
    "code, words",
    [
        (b"}" + bomb(60) + b"Ns.", "too many elements"),
        (b"}(" + bomb(60) + b"Nu.", "too many elements"),
        (b"\x8f(" + bomb(60) + b"\x90.", "too many"),
        (b")" + b"\x85" * 5000 + b".", f"more than {MAX_DEPTH}"),
        (b"]" * 5000 + b"a" * 4999 + b".", f"more than {MAX_DEPTH}"),
        (b"}" * 2 + b"Ns.", "key of type dict"),
        (b"}]Ns.", "key of type list"),
        (b"}G" + b"\0" * 8 + b"N", "cut off"),
        (b"j\xff\xff\xff\xff.", "never put"),
        (b"r\xff\xff\xff\x7f.", "never put"),
        (b"X\xff\xff\xff\xff.", "cut off"),
        (b"\x8e" + b"\xff" * 8 + b".", "cut off"),
        (b"\x8b\xff\xff\xff\x7f.", "cut off"),
        (b"(.", "mark"),
        (b"t.", "never put"),
        (b"", "Ran out of input"),
        (b".", "never put"),
        (b"0.", "never put"),
        (b"X\x01\0\0\0\xff.", "Unicode"),
        (b"ccollections\nOrderedDict\n(K\x01tR.", "damaged"),
        (b"c__builtin__\nbytearray\n(J\xff\xff\xff\x7ftR.", "bytes of the file"),
        (
            b"c__builtin__\nbytearray\n(C\x64"
            + b"x" * 100
            + b"tq\x00R0"
            + b"c__builtin__\nbytearray\nh\x00R0" * 100
            + b"N.",
            "over and over",
        ),
        (b"c__builtin__\nset\n(](K\x01tatR.", "a set of the file"),
        (b"ctorch\nSize\n(]tR.", "torch.Size"),
        (b"ctorch\ndevice\n(" + bomb(60) + b"tR.", "a device"),
        (b"NNNb.", "Can only build"),
        (b"NN\x81.", "arguments"),
        (b"N)R.", "unrecognized function"),
        (b"N)\x81.", "Can only create"),
        (b"Ncab", "cut off|GLOBAL"),
        (b"c\n\n.", "Unsupported global"),
        (b"NQ.", "Only persistent_load of storage"),
        (b"ctorch\nFloatStorage\n)R.", "unrecognized function"),
        (b"\xff", "Unsupported operand"),
        (
            b"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._tensor\n_rebuild_from_type_v2\nctorch\nTensor\n)}tR.",
            "made by something else",
        ),
    ],
)
def test_hostile_pickles(code, words):
    with pytest.raises(LoadError, match=words):
        torch.load(archive(b"\x80\x02" + code))


def test_copies_over_and_over():
    text = b"X" + struct.pack("<I", 1000) + b"x" * 1000
    code = (
        b"\x80\x02c_codecs\nencode\n("
        + text
        + b"X\x06\0\0\0latin1tq\x00R0"
        + b"c_codecs\nencode\nh\x00R0" * 1000
        + b"N."
    )
    with pytest.raises(LoadError, match="over and over"):
        torch.load(archive(code))


def test_crowds_of_colliding_keys():
    numbers = [(i * 3.0, i) for i in range(50)]
    assert through(dict(numbers)) == dict(numbers)
    multiples = b"".join([b"\x8a\x09" + (k * (2**61 - 1)).to_bytes(9, "little") + b"N" for k in range(1, 200)])
    with pytest.raises(LoadError, match="key of type int"):
        torch.load(archive(b"}(" + multiples + b"u."))
    with pytest.raises(LoadError, match="same hash"):
        torch.load(archive(b"}" + b"K\x01Ns" * 200 + b"."))


def test_hostile_archives():
    good = archive(tensor_code(), _0=FOUR).getvalue()
    compressed = io.BytesIO()
    with zipfile.ZipFile(compressed, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("archive/data.pkl", b"\x80\x02N." + b"\0" * 10**6)
    compressed.seek(0)
    with pytest.raises(LoadError, match="compressed"):
        torch.load(compressed)
    none = io.BytesIO()
    with zipfile.ZipFile(none, "w") as z:
        z.writestr("a/b", b"")
    none.seek(0)
    with pytest.raises(LoadError, match="no data.pkl"):
        torch.load(none)
    end = good.rindex(b"PK\5\6")
    for at in (end + 10, end + 12, end + 16):  # count, length and start of the directory
        for value in (b"\xff\xff", b"\xff\xff\xff\xff", b"\x00\x7f"):
            bad = bytearray(good)
            bad[at : at + len(value)] = value
            with pytest.raises(LoadError):
                torch.load(io.BytesIO(bytes(bad)))


def test_entries_that_overlap():
    """Many entries that are the same megabyte would fill the memory."""
    out = io.BytesIO()
    writer = Writer(out.write, "archive")
    writer.add("data.pkl", b"")
    writer.add("data/0", b"\0" * 10**5)
    line = writer._directory[writer._directory.index(b"PK\1\2", 1) :]
    for i in range(1, 10):
        writer._directory += line.replace(b"data/0", b"data/%d" % i)
        writer._count += 1
    writer.close()
    reader = Reader(io.BytesIO(out.getvalue()))
    with pytest.raises(LoadError, match="overlap"):
        [reader.read(f"data/{i}") for i in range(10)]


def test_no_file_of_pytorchs():
    for data in (b"", b"hello", b"PK", b"PK\3\4", b"\x89PNG\r\n", pickle.dumps({"a": 1}), b"\0" * 1000):
        with pytest.raises(LoadError, match="Weights only load failed"):
            torch.load(io.BytesIO(data))


def test_fuzz():
    """A few of the files of scripts/fuzz_load.py, which was run on 120,000."""
    path = Path(__file__).parent.parent / "scripts" / "fuzz_load.py"
    spec = importlib.util.spec_from_file_location("fuzz_load", path)
    fuzz_load = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz_load)
    outcomes = fuzz_load.fuzz(1500, seed=11)
    assert sum(outcomes.values()) == 1500 and 50 < outcomes["loaded"] < 750
