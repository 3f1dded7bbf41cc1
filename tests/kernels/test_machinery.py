"""The infrastructure of kernels: the cache on disk, threads, memory, and running without kernels."""

from __future__ import annotations

import ast
import hashlib
import hmac
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import kernels

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from pullback.kernels.codegen import cache, elementwise, jit, memory, threads  # noqa: E402
from pullback.kernels.codegen.llvm_ir import F32  # noqa: E402

from . import using  # noqa: E402


def program(text: str, **environment: str) -> str:
    """What a program prints, in a process of its own."""
    environment = os.environ | {"PULLBACK_KERNELS": "on"} | environment
    ran = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


SIGMOID = """
import sys
import numpy as np
import pullback as torch
assert "llvmlite" not in sys.modules
x = torch.linspace(-4, 4, 10001, requires_grad=True)
torch.sigmoid(torch.sigmoid(x)).sum().backward()
print(float(x.grad.sum()), torch.kernels.info()["compiled"], torch.kernels.info()["running"])
"""


def test_functions_outlive_their_module() -> None:
    """What hangs on ``sys`` goes last when the interpreter ends; freed memory is overwritten here."""
    assert (
        program(
            """
import os, sys
from pullback.kernels.codegen import entry, jit
class Late:
    def __del__(self, write=os.write):
        write(1, self.function.__name__.encode() + str(self.function(1)).encode())
code = jit.load(lambda: '''
define ptr @f.$$(ptr %self, ptr %arguments, i64 %n) {
  %first = load ptr, ptr %arguments
  call void @Py_IncRef(ptr %first)
  ret ptr %first
}
declare void @Py_IncRef(ptr)''', "a function")
sys.late = Late()
sys.late.function = entry.as_function("same", code("f.$$"))
""",
            PYTHONMALLOC="debug",
        )
        == "same1"
    )


# --- doing without ----------------------------------------------------------------------------------------------


def test_small_arrays_load_nothing() -> None:
    assert (
        program(
            "import sys, pullback as t; x = t.rand(9, requires_grad=True); (t.sigmoid(x) * x).sum().backward();"
            "print('llvmlite' in sys.modules, 'pullback.kernels.codegen.jit' in sys.modules)"
        )
        == "False False"
    )


def test_results_do_not_depend_on_kernels(tmp_path: Path) -> None:
    """The same gradient with kernels, without, and where llvmlite can't be imported."""
    blocked = "import sys; sys.modules['llvmlite'] = None\n" + SIGMOID.replace(
        'assert "llvmlite" not in sys.modules', ""
    )
    on, off = program(SIGMOID, PULLBACK_CACHE=str(tmp_path)), program(SIGMOID, PULLBACK_KERNELS="off")
    without = program(blocked, PULLBACK_KERNELS="on")
    assert on.split()[2] == "True" and off.split()[2] == without.split()[2] == "False"
    for other in (off, without):
        assert abs(float(on.split()[0]) - float(other.split()[0])) < 1e-3


def test_a_mode_that_does_not_exist_is_refused() -> None:
    with pytest.raises(AssertionError, match="must be on, off or always"):
        program("import pullback", PULLBACK_KERNELS="maybe")


def test_info() -> None:
    with using("always"):
        info = kernels.info()
    assert info["running"] and info["reason"] == "" and info["vector"] in (16, 32, 64) and info["threads"] >= 1


EVERYTHING = """
import numpy as np, pullback as torch
rng = np.random.default_rng(0)
x, w, q = (torch.from_numpy(rng.standard_normal(s)).requires_grad_() for s in ((2, 3, 19, 17), (5, 3, 3, 3), (2, 13, 7)))
y = torch.nn.functional.max_pool2d(torch.nn.functional.gelu(torch.conv2d(x, w, padding=1)), 2)
z = torch.softmax(torch.nn.functional.layer_norm(y, y.shape[-1:]), -1) @ torch.linspace(-1, 1, y.shape[-1], dtype=torch.float64)
a = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).cumsum(1)
(z.sin().sum() + (a * a).sum()).backward()
print(*[float(t.sum()) for t in (x.grad.abs(), w.grad.abs(), q.grad.abs())])
"""  # noqa: E501


@pytest.mark.parametrize("width", ("16", "32", "64"))
def test_narrower_vectors(width: str) -> None:
    """What other processors have, as far as this one can do it too."""
    expected = program(EVERYTHING, PULLBACK_KERNELS="off").split()
    got = program(EVERYTHING, PULLBACK_KERNELS="always", PULLBACK_VECTOR=width).split()
    np.testing.assert_allclose([float(v) for v in got], [float(v) for v in expected], rtol=1e-10)


