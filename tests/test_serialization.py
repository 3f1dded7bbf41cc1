"""``torch.save`` and ``torch.load``: files as PyTorch writes and reads them, and files that mean harm."""

from __future__ import annotations

import argparse
import collections
import copy
import dataclasses
import datetime
import decimal
import enum
import gzip
import importlib.util
import io
import os
import pickle
import stat
import struct
import sys
import threading
import types
import zipfile
from collections import Counter, OrderedDict, namedtuple
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np
import pytest

import pullback as torch
from pullback.serialization import LoadError, get_unsafe_globals_in_checkpoint, safe_globals
from pullback.serialization.archive import Writer
from pullback.serialization.save_load import replacing

GOLDEN = Path(__file__).parent / "golden" / "pt"
Pair = namedtuple("Pair", "a b")


class Settings:
    def __init__(self, rate):
        self.rate = rate


class Tagged(torch.Tensor):
    pass


def through(obj, **options):
    """The object, saved and loaded again."""
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **options)


def archive(code: bytes, **parts: bytes) -> io.BytesIO:
    """An archive with this pickle in it, and these storages."""
    out = io.BytesIO()
    writer = Writer(out.write, "archive")
    writer.add("data.pkl", code)
    for name, data in parts.items():
        writer.add("data/" + name.strip("_"), data)
    writer.close()
    return io.BytesIO(out.getvalue())


def tensor_code(offset=0, size=(2,), stride=(1,), kind="FloatStorage", key="0", count=4) -> bytes:
    """A pickle of one tensor."""
    numbers = lambda values: b"(" + b"".join([whole(v) for v in values]) + b"t"
    whole = lambda n: b"\x8a" + bytes([9]) + n.to_bytes(9, "little", signed=True)
    text = lambda s: b"X" + struct.pack("<I", len(s)) + s.encode()
    pid = b"(" + text("storage") + f"ctorch\n{kind}\n".encode() + text(key) + text("cpu") + whole(count) + b"tQ"
    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("
        + pid
        + whole(offset)
        + numbers(size)
        + numbers(stride)
        + b"\x89ccollections\nOrderedDict\n)RtR."
    )


FOUR = np.arange(4, dtype=np.float32).tobytes()


# --- what PyTorch wrote -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, types", [("dtypes", 15), ("dtypes_old", 12)])
def test_every_type(name, types):
    loaded = torch.load(GOLDEN / f"{name}.pt")
    assert len(loaded) == types
    for name, t in loaded.items():
        expected = [[bool(v) if name == "bool" else v for v in row] for row in ((0, 3), (1, 4), (2, 5))]
        assert t.dtype == getattr(torch, name) and t.shape == (3, 2) and t.stride() == (1, 3) and t.tolist() == expected


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", ["nest", "nest_old"])
def test_everything_that_may_be_in_a_file(name, mmap):
    if mmap and name == "nest_old":
        with pytest.raises(RuntimeError, match="mmap can only be used with"):
            torch.load(GOLDEN / "nest_old.pt", mmap=True)
        return
    r = torch.load(str(GOLDEN / f"{name}.pt"), mmap=mmap)
    assert r["base"].tolist() == list(range(10)) and r["empty"].shape == (0, 3) and r["number"].item() == 3
    r["base"][2] = 77.0
    assert r["part"].tolist() == [77, 3, 4] and r["turned"][2, 0] == 77 and r["turned"].stride() == (1, 5)
    assert r["expanded"].stride() == (1, 0) and r["grad"].requires_grad and r["grad"].is_leaf
    assert (
        type(r["parameter"]) is torch.nn.Parameter
        and r["parameter"].requires_grad
        and r["parameter"].tolist() == [0.5, 0.5]
    )
    assert r["conj"].item() == 1 - 2j and r["tagged"].tag == "kept"
    assert (
        type(r["ordered"]) is OrderedDict
        and list(r["ordered"]) == ["z", "a"]
        and r["counter"] == Counter("aab")
        and r[3] == [None, True]
    )
    assert (
        r["tuple"] == (1, -1, 2.5, 2**70, "ü", b"\xff", 1j) and r["set"] == {1, "a"} and r["bytes"] == bytearray(b"q")
    )
    assert r["size"] == torch.Size([1, 2]) and type(r["size"]) is torch.Size and r["device"] == torch.device("cuda:1")
    assert r["dtype"] is torch.float16 and r["layout"] is torch.strided
    assert torch.load(GOLDEN / f"{name}.pt")["base"][2] == 2  # the file is as it was


