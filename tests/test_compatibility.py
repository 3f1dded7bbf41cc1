"""What programs written for PyTorch do beside computing: devices, flags, old types, versions, scripting, hub."""

import importlib
import inspect
import subprocess
import sys

import numpy as np
import pytest

import pullback as torch

CUDA = "Torch not compiled with CUDA enabled"


# --- devices there are not ----------------------------------------------------------------------------------


def test_the_usual_choice_of_a_device():
    assert torch.device("cuda:0" if torch.cuda.is_available() else "cpu") == torch.device("cpu")
    assert (
        not torch.backends.mps.is_available() and not torch.xpu.is_available() and not torch.accelerator.is_available()
    )
    assert (
        torch.accelerator.current_accelerator() is None and torch.cuda.device_count() == torch.mps.device_count() == 0
    )
    assert torch.cpu.is_available() and torch.cpu.device_count() == 1
    assert torch.get_default_device() == torch.device("cpu")


def test_what_only_asks_seeds_or_empties_does_nothing():
    torch.manual_seed(0)
    torch.cuda.manual_seed(1)
    torch.cuda.manual_seed_all(1)
    torch.mps.manual_seed(1)
    torch.xpu.manual_seed_all(1)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated(0) == 0
    assert torch.cuda.get_rng_state_all() == [] and torch.cuda.set_rng_state_all([]) is None
    assert not torch.cuda.is_bf16_supported() and not torch.cuda.is_initialized() and not torch.cuda._initialized
    with torch.cuda.device(0), torch.cuda.stream(None), torch.accelerator.device_index(0):
        assert torch.rand(1).item() == pytest.approx(0.49625658988952637)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: torch.zeros(1).cuda(), AssertionError, CUDA),
        (lambda: torch.zeros(1, device="cuda"), AssertionError, CUDA),
        (lambda: torch.zeros(1).to("cuda:1"), AssertionError, CUDA),
        (lambda: torch.nn.Linear(1, 1).cuda(), AssertionError, CUDA),
        (lambda: torch.nn.Linear(1, 1).to(torch.device("cuda")), AssertionError, CUDA),
        (lambda: torch.set_default_device("cuda"), AssertionError, CUDA),
        (lambda: torch.cuda.synchronize(), AssertionError, CUDA),
        (lambda: torch.cuda.get_device_name(0), AssertionError, CUDA),
        (lambda: torch.cuda.FloatTensor(2), TypeError, "type torch.cuda.FloatTensor not available"),
        (lambda: torch.zeros(1).type(torch.cuda.FloatTensor), TypeError, "type torch.cuda.FloatTensor not available"),
        (lambda: torch.cuda.Event(enable_timing=True), RuntimeError, "Tried to instantiate dummy base class Event"),
        (lambda: torch.cuda.nvtx.range_push("a"), RuntimeError, "NVTX functions not installed"),
        (lambda: torch.zeros(1, device="xpu"), AssertionError, "Torch not compiled with XPU enabled"),
        (lambda: torch.zeros(1, device="mps"), RuntimeError, "Device 'mps' is not available"),
        (
            lambda: torch.accelerator.synchronize(),
            RuntimeError,
            "Cannot access accelerator device when none is available",
        ),
    ],
)
def test_what_wants_one_is_refused_with_a_way_out(call, error, words):
    with pytest.raises(error, match=words) as refused:
        call()
    notes = getattr(refused.value, "__notes__", [])
    assert error is TypeError or any("torch.cuda.is_available()" in note for note in notes)


def test_what_programs_name_of_what_is_not_there():
    assert not (torch.has_cuda or torch.has_cudnn or torch.has_mps or torch.has_mkl) and torch.has_lapack
    assert torch.backends.fp32_precision == "none" and torch.backends.cudnn.conv.fp32_precision == "tf32"
    assert not (
        torch.backends.miopen.immediate or torch.backends.kleidiai.is_available() or torch.cuda.nccl.is_available([])
    )
    assert torch.nn.attention.SDPBackend.MATH.name == "MATH"
    with pytest.raises(RuntimeError, match="not compiled with NCCL support"):
        torch.cuda.nccl.version()
    assert torch.distributed.group.WORLD is None


