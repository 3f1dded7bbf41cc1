"""What other people's libraries ask for when they are imported, and of private names."""

import copy
import importlib
import io
import math
import pickle
import subprocess
import sys

import pytest

import pullback as torch

CUDA = "Torch not compiled with CUDA enabled"


def test_assertions_on_a_device():
    torch._assert_async(torch.tensor([2]))
    with pytest.raises(RuntimeError, match="nonzero value, but got zero"):
        torch._assert_async(torch.tensor(0))
    with pytest.raises(RuntimeError, match="empty batch"):
        torch._assert_async(torch.tensor(False), "empty batch")


def test_checks():
    torch._check(True, lambda: 1 / 0)
    with pytest.raises(RuntimeError, match="Expected cond to be True, but got False"):
        torch._check(False)
    with pytest.raises(ValueError, match="too long"):
        torch._check_value(False, lambda: "too long")


def test_one_process_alone():
    dist = torch.distributed
    assert dist.is_available() and not (dist.is_initialized() or dist.is_nccl_available())
    assert dist.is_backend_available("gloo") and dist.ReduceOp.SUM != dist.ReduceOp.MAX
    for ask in (dist.get_rank, dist.barrier, lambda: dist.all_reduce(torch.ones(1))):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            ask()
    for part in ("rpc", "autograd"):
        assert not importlib.import_module(f"pullback.distributed.{part}").is_available()


def test_compiled_modules_are_known():
    from pullback._dynamo import OptimizedModule

    module = torch.nn.Linear(1, 1)
    assert (
        isinstance(torch.compile(module), torch._dynamo.eval_frame.OptimizedModule)
        and OptimizedModule is torch._dynamo.eval_frame.OptimizedModule
    )
    assert not isinstance(module, OptimizedModule)
    assert hasattr(torch.compile(module), "dynamo_ctx") and not hasattr(module, "dynamo_ctx")


def test_switches_of_the_compiler():
    torch._dynamo.config.suppress_errors = True
    torch._dynamo.reset()
    torch.compiler.reset()

    def f(x):
        return x + (1 if torch.compiler.is_compiling() else 2)

    assert torch.compiler.disable(f) is f and torch.compiler.disable()(f) is f and torch.compiler.allow_in_graph(f) is f
    for options in ({"mode": "max-autotune"}, {"backend": "eager"}, {"dynamic": True}, {"fullgraph": True}):
        assert torch.compile(f, **options)(torch.ones(2)).tolist() == [2.0, 2.0]
    assert f(1) == 3


def test_storages_are_said_to_be_smaller():
    x = torch.arange(6.0)
    memory, part = x.untyped_storage(), x[2:4]
    assert memory.resizable() and memory.device == torch.device("cpu")
    assert memory.resize_(0) is memory
    assert (memory.size(), len(part.untyped_storage()), x.storage().size(), memory.tolist()) == (0, 0, 0, [])
    memory.resize_(24)
    x.copy_(torch.ones(6))
    assert (part.tolist(), x.storage().size()) == ([1, 1], 6)
    assert memory.resize_(25).size() == 25


def test_storages():
    x = torch.arange(4.0)
    memory, elements = x[1:].untyped_storage(), x[1:].storage()
    assert len(memory) == memory.nbytes() == 16 and sys.getsizeof(memory) > 16 and memory[3] == 0 and memory[7] == 63
    assert elements.tolist() == list(elements) == [0.0, 1.0, 2.0, 3.0] and elements[2] == 2.0
    assert repr(elements).endswith("[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 4]")
    assert repr(memory).endswith("[torch.storage.UntypedStorage(device=cpu) of size 16]")
    assert x.share_memory_() is x


def test_tensors_grouped_by_type():
    group = importlib.import_module("pullback.utils._foreach_utils")._group_tensors_by_device_and_dtype
    a, b, c = torch.ones(1), torch.ones(1, dtype=torch.float64), torch.zeros(1)
    groups = group([[a, b, c], [None, b, a]], with_indices=True)
    cpu = torch.device("cpu")
    assert list(groups) == [(cpu, torch.float32), (cpu, torch.float64)]
    (first, second), places = groups[cpu, torch.float32]
    assert first[0] is a and first[1] is c and second == [None, a] and places == [0, 2]