def net():
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))


def test_a_checkpoint_goes_on():
    saved = torch.load(GOLDEN / "checkpoint.pt")
    model = net()
    assert saved["model"]._metadata["1"] == {"version": 2}
    model.load_state_dict(saved["model"])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
    optimizer.load_state_dict(saved["optimizer"])
    assert optimizer.param_groups[0]["lr"] == 0.1 and optimizer.state[model[0].weight]["step"] == 2
    x = torch.arange(8.0).reshape(2, 1, 2, 2)
    np.testing.assert_allclose(model.eval()(x).tolist(), saved["after"], rtol=1e-5)
    model(x).sum().backward()
    optimizer.step()


def test_a_whole_model():
    path = GOLDEN / "model.pt"
    with pytest.raises(LoadError, match="GLOBAL torch.nn.modules.container.Sequential was not an allowed global"):
        torch.load(path)
    names = {
        "torch.nn.modules." + n
        for n in (
            "container.Sequential",
            "conv.Conv2d",
            "batchnorm.BatchNorm2d",
            "activation.ReLU",
            "flatten.Flatten",
            "linear.Linear",
        )
    }
    assert set(get_unsafe_globals_in_checkpoint(path)) == names
    classes = [
        torch.nn.Sequential,
        torch.nn.Conv2d,
        torch.nn.BatchNorm2d,
        torch.nn.ReLU,
        torch.nn.Flatten,
        torch.nn.Linear,
    ]
    with safe_globals(classes):
        model = torch.load(path)
        assert get_unsafe_globals_in_checkpoint(path) == []
    x = torch.arange(8.0).reshape(2, 1, 2, 2)
    assert torch.equal(torch.load(path, weights_only=False)(x), model(x)) and not model.training
    assert [n for n, _ in model.named_parameters()] == [n for n, _ in net().named_parameters()]


def test_newer_pickle_protocols():
    assert torch.load(GOLDEN / "protocol4.pt").tolist() == [1, 1, 1]


# --- what is written here ---------------------------------------------------------------------------------------