def test_flags_remember():
    cudnn = importlib.import_module("pullback.backends.cudnn")
    cudnn.benchmark, cudnn.deterministic = True, True
    assert torch.backends.cudnn.benchmark and not cudnn.is_available() and cudnn.version() is None
    with cudnn.flags(enabled=False, benchmark=False):
        assert not cudnn.enabled and not cudnn.benchmark and cudnn.deterministic
    assert cudnn.enabled and cudnn.benchmark
    cudnn.benchmark = cudnn.deterministic = False
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cuda.enable_flash_sdp(False)
    assert torch.backends.cuda.matmul.allow_tf32 and not torch.backends.cuda.flash_sdp_enabled()
    torch.backends.cuda.enable_flash_sdp(True)
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled() and torch.get_deterministic_debug_mode() == 1
    torch.set_deterministic_debug_mode("default")
    assert not torch.are_deterministic_algorithms_enabled()
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    with pytest.warns(UserWarning, match="is not one of 'highest'"):
        torch.set_float32_matmul_precision("low")
    torch.set_float32_matmul_precision("highest")


def test_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    assert torch.get_num_threads() == 1
    torch.set_num_threads(before)
    for wrong, words in ((2.5, "an int, but got float"), (True, "an int, but got bool"), (0, "a positive integer")):
        with pytest.raises(RuntimeError, match=f"set_num_threads expects {words}"):
            torch.set_num_threads(wrong)
    torch.set_num_interop_threads(2)
    assert torch.get_num_interop_threads() == 2
    with pytest.raises(RuntimeError, match="Expected positive number of threads"):
        torch.set_num_interop_threads(0)
    torch.set_num_interop_threads(1)


def test_the_number_of_threads_reaches_linear_algebra():
    """Also a library that is loaded later; and a program that does not ask does not pay."""
    text = """
import sys
import pullback as torch
assert "threadpoolctl" not in sys.modules and "scipy.linalg" not in sys.modules
torch.set_num_threads(1)
torch.linalg.matrix_exp(torch.ones(3, 3)), torch.linalg.eigh(torch.ones(3, 3))  # by SciPy, and by NumPy
import threadpoolctl
print({library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"})
torch.set_num_threads(2)
print({library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"})
"""
    got = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)
    assert got.stdout in ("{1}\n{2}\n", "set()\nset()\n"), got.stderr  # none: libraries that can't be told


# --- versions -----------------------------------------------------------------------------------------------


def test_the_version_compares():
    v = torch.__version__
    assert isinstance(v, str) and v.startswith("2.13.0+")
    assert v >= "1.10" and v > "2.9.1" and v < "3" and v >= (2, 13) and not v < (2, 5, 1) and v != "2.13.1" and v == v
    assert [int(n) for n in v.split(".")[:2]] == [2, 13]
    assert tuple(map(int, v.split("+")[0].split("."))) == (2, 13, 0)
    assert v > "garbage" or v < "garbage"  # as strings
    kind = type(v)
    ordered = ["1.0.dev3", "1.0a2", "1.0b1", "1.0rc1", "1.0", "1.0+cpu", "1.0.1", "1.10"]
    assert sorted(map(kind, reversed(ordered))) == ordered
    assert torch.version.cuda is None and torch.version.hip is None and not torch.version.debug
    assert hash(v) == hash(str(v)) and {v: 1}[v] == 1


def test_the_version_compares_as_packaging_has_it():
    packaging = pytest.importorskip("packaging.version")
    versions = [
        "1.0.dev3",
        "1.0a2",
        "1.0b1",
        "1.0rc1",
        "1.0",
        "1.0.0",
        "1.0+cpu",
        "1.0.1",
        "1.10",
        "2.13.0+pullback.0.1.0",
    ]
    kind = type(torch.__version__)
    for a in versions:
        for b in versions:
            assert (kind(a) < b, kind(a) == b) == (
                packaging.Version(a) < packaging.Version(b),
                packaging.Version(a) == packaging.Version(b),
            )
    assert torch.__version__ >= packaging.Version("2.0")


# --- old types ----------------------------------------------------------------------------------------------