def test_private_names_that_libraries_use():
    torch.manual_seed(0)
    noise = torch.distributions.utils._standard_normal((3,), torch.float64, torch.device("cpu"))
    torch.manual_seed(0)
    assert torch.equal(noise, torch.randn(3, dtype=torch.float64))
    assert isinstance(
        torch.distributions.transforms.ExpTransform().inv, torch.distributions.transforms._InverseTransform
    )
    assert torch.Future[torch.Tensor].__origin__ is torch.futures.Future
    assert torch.sparse_coo_tensor(size=(2, 3)).to_dense().tolist() == [[0.0] * 3] * 2


def test_an_optimizer_that_wraps_another():
    class Wrapped(torch.optim.Optimizer):
        def __init__(self, inner):
            self.inner, self.state, self.param_groups, self.defaults = (
                inner,
                inner.state,
                inner.param_groups,
                inner.defaults,
            )
            self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = {}, {}
            self._patch_step_function()

        def step(self, closure=None):
            return self.inner.step(closure)

    w = torch.nn.Parameter(torch.ones(1))
    w.grad = torch.ones(1)
    optimizer, steps = Wrapped(torch.optim.SGD([w], 0.5)), []
    optimizer.register_step_post_hook(lambda *given: steps.append(1))
    optimizer.step()
    assert w.item() == 0.5 and steps == [1]


def test_a_module_with_attributes_of_its_own_is_asked_each_time():
    class Counting(torch.nn.Module):
        asked = 0

        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def __getattr__(self, name):
            Counting.asked += name == "weight"
            return super().__getattr__(name)

    module = Counting()
    Counting.asked = 0
    for _ in range(3):
        assert module.weight is module._parameters["weight"]
    assert Counting.asked == 3


def test_odd_addresses():
    assert torch.functional.einsum is torch.einsum and not hasattr(torch.functional, "relu")
    assert "NumPy" in torch.__config__.show() or "numpy" in torch.__config__.show()
    assert str(torch.get_num_threads()) in torch.__config__.parallel_info()
    assert not isinstance(3, torch.SymInt) and not torch.profiler.kineto_available()
    with pytest.raises(NotImplementedError, match="SymInt"):
        torch.SymInt()
    assert torch._C._nn._parse_to("cpu", torch.float64) == (torch.device("cpu"), torch.float64, False, None)
    assert torch._C._nn._parse_to(torch.zeros(1), non_blocking=True)[1:3] == (torch.float32, True)
    assert torch._dynamo.assume_constant_result(len) is len and torch._dynamo.mark_dynamic(torch.zeros(1), 0) is None
    inside = []
    torch.vmap(lambda x: inside.append(torch._C._are_functorch_transforms_active()) or x)(torch.zeros(2))
    assert inside == [True] and not torch._C._are_functorch_transforms_active()
    assert torch.ops.aten._to_copy.default.overloadpacket is torch.ops.aten._to_copy


def test_a_method_has_its_own_name_for_an_argument():
    assert [t.numel() for t in torch.zeros(5).split(split_size=2)] == [2, 2, 1]
    assert [t.numel() for t in torch.split(torch.zeros(5), split_size_or_sections=[4, 1])] == [4, 1]


def test_a_checkpoint_entry_by_entry():
    import io

    file = io.BytesIO()
    torch.save({"x": torch.arange(3.0)}, file)
    reader = torch.PyTorchFileReader(file)
    assert reader.has_record("data/0") and not reader.has_record("data/1") and "data.pkl" in reader.get_all_records()
    assert reader.get_record("data.pkl").startswith(b"\x80")
    assert reader.get_storage_from_record("data/0", 3, torch.float32).tolist() == [0, 1, 2]


def test_divergences_of_distributions_that_are_not_torchs():
    from pullback.distributions import kl_divergence, register_kl

    class Mine:
        pass

    register_kl(Mine, Mine)(lambda p, q: torch.tensor(2.0))
    assert kl_divergence(Mine(), Mine()).item() == 2
    with pytest.raises(TypeError, match="Expected type_p to be a Distribution subclass"):
        register_kl(3, Mine)