def test_round_trip_of_views_and_odd_arrays():
    base = torch.arange(12.0).reshape(3, 4)
    fortran = torch.from_numpy(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    gaps = torch.from_numpy(np.arange(20)[::2])
    r = through(
        {
            "base": base,
            "row": base[1],
            "col": base[:, 2],
            "t": base.t(),
            "f": fortran,
            "gaps": gaps,
            "flip": base.flip(0),
            "zero": base[:0],
            "0d": base[1, 1],
        }
    )
    assert (
        r["col"].tolist() == [2, 6, 10] and r["f"].tolist() == fortran.tolist() and r["f"].stride() == fortran.stride()
    )
    assert (
        r["gaps"].tolist() == gaps.tolist()
        and r["flip"].tolist() == base.flip(0).tolist()
        and r["zero"].shape == (0, 4)
    )
    r["base"].zero_()
    assert r["row"].tolist() == [0] * 4 and r["t"].sum() == 0 and r["0d"].item() == 0


def test_storages_are_written_once():
    file = io.BytesIO()
    big = torch.zeros(10000)
    torch.save([big, big[5:], big.view(100, 100), big], file)
    assert len(file.getvalue()) < 43000
    assert len([n for n in zipfile.ZipFile(file).namelist() if n.startswith("archive/data/")]) == 1


def test_the_old_format_holds_several_objects():
    file = io.BytesIO()
    shared = torch.arange(6.0)
    for value in (
        {"part": shared[2:], "all": shared.view(2, 3)},
        [torch.tensor([True]), torch.nn.Parameter(shared), "a"],
    ):
        torch.save(value, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    first, second = torch.load(file), torch.load(file)
    first["all"][1, 0] = 9
    assert first["part"].tolist() == [2, 9, 4, 5] and second[0].tolist() == [True] and second[2] == "a"
    assert second[1].tolist() == shared.tolist() and second[1].requires_grad and not file.read()
    with pytest.raises(RuntimeError, match="the file format before PyTorch 1.6 has no torch.uint16"):
        torch.save(torch.zeros(1, dtype=torch.uint16), file, _use_new_zipfile_serialization=False)


@pytest.mark.torch
def test_pytorch_reads_the_old_format():
    theirs = pytest.importorskip("torch")
    file, x = io.BytesIO(), torch.arange(6.0)
    torch.save([x[1:3], x.view(2, 3), torch.tensor([1, 2])], file, _use_new_zipfile_serialization=False)
    file.seek(0)
    a, b, c = theirs.load(file)
    assert (a.tolist(), b.tolist(), c.tolist()) == ([1, 2], [[0, 1, 2], [3, 4, 5]], [1, 2])
    assert a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def test_elements_are_skipped():
    full, hollow = io.BytesIO(), io.BytesIO()
    torch.save({"a": torch.ones(20)}, full)
    with torch.serialization.skip_data():
        torch.save({"a": torch.ones(20)}, hollow)
    hollow.seek(0)
    assert torch.load(hollow)["a"].tolist() == [0] * 20 and len(full.getvalue()) == len(hollow.getvalue())
    assert torch.serialization.location_tag(torch.ones(1).untyped_storage()) == "cpu"
    assert torch.serialization.location_tag(torch.ones(1, device="meta").storage()) == "meta"


def test_archive_is_laid_out_as_pytorchs(tmp_path):
    path = tmp_path / "model.pt"
    torch.save([torch.ones(3), torch.zeros(5, dtype=torch.uint8)], path)
    with zipfile.ZipFile(path) as z:
        assert z.testzip() is None
        assert {"model/data.pkl", "model/byteorder", "model/data/0", "model/data/1", "model/version"} <= set(
            z.namelist()
        )
        assert z.read("model/byteorder") == sys.byteorder.encode() and z.read("model/version") == b"3\n"
        for info in z.infolist():
            names, extras = struct.unpack_from("<2H", path.read_bytes(), info.header_offset + 26)
            assert (info.header_offset + 30 + names + extras) % 64 == 0 and info.compress_type == 0


def test_attributes_and_subclasses():
    t = torch.ones(2).as_subclass(Tagged)
    t.note = ["a"]
    p = torch.nn.Parameter(torch.ones(1), requires_grad=False)
    p.note = 3
    assert through(p).note == 3 and not through(p).requires_grad
    with pytest.raises(LoadError, match="Tagged"):
        through(t)
    with safe_globals([Tagged]):
        back = through(t)
    assert type(back) is Tagged and back.note == ["a"]


def test_tied_parameters_stay_tied():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    model[1].weight = model[0].weight
    back = through(model, weights_only=False)
    assert back[0].weight is back[1].weight
    state = through(model.state_dict())
    state["0.weight"].fill_(3)
    assert state["1.weight"].sum() == 12


def test_functions_of_torch_nn():
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, activation=torch.nn.functional.gelu)
    assert through(layer, weights_only=False).activation is torch.nn.functional.gelu


def test_types_that_share_memory_are_refused():
    z = torch.ones(2, dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        torch.save([z, torch.view_as_real(z)], io.BytesIO())


def test_pickle_and_copy_still_work():
    t = torch.arange(6.0).reshape(2, 3).t().requires_grad_()
    for back in (pickle.loads(pickle.dumps(t)), copy.copy(t), copy.deepcopy(t)):
        assert back.tolist() == t.tolist() and back.requires_grad
    assert pickle.loads(pickle.dumps(torch.nn.Linear(1, 1))).weight.requires_grad


def test_big_endian_files():
    swapped = np.arange(4, dtype=">f4").tobytes()
    out = io.BytesIO()
    writer = Writer(out.write, "archive")
    for name, data in (("data.pkl", tensor_code(size=(4,))), ("byteorder", b"big"), ("data/0", swapped)):
        writer.add(name, data)
    writer.close()
    assert torch.load(io.BytesIO(out.getvalue())).tolist() == [0, 1, 2, 3]


# --- files ------------------------------------------------------------------------------------------------------


def test_where_files_may_be(tmp_path):
    path = tmp_path / "a.pt"
    for place in (path, str(path)):
        torch.save({"a": 1}, place)
        assert torch.load(place) == {"a": 1}
    with open(path, "rb") as file:
        assert torch.load(file) == {"a": 1}
    with open(path) as file, pytest.raises(AttributeError, match="mode 'rb'"):
        torch.load(file)
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        torch.save(1, tmp_path / "none" / "a.pt")
    with pytest.raises(AttributeError, match="write"):
        torch.save(1, 3)


def test_what_stands_for_a_file_is_told_the_end():
    class Upload(io.BytesIO):
        sent = None

        def flush(self):
            self.sent = self.getvalue()

    file = Upload()
    torch.save(torch.ones(2), file)
    assert torch.load(io.BytesIO(file.sent)).tolist() == [1, 1]


def test_files_that_cannot_seek():
    class Pipe(io.BytesIO):
        def seek(self, *args):
            raise io.UnsupportedOperation("seek")

    class Untold(Pipe):
        def tell(self):
            raise io.UnsupportedOperation("tell")

    class Stream:
        def read(self, count=-1):
            return b"PK"

    words = "You can only torch.load from a file that is seekable. Please pre-load the data into a buffer"
    with pytest.raises(io.UnsupportedOperation, match=f"seek. {words}"):
        torch.load(Pipe(b"PK"))
    with pytest.raises(io.UnsupportedOperation, match=f"tell. {words}"):
        torch.load(Untold(b"PK"))
    with pytest.raises(AttributeError, match=f"'Stream' object has no attribute 'seek'. {words}"):
        torch.load(Stream())


class Minimal:
    """What has the three methods that `load` needs."""

    def __init__(self, data):
        self.file = io.BytesIO(data)
        self.read, self.tell = self.file.read, self.file.tell

    def seek(self, *place):
        self.file.seek(*place)


@pytest.mark.parametrize("opened", [io.BytesIO, Minimal, lambda data: gzip.open(io.BytesIO(gzip.compress(data)))])
def test_a_file_is_read_from_where_it_is(opened):
    out = io.BytesIO(b"")
    out.write(b"head")
    torch.save({"a": torch.arange(3)}, out)
    file = opened(out.getvalue())
    file.seek(4)
    assert torch.load(file)["a"].tolist() == [0, 1, 2]


def test_objects_of_the_old_format_follow_each_other():
    old = (GOLDEN / "dtypes_old.pt").read_bytes()
    for opened in (io.BytesIO, Minimal):
        file = opened(b"head" + old + old + b"tail")
        file.seek(4)
        assert torch.load(file)["float32"].tolist() == torch.load(file)["float32"].tolist()
        assert file.read() == b"tail"


def test_a_pickle_module_is_not_safe():
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        torch.load(io.BytesIO(), pickle_module=pickle, weights_only=True)


def test_a_crash_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pt"
    torch.save({"a": 1}, path)
    with pytest.raises(Exception, match="lambda"):
        torch.save({"a": lambda: 0}, path)
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert torch.load(path) == {"a": 1} and os.listdir(tmp_path) == ["a.pt"]


@pytest.mark.parametrize("size", (300_000, 4_000_000))
def test_another_thread_writes_what_is_saved(size):
    """The file holds some state of each element, and can be loaded."""
    t, ended = torch.zeros(size), threading.Event()

    def write():
        while not ended.is_set():
            t.add_(1)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(10):
            file = io.BytesIO()
            torch.save(t, file)
            file.seek(0)
            assert torch.load(file).min() >= 0
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize("base", (io.BytesIO, io.RawIOBase))
def test_short_writes(base):
    class Full(base):
        def write(self, data):
            return None if base is io.RawIOBase else super().write(bytes(data)[:100])

    with pytest.raises(OSError, match="PytorchStreamWriter failed writing file"):
        torch.save(torch.zeros(1000), Full())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
def test_a_full_disk(tmp_path):
    with pytest.raises(OSError, match="No space left"):
        torch.save(torch.zeros(1000), "/dev/full")


def test_a_file_that_is_read_only_stays(tmp_path):
    path = tmp_path / "a.pt"
    torch.save(1, path)
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="Permission denied"):
        torch.save(2, path)
    assert torch.load(path) == 1 and os.listdir(tmp_path) == ["a.pt"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links are Unix's")
def test_modes_and_links_stay(tmp_path):
    path, link = tmp_path / "a.pt", tmp_path / "link.pt"
    before = os.umask(0o027)
    try:
        torch.save(1, path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    link.symlink_to(path)
    torch.save(2, link)
    assert link.is_symlink() and torch.load(path) == 2 and stat.S_IMODE(path.stat().st_mode) == 0o600
    torch.save(3, "/dev/null")


def test_mapped_tensors_can_be_written_and_the_file_replaced(tmp_path):
    path = tmp_path / "a.pt"
    torch.save(torch.zeros(1000), path)
    t = torch.load(path, mmap=True)
    t += 1
    torch.save(t, tmp_path / "b.pt")
    if sys.platform == "win32":
        del t
    torch.save(torch.zeros(1000), path)
    assert torch.load(path).sum() == 0 and torch.load(tmp_path / "b.pt").sum() == 1000
    assert (tmp_path / "b.pt").stat().st_size < 6000  # the tensor, not the file it came from
    with pytest.raises(ValueError, match="f must be a string"):
        torch.load(io.BytesIO(), mmap=True)


def test_where_a_mapped_file_cannot_be_replaced(tmp_path, monkeypatch):
    def refuse(source, target):
        raise PermissionError(13, "Access is denied")

    path = tmp_path / "a.pt"
    torch.save(1, path)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError) as caught:
        torch.save(2, path)
    assert "load(mmap=True)" in caught.value.__notes__[0] and torch.load(path) == 1 and os.listdir(tmp_path) == ["a.pt"]


def on_cuda() -> io.BytesIO:
    return archive(tensor_code().replace(b"X\x03\0\0\0cpu", b"X\x06\0\0\0cuda:0"), _0=FOUR)


@pytest.mark.parametrize("location", ["cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda s, loc: s])
def test_map_location(location):
    assert torch.load(on_cuda(), map_location=location).tolist() == [0, 1]


@pytest.mark.parametrize(
    "location, words",
    [
        (None, "Attempting to deserialize object on a CUDA device"),
        (lambda s, loc: None, "Attempting"),
        ({"cuda:1": "cpu"}, "Attempting"),
        ("cuda", "not available"),
    ],
)
def test_devices_that_are_not_here(location, words):
    with pytest.raises(RuntimeError, match=words):
        torch.load(on_cuda(), map_location=location)


# --- what a file may name ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "obj, name, weights_only",
    [(Settings(1), "Settings", False)]
    + [
        (obj, name, weights_only)
        for weights_only in (None, True)
        for obj, name in (
            (Settings(1), "Settings"),
            (argparse.Namespace(a=1), "argparse.Namespace"),
            (Pair(1, 2), "Pair"),
            (np.float64(1), "numpy"),
        )
    ],
)
def test_unknown_classes_are_refused_by_name(obj, name, weights_only):
    with pytest.raises(LoadError, match=f"Weights only load failed.*Unsupported global: GLOBAL .*{name}") as caught:
        through(obj, weights_only=weights_only)
    assert (
        isinstance(caught.value, pickle.UnpicklingError)
        and "Nothing in a file is executed" in caught.value.__notes__[0]
    )


@dataclasses.dataclass
class Options:
    rate: float = 0.1
    rest: object = None


@dataclasses.dataclass(frozen=True, slots=True)
class Fixed:
    rate: float


class Colour(enum.Enum):
    RED = 1
    LONG = (1, 2)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.options = torch.nn.Linear(2, 2), Options(0.5, Path("a"))

    def forward(self, x):
        return self.inner(x)


class WithState(torch.nn.Module):
    def __setstate__(self, state):
        raise AssertionError("the program's code ran")


class WithEnd(torch.nn.Module):
    def __del__(self):
        pass


RECORDS = np.array([(1, (2, 3))], dtype=[("a", "f4"), ("b", "i8", (2,))])
ORDINARY = {
    **{f"array of {d}": np.arange(3).astype(d) for d in "? i1 u8 f2 f4 f8 c8 S3 U3 M8[3h] O".split()},
    "Fortran's array": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "0-d and empty": [np.array(3), np.zeros((0, 3))],
    "records": RECORDS,
    "scalars": [np.float64(1.5), np.int64(3), np.bool_(True), np.complex64(1j), np.datetime64("2020-01-01")],
    "dtypes": [np.dtype("f4"), RECORDS.dtype],
    "namespaces": [argparse.Namespace(a=1), types.SimpleNamespace(b=2)],
    "defaultdict": [collections.defaultdict(list, {1: [2]}), collections.defaultdict(int), collections.defaultdict()],
    "deque": collections.deque([1, 2], 3),
    "paths": [Path("/a/b"), PurePosixPath("c"), PureWindowsPath("d")],
    "builtins": [range(1, 5, 2), frozenset([1, "a"]), slice(1, None), ..., b""],
    "dates": [datetime.datetime(2020, 1, 1, 3, tzinfo=datetime.UTC), datetime.timedelta(1)],
    "decimal": decimal.Decimal("1.5"),
    "dataclasses": [Options(1, [2]), Fixed(3)],
    "enumerations": [Colour.RED, Colour.LONG, {Colour.RED: 1}],
    "named tuple": Pair(1, 2),
    "classes": [Options, int],
}


@pytest.mark.parametrize("obj", ORDINARY.values(), ids=ORDINARY)
def test_what_ordinary_checkpoints_hold(obj):
    loaded = through(obj, weights_only=False)
    assert repr(loaded) == repr(obj) and type(loaded) is type(obj)
    if isinstance(obj, np.ndarray):
        assert (loaded.dtype, loaded.strides) == (obj.dtype, obj.strides)


def test_modules_of_the_program():
    net = Net()
    loaded = through(net, weights_only=False)
    assert type(loaded) is Net and loaded.options == Options(0.5, Path("a"))
    assert torch.equal(loaded(torch.ones(1, 2)), net(torch.ones(1, 2)))


@pytest.mark.parametrize("make, words", [(WithState, "__setstate__"), (WithEnd, "__del__")])
def test_classes_with_code_that_would_run(make, words):
    with pytest.raises(LoadError, match=f"cannot be made without running its code: it defines {words}") as caught:
        through(make(), weights_only=False)
    assert "add_safe_globals" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    "code, words",
    [
        (b"cargparse\nNamespace\n)\x81X\x01\0\0\0aK\x01\x86b.", "no dict of attributes"),
        (b"ccollections\ndefaultdict\nctests.test_serialization\nNet\n\x85R.", "default_factory"),
        (b"ccollections\ndefaultdict\ncbuiltins\neval\n\x85R.", "GLOBAL eval"),
        (b"cnumpy\ndtype\nX\x0c\0\0\0(99999999,)O\x89\x88\x87R.", "dtype of NumPy"),
        (b"cnumpy\ndtype\nX\x02\0\0\0f8\x85R(K\x03X\x01\0\0\0<NNNJ\xff\xff\xff\xffK\x00tb.", "damaged"),
        (b"cnumpy._core.multiarray\n_reconstruct\ncbuiltins\nlist\nK\0\x85C\x01b\x87R.", "class that is not known"),
        (
            b"cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85C\x01b\x87R"
            b"(K\x01J\xff\xff\xff\x7f\x85cnumpy\ndtype\nX\x02\0\0\0f8\x85R\x89C\x08abcdefghtb.",
            "does not have the elements",
        ),
        (b"cnumpy._core.multiarray\nscalar\ncnumpy\ndtype\nX\x01\0\0\0O\x85RC\x08abcdefgh\x86R.", "number of NumPy"),
        (b"ctorch.nn.modules.linear\nLinear\nJ\xff\xff\xff\x7fK\x01\x86R.", "unrecognized function Linear"),
        (b"ctorch.nn.modules.linear\nLinear\nJ\xff\xff\xff\x7fK\x01\x86\x81.", "takes arguments"),
        (b"ctorch.nn.functional\nrelu\nNR.", "arguments are not a tuple"),
        (b"ctorch.nn.functional\nrelu\nN\x85R.", "unrecognized function relu"),
        (b"csubprocess\nPopen\n)\x81.", "Unsupported global: GLOBAL subprocess.Popen"),
        (b"}ctests.test_serialization\nOptions\n)\x81K\x01s.", "a key of type Options is not allowed"),
        (b"ctests.test_serialization\nColour\nK\x07\x85R.", "no member"),
    ],
)
def test_hostile_pickles_of_ordinary_things(code, words):
    with pytest.raises(LoadError, match=words):
        torch.load(archive(code.replace(b"tests.test_serialization", __name__.encode())), weights_only=False)


def test_classes_that_the_program_allows():
    with safe_globals([Settings, Pair, argparse.Namespace]):
        assert (
            through(Settings(3)).rate == 3
            and through(Pair(1, torch.ones(1))).b.item() == 1
            and through(argparse.Namespace(a=1)).a == 1
        )
    assert torch.serialization.get_safe_globals() == []
    torch.serialization.add_safe_globals([(Settings, f"{__name__}.Settings")])
    try:
        assert through(Settings(3)).rate == 3
    finally:
        torch.serialization.clear_safe_globals()
    scalar = type(np.dtype("f8"))
    with safe_globals([np._core.multiarray.scalar, np.dtype, scalar]):
        assert through(np.float64(1.5)) == 1.5


class Strict(dict):
    def __setitem__(self, key, value):
        raise AssertionError("was called")


class Row(list):
    def append(self, value):
        raise AssertionError("was called")

    extend = append


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(
    "value", [Strict(a=1), Strict(a=1, b=2), Row([1]), Row([1, 2]), [Row([Strict(a=[3])])]], ids=str
)
def test_subclasses_of_dict_and_list_are_filled_without_their_code(value, weights_only):
    file = io.BytesIO()
    torch.save(value, file)
    with safe_globals([Strict, Row]):
        got = torch.load(io.BytesIO(file.getvalue()), weights_only=weights_only)
    assert got == value and type(got) is type(value)


class Harm:
    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    "call", [(os.system, "echo harm"), (eval, "1/0"), (getattr, "", "join"), (open, "/tmp/x", "w"), (__import__, "os")]
)
@pytest.mark.parametrize("make", ["new", "old", "bare"])
@pytest.mark.parametrize("weights_only", [True, False])
def test_nothing_is_executed(call, make, weights_only):
    code = pickle.dumps(Harm(*call), protocol=2)
    number, version = pickle.dumps(0x1950A86A20F9469CFC6C, 2), pickle.dumps(1001, 2)
    file = {
        "new": archive(code),
        "old": io.BytesIO(number + version + pickle.dumps({}, 2) + code + pickle.dumps([], 2)),
        "bare": io.BytesIO(code),
    }
    with pytest.raises(LoadError, match="GLOBAL"):
        torch.load(file[make], weights_only=weights_only)
    with pytest.raises(LoadError, match="blocked"), safe_globals([(os.system, "posix.system")]):
        torch.load(archive(b"cposix\nsystem\n(X\x02\0\0\0lstR."))


def test_names_of_pytorchs_that_are_absent():
    with pytest.raises(LoadError, match="quantized tensors cannot be loaded"):
        torch.load(archive(b"ctorch._utils\n_rebuild_qtensor\n."))
    with pytest.raises(LoadError, match="torch.float4_e2m1fn_x2"):
        torch.load(archive(b"ctorch\nfloat4_e2m1fn_x2\n."))


# --- safetensors, and beside PyTorch ----------------------------------------------------------------------------


def test_safetensors(tmp_path):
    """The package's own module for PyTorch, in a process where ``torch`` is Pullback."""
    pytest.importorskip("safetensors")
    import subprocess

    program = """if True:
        import sys, torch
        from safetensors import safe_open
        from safetensors.torch import load, load_file, save, save_file
        tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(3, dtype=torch.bfloat16), "c": torch.tensor([True]), "e": torch.zeros(0, 2)}
        save_file(tensors, sys.argv[1], metadata={"format": "pt"})
        for back in (load_file(sys.argv[1]), load(save(tensors))):
            assert all(torch.equal(back[k], t) and back[k].dtype == t.dtype for k, t in tensors.items())
        with safe_open(sys.argv[1], framework="pt") as f:
            assert f.metadata() == {"format": "pt"} and f.get_slice("a")[:, 1:2].tolist() == [[1], [4]]
        print(torch.__name__)"""  # noqa: E501
    run = [sys.executable, "-m", "pullback", "run", "-c", program, str(tmp_path / "x.safetensors")]
    result = subprocess.run(run, capture_output=True, text=True, timeout=300)
    assert result.stdout == "torch\n", result.stderr


@pytest.mark.torch
def test_pytorch_reads_what_is_written_here(tmp_path):
    theirs = pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("record_pt", Path(__file__).parent / "golden" / "record_pt.py")
    recorder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recorder)
    for name in ("dtypes", "nest", "checkpoint"):
        torch.save(torch.load(GOLDEN / f"{name}.pt"), tmp_path / "a.pt")
        expected, got = (
            theirs.load(GOLDEN / f"{name}.pt"),
            theirs.load(tmp_path / "a.pt", weights_only=True, mmap=name != "nest"),
        )
        _compare(theirs, expected, got)
    x, outputs = theirs.arange(8.0).reshape(2, 1, 2, 2), []
    for file in (GOLDEN / "checkpoint.pt", tmp_path / "a.pt"):
        got, model = theirs.load(file), recorder.model()
        model.load_state_dict(got["model"])
        theirs.optim.Adam(model.parameters()).load_state_dict(got["optimizer"])
        outputs.append(model.eval()(x).tolist())
    assert outputs[0] == outputs[1]