def test_legacy_types():
    x = torch.FloatTensor(2, 3)
    assert (
        x.shape == (2, 3)
        and x.dtype is torch.float32
        and isinstance(x, torch.FloatTensor)
        and not isinstance(x, torch.LongTensor)
    )
    assert torch.LongTensor([1, 2]).tolist() == [1, 2] and torch.LongTensor([1.7]).tolist() == [1]
    assert torch.ByteTensor([[1]]).dtype is torch.uint8 and torch.BoolTensor([True, False]).tolist() == [True, False]
    assert torch.DoubleTensor().shape == (0,) and torch.IntTensor(torch.Size([2])).shape == (2,)
    assert torch.FloatTensor(np.ones(2)).tolist() == [1, 1] and torch.FloatTensor(x).data_ptr() == x.data_ptr()
    with pytest.raises(TypeError, match="expected torch.float32"):
        torch.FloatTensor(torch.zeros(1, dtype=torch.int64))
    assert x.type(torch.LongTensor).dtype is torch.int64 and x.type("torch.DoubleTensor").dtype is torch.float64
    assert x.type() == "torch.FloatTensor" and str(torch.FloatTensor) == "<class 'torch.FloatTensor'>"
    assert torch.Tensor(3, 4).shape == (3, 4) and isinstance(torch.autograd.Variable(x), torch.Tensor)
    assert not isinstance(x, torch.cuda.FloatTensor) and torch.typename(x) == "torch.FloatTensor"