def test_there_is_one_storage_for_memory():
    x = torch.arange(4.0)
    memory = x.untyped_storage()
    assert x[1:].untyped_storage() is memory is x.storage().untyped() and torch.is_storage(memory)
    memory[4:8] = 0
    x.storage()[3] = 7
    assert x.tolist() == [0, 0, 2, 7] and x._version == 2
    assert memory[-4:].tolist() == [0, 0, 224, 64] and memory[-1] == 64
    assert x.storage().fill_(2).copy_(torch.FloatStorage([1, 2, 3, 4])).tolist() == x.tolist() == [1, 2, 3, 4]
    for wrong, error, words in (
        (lambda: x.storage()[1:2], RuntimeError, "slices are only supported in UntypedStorage"),
        (lambda: memory[::2], RuntimeError, "Trying to slice with a step of 2"),
        (lambda: memory["a"], RuntimeError, "can't index a"),
        (lambda: x.storage()[4], IndexError, "index 4 out of range for storage of size 4"),
        (lambda: torch.zeros(2, device="meta").untyped_storage()[0], NotImplementedError, "Not available for 'meta'"),
    ):
        with pytest.raises(error, match=words):
            wrong()


def test_classes_of_storages():
    one = torch.FloatStorage([1, 2])
    assert type(one) is torch.TypedStorage and isinstance(one, torch.Storage) and not isinstance(one, torch.IntStorage)
    assert (one.type(), one.int().type(), one.bool().tolist()) == (
        "torch.FloatStorage",
        "torch.IntStorage",
        [True, True],
    )
    assert torch.Tensor(one).tolist() == torch.tensor(one).tolist() == torch.tensor([]).set_(one).tolist() == [1, 2]
    assert torch.UntypedStorage([1, 2]).tolist() == [1, 2] and torch.UntypedStorage(3).size() == 3
    assert torch.storage.UntypedStorage is torch.UntypedStorage
    for copied in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one)), one.clone()):
        assert copied.tolist() == [1, 2] and copied.data_ptr() != one.data_ptr()
    x = torch.ones(2)
    y, memory = copy.deepcopy([x, x.storage()])
    assert memory.untyped() is y.untyped_storage()


@pytest.mark.parametrize(
    "make",
    [
        torch.tensor,
        torch.as_tensor,
        torch.asarray,
        torch.Tensor,
        torch.FloatTensor,
        torch.ones(1).new_tensor,
        torch.ones(1).new,
        lambda given: torch.empty(0).set_(given),
    ],
)
def test_tensors_on_storages(make):
    for given in (torch.FloatStorage([1, 2]), torch.FloatStorage([1, 2]).untyped()):
        if make.__name__ in ("tensor", "as_tensor", "asarray") and given is given.untyped():
            continue  # they take bytes for integers
        x = make(given)
        x[0] = 9
        assert x.dtype is torch.float32 and x.tolist() == [9, 2] and x.untyped_storage() is given.untyped()
    with pytest.raises(RuntimeError, match="Expected a Storage of type Float or an UntypedStorage, but got Long"):
        make(torch.LongStorage([1, 2]))


def test_tensors_on_bytes():
    memory = torch.UntypedStorage([1, 2, 3, 4, 5])
    assert torch.tensor(memory, dtype=torch.int32).tolist() == torch.as_tensor(memory, dtype=torch.int32).tolist()
    assert torch.asarray(memory, dtype=torch.int32).tolist() == [67305985]
    assert torch.tensor(memory).shape == (0,) and torch.tensor(memory).dtype is torch.int64
    assert torch.tensor([torch.FloatStorage([1, 2]), torch.LongStorage([3, 4])]).tolist() == [[1, 2], [3, 4]]
    assert torch.empty(0).set_(torch.arange(4.0).storage(), 1, (2,), (2,)).tolist() == [1, 3]
    with pytest.raises(RuntimeError, match="Expected a Storage of type Int or an UntypedStorage, but got Float"):
        torch.tensor(torch.FloatStorage([1, 2]), dtype=torch.int32)