# --- cache ------------------------------------------------------------------------------------------------------


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    first = program(SIGMOID, PULLBACK_CACHE=str(tmp_path)).split()
    second = program(SIGMOID, PULLBACK_CACHE=str(tmp_path)).split()
    assert int(first[1]) > 0 and second[1] == "0" and first[0] == second[0]
    assert int(program(SIGMOID, PULLBACK_CACHE="off").split()[1]) == int(first[1])


def kept(folder: Path) -> list[Path]:
    """The files in a cache, without its key."""
    return sorted(path for path in folder.iterdir() if path.name != cache.KEY)


def exchange(path: Path, other: Path) -> None:
    """Two files, each whole."""
    first, second = path.read_bytes(), other.read_bytes()
    path.write_bytes(second)
    other.write_bytes(first)


def put(place: Callable[[Path], object]) -> Callable[[Path, Path], None]:
    """Something else where a file was."""

    def act(path: Path, other: Path) -> None:
        path.unlink()
        place(path)

    return act


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.fspath(path))


def sealed_with_another_key(path: Path, other: Path) -> None:
    code = path.read_bytes()[len(cache.MAGIC) + cache.SEAL :]
    path.write_bytes(
        cache.MAGIC + hmac.digest(bytes(32), cache.MAGIC + path.name.encode() + b"\n" + code, "sha256") + code
    )


DAMAGES = {
    "cut short": lambda path, other: path.write_bytes(path.read_bytes()[:1000]),
    "a bit": lambda path, other: path.write_bytes(path.read_bytes()[:-1] + b"?"),
    "empty": lambda path, other: path.write_bytes(b""),
    "garbage": lambda path, other: path.write_bytes(b"not machine code"),
    "exchanged": exchange,
    "the plain checksum": lambda path, other: path.write_bytes(
        cache.MAGIC + hashlib.sha256(b"x" * 99).digest() + b"x" * 99
    ),
    "another key": sealed_with_another_key,
    "open to others": lambda path, other: path.chmod(0o666),
    "a pipe": put(lambda path: os.mkfifo(path)),
    "a link": lambda path, other: (path.rename(path.with_suffix(".old")), path.symlink_to(path.with_suffix(".old"))),
    "a folder": put(Path.mkdir),
    "a socket": put(bind),
}