def _compare(torch, a, b):
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
        assert a.requires_grad == b.requires_grad and a.is_conj() or a.stride() == b.stride()
        assert vars(a) == vars(b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            _compare(torch, a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            _compare(torch, x, y)
    else:
        assert a == b


@pytest.mark.torch
def test_pytorch_reads_whole_models(tmp_path):
    theirs = pytest.importorskip("torch")
    torch.save(torch.load(GOLDEN / "model.pt", weights_only=False), tmp_path / "a.pt")
    nn = theirs.nn
    with theirs.serialization.safe_globals([nn.Sequential, nn.Conv2d, nn.BatchNorm2d, nn.ReLU, nn.Flatten, nn.Linear]):
        model = theirs.load(tmp_path / "a.pt")
        x = theirs.arange(8.0).reshape(2, 1, 2, 2)
        assert theirs.equal(model(x), theirs.load(GOLDEN / "model.pt")(x))


@pytest.mark.torch
def test_classes_are_where_pytorch_has_them():
    theirs = pytest.importorskip("torch")
    from pullback.serialization.type_names import path_of

    wrong = []
    for name, cls in vars(torch.nn).items():
        other = getattr(theirs.nn, name, None)
        if isinstance(cls, type) and issubclass(cls, torch.nn.Module) and name != "DataParallel":
            expected = f"{other.__module__}.{other.__qualname__}"
            if path_of(cls) != expected:
                wrong.append((path_of(cls), expected))
    assert wrong == []


def test_large_entries_are_written_in_blocks(tmp_path):
    """To a file of ours, whose checksum is filled in afterwards; what cannot be rewritten gets it first."""
    x, stream = torch.arange(3_000_001, dtype=torch.int32), io.BytesIO()
    torch.save({"x": x, "y": x[:3].clone()}, tmp_path / "a.pt")
    torch.save({"x": x, "y": x[:3].clone()}, stream)
    assert zipfile.ZipFile(tmp_path / "a.pt").testzip() is None
    assert torch.equal(torch.load(tmp_path / "a.pt")["x"], x) and torch.load(tmp_path / "a.pt")["y"].tolist() == [
        0,
        1,
        2,
    ]