def test_storages_move_to_shared_memory():
    for storage in (torch.UntypedStorage([1, 2]), torch.FloatStorage([1, 2])):
        shown = hash(storage)
        assert storage.share_memory_().is_shared() and storage.tolist() == [1, 2] and hash(storage) == shown
        x = torch.tensor(storage, dtype=torch.uint8 if storage.element_size() == 1 else torch.float32)
        assert x.is_shared() and x.untyped_storage() is storage.untyped() is storage.share_memory_().untyped()
    x = torch.ones(3)
    batch = x.new(x._typed_storage()._new_shared(6)).resize_(2, 3)  # as in functions that collate
    assert batch.is_shared() and torch.stack([x, 2 * x], out=batch).tolist() == [[1, 1, 1], [2, 2, 2]]
    assert batch.is_shared() and torch.UntypedStorage._new_shared(3).is_shared()
    assert not x.is_shared() and x.share_memory_().untyped_storage().is_shared()


def test_a_storage_keeps_its_attributes_while_its_memory_lives():
    x = torch.ones(3)
    x.untyped_storage().seen = 1
    known = hash(x.untyped_storage())
    others = [torch.ones(3).untyped_storage() for _ in range(20)]
    assert x[1:].untyped_storage().seen == 1 and hash(x.untyped_storage()) == known
    assert not any(hasattr(other, "seen") for other in others)


def test_the_default_class_of_storages():
    assert torch.Storage is torch.FloatStorage
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.Storage is torch.DoubleStorage and torch.Storage([1]).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_weights_given_to_a_recurrent_layer_are_computed_with():
    layer, x = torch.nn.LSTM(2, 3), torch.ones(1, 1, 2)
    weights = list(layer._flat_weights)
    scale = torch.tensor(2.0, requires_grad=True)
    layer._flat_weights = [w * scale for w in weights]
    layer(x)[0].sum().backward()
    assert scale.grad and weights[0].grad is not None and list(layer.parameters()) == weights
    scaled = layer(x)[0]
    layer._flat_weights = weights
    assert layer._flat_weights[0] is weights[0] is layer.weight_ih_l0 and not torch.equal(layer(x)[0], scaled)


def test_names_of_storages_and_packed_sequences():
    assert torch.ones(2).storage_type() is torch.FloatStorage and torch._C.StorageBase is torch.storage.StorageBase
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2)])
    assert packed.pin_memory().data.tolist() == [1, 1]
    with pytest.raises(AssertionError, match=CUDA):
        packed.cuda()


def test_parts_of_functional():
    parts, x = torch.autograd.functional, torch.ones(2, requires_grad=True)
    assert parts._as_tuple(x) == (False, (x,)) and parts._as_tuple(3) == (False, (3,))
    (kept,), (fresh,), (plain,) = (parts._grad_preprocess((x,), *how) for how in ((True,), (False,), (False, False)))
    assert (kept.is_leaf, fresh.is_leaf, fresh.requires_grad, plain.requires_grad) == (False, True, True, False)
    with pytest.raises(RuntimeError, match=r"v has invalid size: should be torch.Size\(\[2\]\) but got"):
        parts._validate_v((torch.ones(3),), (x,), True)
    for kind, words in (
        ("hessian", "The hessian of the"),
        ("grad_inputs", "The gradient with"),
        ("a", "Invalid input"),
    ):
        with pytest.raises(RuntimeError, match=words):
            parts._check_requires_grad((None,), kind, True)


@pytest.mark.parametrize(
    "function, args",
    [
        (torch.nn.functional.gelu, (torch.ones(2),)),
        (torch.nn.functional.softplus, (torch.ones(2),)),
        (torch.nn.functional.linear, (torch.ones(2, 3), torch.ones(4, 3), torch.ones(4))),
        (torch.nn.functional.avg_pool2d, (torch.ones(1, 1, 2, 2), 2)),
        (torch.nn.functional.avg_pool3d, (torch.ones(1, 2, 2, 2), 2)),
        (torch.slice_scatter, (torch.ones(4), torch.zeros(2), 0, 0, 2)),
    ],
)
def test_results_are_put_into_out(function, args):
    right = function(*args)
    out = torch.empty_like(right)
    assert function(*args, out=out) is out and torch.equal(out, right)
    with pytest.raises(RuntimeError, match="can't be cast|Expected out tensor to have dtype|dtype"):
        function(*args, out=torch.zeros(right.shape, dtype=torch.int64))