def test_new_takes_sizes_or_data():
    x = torch.zeros(2, dtype=torch.int64)
    for shape, made in {
        (2, 3): x.new(2, 3),
        (3,): x.new(torch.Size([3])),
        (0,): x.new(),
        (1, 2): x.new(size=(1, 2)),
    }.items():
        assert (made.shape, made.dtype) == (shape, torch.int64)
    for data in ([0, 1], (0, 1), range(2), np.array([0, 1]), [0.5, 1.5]):
        assert x.new(data).tolist() == [0, 1]
    assert x.new([]).shape == (0,)
    assert x.new([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    y = x.new(x)
    y[0] = 5
    assert x[0] == 5
    for data in (torch.ones(1), 2.5, "a"):
        with pytest.raises(TypeError, match="expected torch.int64|new\\(\\)"):
            x.new(data)


def test_legacy_types_of_sparse_tensors():
    indices, values = torch.tensor([[0, 1], [1, 0]]), torch.tensor([2.0, 3.0], requires_grad=True)
    kind = torch.sparse.FloatTensor
    x = kind(indices, values, torch.Size([2, 3]))
    assert (
        x.to_dense().tolist() == [[0, 2, 0], [3, 0, 0]] and x.requires_grad and x.type() == "torch.sparse.FloatTensor"
    )
    assert (
        kind(indices, values).shape == (2, 2)
        and kind(2, 3).shape == kind(torch.Size([2, 3])).shape == (2, 3)
        and kind().shape == (0,)
    )
    assert (
        isinstance(x, kind)
        and not isinstance(x, torch.FloatTensor | torch.sparse.DoubleTensor)
        and not isinstance(values, kind)
    )
    assert torch.sparse.LongTensor(4).dtype is torch.int64 and str(kind) == "<class 'torch.sparse.FloatTensor'>"


def test_the_default_type_by_its_old_name():
    torch.set_default_tensor_type(torch.DoubleTensor)
    assert torch.zeros(1).dtype is torch.float64
    torch.set_default_tensor_type("torch.FloatTensor")
    assert torch.zeros(1).dtype is torch.float32
    for wrong, words in (
        (torch.cuda.FloatTensor, "not available"),
        (torch.float32, "invalid type object"),
        (torch.LongTensor, "floating"),
    ):
        with pytest.raises(TypeError, match=words):
            torch.set_default_tensor_type(wrong)
    with pytest.raises(ValueError, match="invalid type: 'torch.NoTensor'"):
        torch.set_default_tensor_type("torch.NoTensor")


# --- numbers ------------------------------------------------------------------------------------------------


def test_tensors_where_numbers_go():
    x = torch.tensor(2.5)
    assert "%d %.2f %s" % (x, x, torch.tensor(1)) == "2 2.50 tensor(1)"  # noqa: UP031  (it is what is tested)
    assert f"{x:.3f} {x:>5} {torch.tensor(7):03d}" == "2.500   2.5 007" and format(x, ".1e") == "2.5e+00"
    assert sum([torch.ones(2), torch.ones(2)]).tolist() == [2, 2] and max([torch.tensor(1), torch.tensor(3)]) == 3
    assert reversed(torch.tensor([1, 2])).tolist() == [2, 1] and reversed(torch.tensor(3)).item() == 3
    assert list(range(torch.tensor(3))) == [0, 1, 2] and [10, 20, 30][torch.tensor(1)] == 20
    with pytest.raises(TypeError):
        format(torch.ones(2), ".1f")


def test_numpys_spellings():
    x = torch.arange(6.0).reshape(2, 3)
    assert x.sum(axis=0, keepdims=True).shape == (1, 3) and x.mean(axis=1).shape == (2,)
    assert torch.cat([x, x], axis=1).shape == (2, 6) and torch.stack([x, x], axis=1).shape == (2, 2, 3)
    assert x.max(axis=1).values.tolist() == [2, 5] and torch.softmax(x, axis=1).shape == (2, 3)
    assert x[:, torch.newaxis].shape == (2, 1, 3)
    assert torch.linalg.norm(x, axis=1, keepdims=True).shape == (2, 1) and torch.fft.rfft(x, axis=0).shape == (2, 3)
    assert torch.special.softmax(x, axis=0).shape == (2, 3) and torch.linalg.matrix_norm(x, axis=(0, 1)).ndim == 0


def test_foreach():
    a, b = [torch.ones(2), torch.zeros(1)], [torch.full((2,), 2.0), torch.ones(1)]
    assert [t.tolist() for t in torch._foreach_add(a, b, alpha=2)] == [[5, 5], [2]]
    assert torch._foreach_mul_(a, 3) is None and [t.tolist() for t in a] == [[3, 3], [0]]
    torch._foreach_addcdiv_(a, b, b, [1, 2])
    assert [t.tolist() for t in a] == [[4, 4], [2]]
    assert [t.tolist() for t in torch._foreach_maximum(a, 3)] == [[4, 4], [3]]
    assert [t.item() for t in torch._foreach_norm(b)] == pytest.approx([8**0.5, 1])
    torch._foreach_zero_(a)
    torch._foreach_copy_(a, b)
    assert [t.tolist() for t in torch._foreach_sqrt(a)] == [pytest.approx([2**0.5] * 2), [1]]
    with pytest.raises(RuntimeError, match="Tensor lists must have the same number of tensors, got 2 and 1"):
        torch._foreach_add(a, b[:1])


# --- scripting ----------------------------------------------------------------------------------------------


def test_scripted_code_runs_as_it_is():
    jit = torch.jit

    @jit.script
    def clipped(x: torch.Tensor, low: float = 0.0) -> torch.Tensor:
        return x if bool(x.min() > low) else x.clamp(min=low)

    assert clipped(torch.tensor([-1.0])).tolist() == [0] and inspect.isfunction(clipped)

    class Net(jit.ScriptModule):
        size: jit.Final[int] = 3

        @jit.script_method
        def forward(self, x):
            return self.helper(x) if not jit.is_scripting() else x

        @jit.ignore
        def helper(self, x):
            return x + 1

        @jit.unused
        def other(self):
            return None

        @jit.export
        def more(self, x):
            return x + 2

        @jit.ignore(drop=True)
        def dropped(self, x):
            return x + 3

    net = Net()
    assert jit.script(net) is net and jit.trace(net, torch.ones(1)) is net and net(torch.ones(1)).item() == 2
    assert net.more(1) == 3 and net.dropped(1) == 4 and jit.freeze(net.eval()) is net
    for refuse in (lambda: net.save("x.pt"), lambda: clipped.save("x.pt"), lambda: jit.save(net, "x.pt")):
        with pytest.raises(NotImplementedError, match="no program of its own to save") as refused:
            refuse()
        assert "state_dict" in refused.value.__notes__[0]
    with pytest.raises(NotImplementedError, match="holds a TorchScript program"):
        jit.load("x.pt")
    with pytest.raises(RuntimeError, match="eval mode"):
        jit.freeze(net.train())
    assert jit.annotate(list[int], [1]) == [1] and jit.wait(jit.fork(max, 1, 2)) == jit._wait(jit._fork(max, 1, 2)) == 2
    assert (
        jit.isinstance([1, 2], list[int])
        and not jit.isinstance(["a"], list[int])
        and jit.isinstance({"a": 1}, dict[str, int])
    )
    assert (
        jit.isinstance(None, int | None)
        and jit.isinstance((1, "a"), tuple[int, str])
        and not jit.isinstance((1,), tuple[int, str])
    )


# --- hub ----------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "owner_repo_main"
    folder.mkdir()
    (folder / "parts.py").write_text("factor = 3\n")
    (folder / "hubconf.py").write_text(
        "dependencies = ['torch', 'numpy']\nfrom parts import factor\n"
        "def net(n=1):\n    'A net.'\n    return n * factor\n"
    )
    yield folder
    sys.modules.pop("parts", None)


def test_hub(repository, tmp_path, monkeypatch):
    hub = torch.hub
    assert hub.load(str(repository), "net", 2, source="local") == 6
    assert (
        hub.list(str(repository), source="local") == ["net"] and hub.help(repository, "net", source="local") == "A net."
    )
    monkeypatch.setattr(hub, "_dir", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    assert hub.get_dir() == str(tmp_path / "home" / "hub")
    with pytest.raises(RuntimeError, match="owner/repo is not on this machine, and Pullback downloads no code"):
        hub.load("owner/repo", "net")
    hub.set_dir(tmp_path)
    assert hub.load("owner/repo", "net") == 3 and hub.load("owner/repo:main", "net", n=0) == 0
    with pytest.raises(ValueError, match='Unknown source: "web"'):
        hub.load(".", "net", source="web")
    with pytest.raises(RuntimeError, match="Cannot find callable more in hubconf"):
        hub.load("owner/repo", "more")
    (repository / "hubconf.py").write_text("dependencies = ['a_package_that_is_not_there']\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: a_package_that_is_not_there"):
        hub.list("owner/repo")


def test_weights_from_a_url(tmp_path, monkeypatch):
    import hashlib

    source = tmp_path / "weights.pt"
    torch.save({"w": torch.ones(2)}, source)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    named = source.rename(tmp_path / f"net-{digest[:8]}.pt")
    folder = tmp_path / "kept"
    state = torch.hub.load_state_dict_from_url(named.as_uri(), str(folder), check_hash=True, progress=False)
    assert state["w"].tolist() == [1, 1] and [p.name for p in folder.iterdir()] == [named.name]
    named.write_bytes(b"changed")
    assert torch.hub.load_state_dict_from_url(named.as_uri(), str(folder))["w"].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="invalid hash value"):
        torch.hub.download_url_to_file(named.as_uri(), str(tmp_path / "new.pt"), digest, progress=False)
    assert not (tmp_path / "new.pt").exists() and len(list(tmp_path.iterdir())) == 2


# --- names --------------------------------------------------------------------------------------------------


def test_nothing_here_is_imported_before_it_is_needed():
    program = """
import sys, pullback
names = "amp backends cuda hub jit legacy settings testing mps xpu accelerator foreach onnx".split()
print([n for n in names if "pullback." + n in sys.modules])
"""
    got = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert got.stdout.strip() == "[]", got.stderr


def test_libraries_that_look_for_torch_among_the_modules():
    program = """
import sys, pullback
pullback.install()
import torch
assert sys.modules["torch"] is pullback and torch.cuda.is_available() is False
import torch.nn.modules.rnn, torch.backends.cudnn as cudnn, torch.cuda.amp, torch.utils.hooks
from torch.cuda.amp import autocast, GradScaler
from torch.nn.modules.utils import _pair
from torch.nn.utils.parametrizations import spectral_norm
assert torch.nn.modules.rnn.LSTM is torch.nn.LSTM and _pair(3) == (3, 3)
assert isinstance(torch.zeros(1), sys.modules["torch"].Tensor)
print("done")
"""
    got = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=300)
    assert got.stdout == "done\n", got.stderr


def test_futures():
    futures = importlib.import_module("pullback.futures")
    first, second = futures.Future(), futures.Future()
    both, log = futures.collect_all([first, second]), []
    doubled = first.then(lambda f: f.wait() * 2)
    broken = first.then(lambda f: 1 / 0)
    second.add_done_callback(lambda f: log.append(f.value()))
    with pytest.raises(RuntimeError, match="there is no result yet"):
        first.value()
    first.set_result(3)
    assert doubled.wait() == 6 and not both.done()
    second.set_result(4)
    assert [f.wait() for f in both.wait()] == futures.wait_all([first, second]) == [3, 4] and log == [4]
    with pytest.raises(ZeroDivisionError):
        broken.wait()
    with pytest.raises(RuntimeError, match="Future can only be marked completed once"):
        first.set_result(1)


def test_benchmark():
    benchmark = importlib.import_module("pullback.utils.benchmark")
    timer = benchmark.Timer("y = x + k", "k = 2", globals={"x": torch.ones(1)}, label="add", description="small")
    once = timer.timeit(10)
    assert once.number_per_run == 10 and 0 < once.mean == once.median and "add" in repr(once)
    found = timer.blocked_autorange(min_run_time=0.01)
    assert sum(found.raw_times) >= 0.01 and found.median > 0 and timer.adaptive_autorange(max_run_time=0.02).times
    assert "small" in str(benchmark.Compare([once, found]))


def test_gradients_of_convolutions_as_functions():
    grad = importlib.import_module("pullback.nn.grad")
    x, w = torch.randn(1, 2, 5, 5, requires_grad=True), torch.randn(3, 2, 2, 2, requires_grad=True)
    out = torch.nn.functional.conv2d(x, w, stride=2, padding=1)
    g = torch.randn_like(out)
    out.backward(g)
    assert torch.equal(grad.conv2d_input(x.shape, w.detach(), g, stride=2, padding=1), x.grad)
    assert torch.equal(grad.conv2d_weight(x.detach(), w.shape, g, stride=2, padding=1), w.grad)


def test_one_way_to_compute_attention():
    attention = importlib.import_module("pullback.nn.attention")
    with attention.sdpa_kernel([attention.SDPBackend.MATH]):
        pass
    with (
        pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend"),
        attention.sdpa_kernel("math"),
    ):
        pass


# --- quasirandom numbers and test cases ---------------------------------------------------------------------


def test_sobol_points():
    engine = torch.quasirandom.SobolEngine(3)
    points = engine.draw(8)
    assert points[1:4].tolist() == [[0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75]]
    assert torch.equal(engine.reset().fast_forward(3).draw(5), points[3:]) and engine.num_generated == 8
    assert torch.equal(engine.reset().draw_base2(2, dtype=torch.float64).float(), points[:4])
    with pytest.raises(ValueError, match="require n to be a power of 2"):
        engine.draw_base2(3)
    with pytest.raises(ValueError, match="Supported range of dimensionality"):
        torch.quasirandom.SobolEngine(0)
    out = torch.empty(2, 3)
    assert engine.reset().draw(2, out=out) is out and torch.equal(out, points[:2])
    scrambled = torch.quasirandom.SobolEngine(2, scramble=True, seed=3).draw(64)
    counts = torch.zeros(8, 8)
    counts.index_put_(((scrambled[:, 0] * 8).long(), (scrambled[:, 1] * 8).long()), torch.ones(64), accumulate=True)
    assert (counts == 1).all()  # one point in each of 64 squares


@pytest.mark.torch
@pytest.mark.parametrize("scramble, seed", [(False, None), (True, 5), (True, None)])
def test_sobol_points_are_pytorchs(scramble, seed):
    judge = pytest.importorskip("torch")
    drawn = []
    for library in (torch, judge):
        library.manual_seed(1)
        engine = library.quasirandom.SobolEngine(17, scramble, seed)
        drawn.append(
            [engine.draw(5).tolist(), engine.fast_forward(6).draw(4).tolist(), library.rand(2).tolist(), repr(engine)]
        )
    assert drawn[0] == drawn[1]


def test_the_test_case():
    case = importlib.import_module("pullback.testing._internal.common_utils").TestCase()
    case.setUp()
    first = torch.rand(2)
    case.setUp()
    case.assertEqual(first, torch.rand(2))
    case.assertEqual(torch.ones(2), 1.0)
    case.assertEqual([torch.ones(1), "a"][1], "a")
    case.assertNotEqual(torch.ones(2), torch.zeros(2))
    with pytest.raises(AssertionError, match="Tensor-likes are not close"):
        case.assertEqual(torch.ones(2), torch.ones(2) + 1e-3)
    case.assertEqual(torch.ones(2), torch.ones(2) + 1e-3, atol=1e-2, rtol=0)