@pytest.fixture(scope="module")
def filled_cache(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A cache, and what the program that filled it printed."""
    folder = tmp_path_factory.mktemp("cache")
    return folder, program(SIGMOID, PULLBACK_CACHE=str(folder)).split()


@pytest.mark.skipif(sys.platform == "win32", reason="kernels do not run there")
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_made_anew(short_path: Path, filled_cache: Any, damage: str) -> None:
    """Whatever is where a file was is not loaded; nothing hangs or crashes."""
    folder, first = filled_cache
    shutil.copytree(folder, short_path, dirs_exist_ok=True)
    files = kept(short_path)
    assert len(files) == int(first[1]) > 1
    DAMAGES[damage](files[0], files[1])
    again = program(SIGMOID, PULLBACK_CACHE=str(short_path)).split()
    assert again[0] == first[0] and again[1] == str(1 + (damage == "exchanged"))
    assert program(SIGMOID, PULLBACK_CACHE=str(short_path)).split()[1] == str(int(damage == "a folder"))


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder with a path that is short enough for a socket."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


@pytest.mark.skipif(sys.platform == "win32", reason="modes are Unix's")
@pytest.mark.parametrize("damage", ["open", "short", "gone", "a pipe", "a link"])
def test_a_key_that_others_may_know_is_made_anew(tmp_path: Path, damage: str) -> None:
    place = tmp_path / "new" / "kernels"
    first = program(SIGMOID, PULLBACK_CACHE=str(place)).split()
    key = place / cache.KEY
    assert [stat.S_IMODE(p.stat().st_mode) for p in (place.parent, place, key)] == [0o700, 0o700, 0o600]
    before = key.read_bytes()
    if damage == "open":
        key.chmod(0o644)
    else:
        key.unlink()
    if damage == "short":
        key.write_bytes(b"")
    elif damage == "a pipe":
        os.mkfifo(key)
    elif damage == "a link":
        (tmp_path / "key").write_bytes(bytes(32))
        key.symlink_to(tmp_path / "key")
    assert program(SIGMOID, PULLBACK_CACHE=str(place)).split() == first
    assert key.read_bytes() not in (before, bytes(32)) and not key.is_symlink()
    assert program(SIGMOID, PULLBACK_CACHE=str(place)).split()[1] == "0"


@pytest.mark.skipif(sys.platform == "win32", reason="modes are Unix's")
@pytest.mark.parametrize("way", ["open", "above", "not ours", "not ours above"])
def test_a_folder_that_is_not_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """It is neither read nor written, and one warning says so, which is no error even where warnings are."""
    place = tmp_path / "above" / "kernels"
    place.mkdir(parents=True)
    changed = place.parent if "above" in way else place
    if "not ours" in way:
        if os.geteuid():
            pytest.skip("takes the administrator")
        os.chown(changed, 65534, 65534)
    else:
        changed.chmod(0o777)
    monkeypatch.setenv("PULLBACK_CACHE", str(place))
    monkeypatch.setattr(cache, "_warned", False)
    with pytest.warns(RuntimeWarning, match="machine code is not kept on disk") as warned:
        cache.write("name", b"data")
        assert cache.read("name") is None and cache.where() is None
    assert len(warned) == 1 and not list(place.iterdir())
    monkeypatch.setattr(cache, "_warned", False)
    assert cache.read("name") is None


@pytest.mark.skipif(sys.platform == "win32", reason="modes are Unix's")
def test_the_usual_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is closed to others if it was not, and named by an absolute path or not at all."""
    monkeypatch.delenv("PULLBACK_CACHE", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    place = tmp_path / ".cache" / "pullback" / "kernels"
    assert cache.folder() == place
    place.mkdir(parents=True, mode=0o777)
    place.chmod(0o777)
    cache.write("name", b"data")
    assert cache.read("name") == b"data" and stat.S_IMODE(place.stat().st_mode) == 0o700
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "pullback" / "kernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "relative")
    assert cache.folder() is None


def test_files_of_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is full loses what this package put there, nothing else."""
    (tmp_path / "thesis").write_bytes(b"a" * 5000)
    os.utime(tmp_path / "thesis", (0, 0))
    monkeypatch.setenv("PULLBACK_CACHE", str(tmp_path))
    monkeypatch.setattr(cache, "LIMIT", 2000)
    monkeypatch.setattr(cache, "_room", 0)
    cache.write("name", b"data" * 100)
    assert kept(tmp_path) == [tmp_path / "thesis"]


def test_several_processes_at_once(tmp_path: Path) -> None:
    environment = os.environ | {"PULLBACK_CACHE": str(tmp_path), "PULLBACK_KERNELS": "on"}
    running = [
        subprocess.Popen([sys.executable, "-c", SIGMOID], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    results = {p.communicate(timeout=120)[0].split()[0] for p in running}
    assert len(results) == 1 and all(p.returncode == 0 for p in running)
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".new-")]


def test_the_cache_knows_modules_by_what_decides_about_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was told, of each type, and the code that writes: nothing is written that is there, and nothing found that
    would be another.
    """
    monkeypatch.setenv("PULLBACK_CACHE", str(tmp_path))
    wanted: list[Any] = []

    def of(*told: Any) -> int:
        wanted.append(told)
        return jit.load(lambda: f"define void @f.$$() #0 {{\nret void\n}}\n; {len(wanted)}", "cache", *told)("f.$$")

    others = [
        (1,),
        (1.0,),
        (True,),
        ("1",),
        (0.0,),
        (-0.0,),
        (np.dtype("f4"),),
        (F32,),
        (F32.of(8),),
        (1, 1),
        ((1, 1),),
    ]
    assert len({of(*told) for told in others}) == len(others) == len(kept(tmp_path))
    assert len({of(*told) for told in others}) == len(kept(tmp_path)) == len(others)
    before, copy = cache.sources(), tmp_path / "package" / "kernels"
    shutil.copytree(Path(cache.__file__).parents[1], copy)
    monkeypatch.setattr(cache, "__file__", str(copy / "codegen" / "cache.py"))
    assert cache.sources() == before == jit.SOURCES
    for changed in (copy / "normalization.py", copy / "codegen" / "llvm_ir.py", copy / "eager" / "emit_call.py"):
        with changed.open("a") as file:
            file.write("\n")
        assert cache.sources() != before
        before = cache.sources()
    monkeypatch.setattr(jit, "_files", cache.files())
    of("written by code that the name does not stand for")
    assert len(kept(tmp_path)) == len(others) + 1  # not kept


def test_what_writes_kernels_is_in_their_folder() -> None:
    """Else a change of it would go unnoticed; :func:`cache.sources` knows of the exceptions, others are told."""
    found, folder = set(), Path(cache.__file__).parents[1]
    for file in folder.rglob("*.py"):
        depth = len(file.relative_to(folder).parts)  # dots that lead out of the folder: one more than that
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level > depth:
                found |= {f"{node.module or ''}.{alias.name}".lstrip(".") for alias in node.names}
    types = "BOOLEAN FLOAT32 FLOAT64 HALVES OF_NUMPY WIDE as_numbers_of exact_number".split()
    layouts = "converted copy_order empty_interleaved is_dense result_dim_order".split()
    layouts += "as_contiguous channels_inside channels_outside match_layout".split()
    told = {*[f"base.dtypes.{name}" for name in types], *[f"base.layout.{name}" for name in layouts]}
    parts = {"base.dtypes", "base.layout", "base.forks", "base.thread_state"}
    assert found == {"kernels", "base.holding.holding"} | parts | told


def test_the_folder_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that have not been used for longest go."""
    monkeypatch.setenv("PULLBACK_CACHE", str(tmp_path))
    monkeypatch.setattr(cache, "LIMIT", 3500)
    monkeypatch.setattr(cache, "_room", 0)
    for i in range(6):
        cache.write(f"file{i}", bytes([i]) * 1000)
        os.utime(tmp_path / f"file{i}", (i, i))
    assert cache.read("file0") is None and cache.read("file5") == bytes([5]) * 1000
    assert sum(p.stat().st_size for p in kept(tmp_path)) <= 3500


def test_a_folder_that_can_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PULLBACK_CACHE", str(tmp_path / "file" / "folder"))
    cache.write("name", b"data")
    assert cache.read("name") is None


# --- threads ----------------------------------------------------------------------------------------------------


@pytest.fixture
def counted() -> Any:
    """Any number of threads, and afterwards as many as before."""
    before = threads.count()
    yield threads.set_count
    threads.set_count(before)


RNG = np.random.default_rng(0)
INPUT, WEIGHT = (
    RNG.standard_normal((16, 3, 40, 40)).astype(np.float32),
    RNG.standard_normal((6, 3, 3, 3)).astype(np.float32),
)


@pytest.fixture
def always() -> Any:
    with using("always"):
        yield


def work() -> list[np.ndarray]:
    """Results of kernels that share their work: elementwise, in rows, of columns, a convolution with its gradients."""
    x, w = (torch.from_numpy(a.copy()).requires_grad_() for a in (INPUT, WEIGHT))
    y = torch.nn.functional.layer_norm(torch.conv2d(x, w, padding=1), (40,))
    torch.softmax(torch.nn.functional.gelu(y), -1).square().sum().backward()
    return [y.detach().numpy(), torch.logsumexp(y.detach(), 2).numpy(), x.grad.numpy(), w.grad.numpy()]


def test_results_do_not_depend_on_the_number_of_threads(counted: Any, always: None) -> None:
    counted(1)
    alone = work()
    for n in (2, 3, 5):
        counted(n)
        assert threads.count() == n
        for a, b in zip(alone, work()):
            np.testing.assert_array_equal(a, b)


def test_several_python_threads(counted: Any, always: None) -> None:
    """They share the pool; who finds it busy works alone."""
    counted(3)
    expected, failures = work(), []

    def check() -> None:
        for _ in range(3):
            for a, b in zip(expected, work()):
                if not np.array_equal(a, b):
                    failures.append(1)

    running = [threading.Thread(target=check) for _ in range(4)]
    [t.start() for t in running]
    [t.join() for t in running]
    assert not failures


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_after_fork(counted: Any, always: None) -> None:
    """A child has no workers, starts its own, and computes the same."""
    counted(3)
    expected = work()
    child = os.fork()
    if child == 0:
        try:
            same = all(np.array_equal(a, b) for a, b in zip(expected, work())) and threads.count() == 3
            os._exit(0 if same else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for a, b in zip(expected, work()):
        np.testing.assert_array_equal(a, b)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="there is no list of a process's threads here")
def test_workers_are_started_once() -> None:
    """Threads that want the first kernel at once do not each start workers, and make each other's locks anew."""
    text = """
import os, sys, threading, time
from pullback.kernels.codegen import threads

def work():
    barrier.wait()
    threads.set_count(20)

sys.setswitchinterval(1e-6)
before, barrier = len(os.listdir("/proc/self/task")), threading.Barrier(8)
asking = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in asking]
[t.join() for t in asking]
deadline = time.monotonic() + 5  # a thread that was joined may take a moment to be gone
while len(os.listdir("/proc/self/task")) != before + 19 and time.monotonic() < deadline:
    time.sleep(0.01)
print(len(os.listdir("/proc/self/task")) - before)
"""
    assert program(text) == "19"


def test_the_number_of_threads(always: None) -> None:
    before = kernels.get_num_threads()
    kernels.set_num_threads(2)
    assert kernels.get_num_threads() == 2
    kernels.set_num_threads(before)
    with pytest.raises(RuntimeError, match="positive integer"):
        kernels.set_num_threads(0)


# --- memory -----------------------------------------------------------------------------------------------------


def test_large_arrays_are_reused() -> None:
    memory.empty()
    _, before = memory.held()
    first = np.empty(1 << 20, np.uint8)
    address = first.ctypes.data
    assert address % 64 == 0
    del first
    assert memory.held()[0] >= 1 << 20
    second = np.empty((1 << 20) - 100, np.uint8)
    assert second.ctypes.data == address and memory.held()[1] == before + 1
    del second
    memory.empty()
    assert memory.held()[0] == 0


def test_arrays_of_all_sizes_hold_what_is_put_in() -> None:
    """Around the bounds of the size classes; grown and shrunk in place; zeros where zeros are asked for."""
    for n in (1, 1000, *[(4 + k) << s for k in range(4) for s in (14, 15, 18)], 3 << 20):
        for size in (n - 1, n, n + 1):
            a = np.full(size, 7, np.uint8)
            assert a.sum(dtype=np.int64) == 7 * size
            del a
            z = np.zeros(size, np.uint8)
            assert not z.any()
            z.resize(size * 2, refcheck=False)
            z[:] = 3
            z.resize(size // 2, refcheck=False)
            assert (z == 3).all()


def test_what_is_kept_is_bounded() -> None:
    memory.empty()
    many = [np.empty(16 << 20, np.uint8) for _ in range(20)]
    del many
    assert memory.held()[0] <= memory.LIMIT
    memory.empty()


# --- machine code -----------------------------------------------------------------------------------------------


def test_the_last_argument_comes_back_and_counts() -> None:
    """A kernel returns its result's array itself, whose references are counted right."""
    kernel = elementwise.Kernels("test_neg", [np.negative], np.negative, even_plain=True)
    x, plain = np.arange(70, dtype=np.float32), np.zeros(70, np.float32)
    for _ in range(3):
        y = kernel(x)
        # As many as an array has that no kernel met: interpreters count a local variable's reference differently.
        assert sys.getrefcount(y) == sys.getrefcount(x) == sys.getrefcount(plain)
        np.testing.assert_array_equal(y, -x)


OUTLIVED = """
import gc
import numpy as np
from pullback import kernels
kernels.start()
kept = np.ones(100_000)
from pullback.kernels.codegen import memory
vars(memory).clear()  # as at the interpreter's end
gc.collect()
del kept
print(np.ones(100_000).sum())
"""


def test_arrays_may_outlive_the_module_of_their_memory() -> None:
    assert program(OUTLIVED, PYTHONMALLOC="debug") == "100000.0"


def test_an_unknown_object_layout_means_no_kernels() -> None:
    text = """
from pullback.kernels.codegen import object_layout
object_layout.TUPLE_ITEMS += 8
import pullback as torch
print(torch.kernels.info()["running"], torch.kernels.info()["reason"], torch.ones(3).sum().item())
"""
    assert (
        program(text)
        == "False Unsupported: this interpreter lays out a tuple in a way that machine code does not know 3.0"
    )


def test_assembly_can_be_read() -> None:
    text = "define float @twice(float %x) #0 {\n  %y = fadd float %x, %x\n  ret float %y\n}\n"
    assert "twice" in jit.assembly(text)


def test_a_buffer_that_was_never_taken_is_not_kept():
    """NumPy's argsort gives back what it did not need to take: kept, the next large array would find no memory."""
    x = np.arange(50_000.0, dtype=np.float32)
    for size in (np.argsort(x).size, np.argpartition(x, 7).size):
        assert [np.empty(size, np.int64).nbytes for _ in range(30)] == [8 * size] * 30