def test_storages_on_files(tmp_path):
    new, small = str(tmp_path / "new"), str(tmp_path / "small")
    storage = torch.FloatStorage.from_file(new, True, 2)
    storage[1] = 1
    assert storage.filename is new and (tmp_path / "new").read_bytes() == b"\0\0\0\0\0\0\x80?"
    assert torch.from_file(new, shared=True, size=2).untyped_storage().filename is new
    assert torch.from_file(new, size=2).untyped_storage().filename is None
    (tmp_path / "small").write_bytes(b"1234")
    for make in (torch.FloatStorage.from_file, torch.from_file):
        with pytest.raises(RuntimeError, match="size <4> is smaller than the required mapping size <16>"):
            make(small, False, 4)
        with pytest.raises(RuntimeError, match="unable to open file <.*absent> in read-only mode"):
            make(str(tmp_path / "absent"), False, 4)


def test_storages_from_buffers():
    data = b"\x00\x01\x00\x02"
    read = torch.ShortStorage.from_buffer
    assert read(data, "big").tolist() == [1, 2] and read(data, "little", 1, 2).tolist() == [512]
    assert torch.BoolStorage.from_buffer(bytearray([0, 5])).tolist() == [False, True]
    for wrong, words in (
        (lambda: read(data), "byte_order"),
        (lambda: read(data, "little", 3), "buffer has only 2 elements"),
        (lambda: read(data, "little", offset=5), "offset must be non-negative"),
        (lambda: torch.UntypedStorage.from_buffer(data), "argument 'dtype' cannot be None"),
    ):
        with pytest.raises((RuntimeError, ValueError), match=words):
            wrong()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_storages_in_files(dtype):
    file, storage = io.BytesIO(), torch.tensor([1, 0], dtype=dtype).storage()
    torch.save(storage, file)
    file.seek(0)
    loaded = torch.load(file)
    assert type(loaded) is torch.TypedStorage and (loaded.tolist(), loaded.dtype) == ([1, 0], dtype)


@pytest.mark.parametrize("new", [True, False])
def test_storages_inside_of_objects_in_files(new):
    file, x = io.BytesIO(), torch.arange(3.0)
    given = [torch.LongStorage([1, 2]), {"memory": x.storage(), "tensor": x[1:]}, torch.ones(1).untyped_storage()]
    torch.save(given, file, _use_new_zipfile_serialization=new)
    file.seek(0)
    first, shared, raw = torch.load(file)
    assert type(first) is type(raw) is torch.TypedStorage and first.dtype is torch.int64 and first.tolist() == [1, 2]
    assert raw.tolist() == [0, 0, 128, 63] and vars(first).keys() == vars(given[0]).keys()
    shared["memory"][1] = 9
    assert shared["tensor"].tolist() == [9, 2] and shared["tensor"].untyped_storage() is shared["memory"].untyped()
    file.seek(0)
    hollow = torch.load(file, map_location="meta")[0]
    assert hollow.device.type == "meta" and (hollow.size(), hollow.dtype) == (2, torch.int64)


class Like:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.cat([x]),
        lambda x: torch.cat((torch.ones(1), x)),
        lambda x: torch.stack([x, torch.ones(1)]),
        lambda x: torch.block_diag(x),
        lambda x: torch.broadcast_tensors(x, torch.ones(1)),
        lambda x: torch.meshgrid(x, x),
        lambda x: torch.cartesian_prod(x),
        lambda x: torch.einsum("i,i", torch.ones(1), x),
        lambda x: torch.linalg.multi_dot([x, x]),
        lambda x: torch.tensordot(x, x, 1),
        lambda x: torch.cdist(x, x),
    ],
)
def test_lists_with_what_overrides(call):
    assert isinstance(call(Like()), str)


@pytest.mark.parametrize(
    ("reduce", "initial", "grad"),
    [
        ("min", 1.0, [1, 0, 0]),  # a tie with the initial value leaves the gradient to the elements
        ("max", 4.0, [0, 0.5, 0.5]),
        ("max", 1.0, [1, 0.5, 0.5]),
        ("min", 0.0, [0, 0, 0]),
        ("max", math.nan, [0, 0, 0]),
        ("min", None, [1, 0.5, 0.5]),
        ("prod", 2.0, [2, 8, 8]),
        ("mean", 2.0, [1, 0.5, 0.5]),
    ],
)
def test_gradients_of_segments_with_an_initial_value(reduce, initial, grad):
    x = torch.tensor([1.0, 4.0, 4.0], requires_grad=True)
    torch.segment_reduce(x, reduce, lengths=torch.tensor([1, 2]), initial=initial).sum().backward()
    assert x.grad.tolist() == grad


def test_names_met_on_the_way():
    x, nn = torch.arange(6.0), torch.nn
    assert torch.histogram(x).hist.shape == (100,)
    net = nn.Linear(2, 1)
    net.compile()
    assert net(torch.ones(3, 2)).shape == (3, 1)
    for lengths, reduce, initial, right in (
        ([2, 0, 4], "sum", None, [1, 0, 14]),
        ([2, 0, 4], "mean", 1.0, [1, 1, 3.75]),
        ([2, 4], "max", None, [1, 5]),
        ([2, 4], "prod", None, [0, 120]),
    ):
        given = torch.tensor(lengths)
        assert torch.segment_reduce(x, reduce, lengths=given, initial=initial).tolist() == right
    assert torch.segment_reduce(x.view(2, 3), "sum", lengths=torch.tensor([[1, 2], [3, 0]]), axis=1).tolist() == [
        [0, 3],
        [12, 0],
    ]
    with pytest.raises(RuntimeError, match="Expected all rows of lengths"):
        torch.segment_reduce(x, "sum", lengths=torch.tensor([2]))
    plain = torch.func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2)))
    assert torch.vmap(plain, randomness="error")(torch.ones(3, 4, 2)).shape == (3, 4, 2)
    packed = nn.utils.rnn.pack_sequence([torch.ones(2)])
    assert [getattr(packed, name)().data.dtype for name in ("short", "char", "byte")] == [
        torch.int16,
        torch.int8,
        torch.uint8,
    ]
    lstm = nn.LSTM(2, 2)
    assert lstm._flat_weights[0] is lstm.weight_ih_l0 and lstm._flat_weights_names[3] == "bias_hh_l0"
    assert torch.serialization.MAP_LOCATION is not None
    y = torch.ones(1, requires_grad=True) * 2
    (detached,) = torch.autograd.functional._grad_postprocess((y,), False)
    assert not detached.requires_grad and torch.autograd.functional._grad_postprocess(y, True) is y
    with pytest.raises(
        RuntimeError, match="nonzero: Expected out tensor to have scalar type Long but got scalar typeFl"
    ):
        torch.nonzero(x, out=torch.empty(0))


@pytest.mark.parametrize("before", ["import pullback.overrides", "torch.exp(Like())"])
def test_stand_ins_are_asked_by_functions_made_of_others(before: str) -> None:
    """From the first call that meets one on, or where the program says that it has some."""
    program = """
import pullback as torch
F = torch.nn.functional
class Like:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__
BEFORE
x, i = torch.ones(2), torch.tensor([0])
print(torch.zeros_like(Like()), torch.flatten(Like()), torch.gather(x, 0, Like()), torch.clamp(Like(), 0, 1),
      torch.detach(Like()), torch.fft.fft(Like()), torch.linalg.cond(Like()), F.conv2d(x, Like()),
      F.mse_loss(x, Like()), torch.atleast_2d([Like()]))
"""
    program = program.replace("BEFORE", before)
    got = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert got.stdout.split() == (
        "zeros_like flatten gather clamp detach fft_fft linalg_cond conv2d mse_loss atleast_2d".split()
    ), got.stderr
