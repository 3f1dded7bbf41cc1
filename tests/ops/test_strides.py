"""How results lie in memory: as PyTorch says, since a later ``view`` and random numbers depend on it."""

import numpy as np
import pytest

import pullback as torch
import pullback.nn.functional as F

SWAPPED = (2, 3, 4)  # a transposed tensor's shape, strides (12, 1, 3)

ROW_MAJOR = {
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "masked_fill": lambda x: x.masked_fill(x > 0, 1.0),
    "cumsum": lambda x: x.cumsum(1),
    "cat": lambda x: torch.cat([x, x], 1),
    "stack": lambda x: torch.stack([x, x], 1),
    "roll": lambda x: x.roll(1, 0),
    "tril": lambda x: x.tril(),
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(0),
    "amax": lambda x: x.amax(0),
    "max": lambda x: x.max(0)[0],
    "std": lambda x: x.std(0),
    "norm": lambda x: x.norm(dim=0),
    "prod": lambda x: x.prod(0),
    "all": lambda x: x.bool().all(0),
    "logsumexp": lambda x: x.logsumexp(0),
    "index": lambda x: x[:, torch.tensor([2, 0])],
    "mask": lambda x: x[:, torch.tensor([True, False, True])],
    "two indices": lambda x: x[:, torch.tensor([[0], [1]]), torch.tensor([1, 0])],
    "clone of an expanded one": lambda x: x[:, :1].expand(2, 3, 4).clone(),
    "cast of an expanded one": lambda x: x[:, :1].expand(2, 3, 4).double(),
}
AS_THE_INPUT = {
    "clone": lambda x: x.clone(),
    "cast": lambda x: x.double(),
    "zeros_like": torch.zeros_like,
    "ones_like": torch.ones_like,
    "full_like": lambda x: torch.full_like(x, 2.0),
    "rand_like": torch.rand_like,
    "randn_like": torch.randn_like,
    "flip": lambda x: x.flip(0),
    "relu": lambda x: x.relu(),
    "dropout": F.dropout,
}

IMAGES = {  # what is computed from images whose channels are innermost: True where so are the result's
    "conv2d": (lambda x: F.conv2d(x, W), True),
    "conv2d of one channel": (lambda x: F.conv2d(x[:, :1], W[:, :1]), True),
    "conv2d, the weight": (lambda x: F.conv2d(x.contiguous(), as_images(W)), True),
    "conv2d of a part": (lambda x: F.conv2d(x[:, :, 1:5, ::2], W), True),
    "conv2d of one image": (lambda x: F.conv2d(x[0], W), False),
    "conv_transpose2d": (lambda x: F.conv_transpose2d(x, W.transpose(0, 1), stride=2), True),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), True),
    "its indices": (lambda x: F.max_pool2d(x, 2, return_indices=True)[1], True),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), True),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 2), True),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (2, 3)), True),
    "max_unpool2d": (lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), True),
    "nearest": (lambda x: F.interpolate(x, scale_factor=2), True),
    "bicubic": (lambda x: F.interpolate(x, size=(3, 5), mode="bicubic"), True),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), True),
    "batch_norm in evaluation": (lambda x: F.batch_norm(x, torch.zeros(4), torch.ones(4)), True),
    "group_norm": (lambda x: F.group_norm(x, 2), True),
    "instance_norm": (lambda x: F.instance_norm(x), False),
    "layer_norm": (lambda x: F.layer_norm(x, (8,)), False),
    "rms_norm": (lambda x: F.rms_norm(x, (8,)), True),
    "constant padding": (lambda x: F.pad(x, (1, 0, 2, 1)), True),
    "reflection": (lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), True),
    "replication": (lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"), True),
    "going round": (lambda x: F.pad(x, (1, 1, 1, 1), mode="circular"), False),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), True),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), True),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), True),
    "cat": (lambda x: torch.cat([x, x], 1), True),
    "cat with others": (lambda x: torch.cat([x, x.contiguous()], 1), False),
    "roll": (lambda x: x.roll(1, 2), True),
}
VOLUMES = {
    "conv3d": (lambda x: F.conv3d(x, W[..., None]), True),
    "conv3d of float64": (lambda x: F.conv3d(x.double(), W[..., None].double()), False),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), True),
    "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, 2), False),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), False),
    "trilinear": (lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), True),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), True),
    "group_norm": (lambda x: F.group_norm(x, 2), True),
    "instance_norm": (lambda x: F.instance_norm(x), False),
    "padding": (lambda x: F.pad(x, (1, 1)), True),
}
SEQUENCES = {  # of transposed ones
    "conv1d": (lambda x: F.conv1d(x, W[..., 0]), False),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2, return_indices=True)[0], True),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 2), True),
    "linear": (lambda x: F.interpolate(x, scale_factor=2, mode="linear"), False),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), False),
    "batch_norm in evaluation": (lambda x: F.batch_norm(x, torch.zeros(4), torch.ones(4)), False),
    "cdist": (lambda x: torch.cdist(x, x), False),
}
W = torch.arange(72.0).reshape(2, 4, 3, 3) / 72


def as_images(x):
    return x.movedim(1, -1).clone(memory_format=torch.contiguous_format).movedim(-1, 1)


def swapped():
    return torch.arange(24.0).reshape(2, 4, 3).transpose(1, 2)


@pytest.mark.parametrize("name", ROW_MAJOR)
def test_results_that_can_be_viewed(name):
    result = ROW_MAJOR[name](swapped())
    assert result.is_contiguous()
    assert torch.equal(result, ROW_MAJOR[name](swapped().contiguous()))


@pytest.mark.parametrize("name", AS_THE_INPUT)
def test_results_that_lie_as_their_input(name):
    assert AS_THE_INPUT[name](swapped()).stride() == swapped().stride() == (12, 1, 3)


@pytest.mark.parametrize("name", ["full_like", "flip", "clone"])
def test_lying_otherwise_changes_no_value(name):
    assert torch.equal(AS_THE_INPUT[name](swapped()), AS_THE_INPUT[name](swapped().contiguous()))


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in ("images", "volumes", "sequences") for name in globals()[kind.upper()]]
)
def test_channels_stay_innermost(kind, name):
    f, innermost = globals()[kind.upper()][name]
    x = torch.randn({"images": (2, 4, 6, 8), "volumes": (2, 4, 6, 8, 6), "sequences": (2, 4, 7)}[kind])
    result, plain = f(as_images(x)), f(x)
    assert result.movedim(1, -1).is_contiguous() if innermost else result.is_contiguous()
    assert result.stride(1) == 1 or not innermost
    assert torch.allclose(result, plain, atol=1e-5)


def test_what_counts_as_images():
    counts = lambda x: F.max_pool2d(x, 1).stride(1) == 1  # noqa: E731
    assert not counts(torch.zeros(2, 3, 4, 5)) and counts(as_images(torch.zeros(2, 3, 4, 5)))
    assert counts(as_images(torch.zeros(2, 1, 4, 5))) and not counts(torch.zeros(2, 1, 4, 5))
    assert not counts(as_images(torch.zeros(2, 3, 4, 5)).transpose(2, 3)) and not counts(
        torch.zeros(1, 3, 4, 5).expand(2, 3, 4, 5)
    )
    assert F.conv2d(torch.zeros(2, 3, 1, 1), torch.zeros(4, 3, 1, 1)).stride() == (4, 1, 1, 1)
    assert F.conv2d(as_images(torch.zeros(2, 3, 1, 1)), torch.zeros(4, 3, 1, 1)).stride() == (4, 1, 4, 4)
    assert F.conv2d(as_images(torch.zeros(0, 3, 4, 5)), torch.zeros(4, 3, 1, 1)).shape == (0, 4, 4, 5)


def test_heads_side_by_side():
    q = torch.randn(2, 3, 5, 4)
    out = F.scaled_dot_product_attention(q, q, q)
    assert out.transpose(1, 2).view(2, 5, 12).shape == (2, 5, 12)
    assert F.scaled_dot_product_attention(q[0], q[0], q[0]).is_contiguous()


def test_gradients_through_images():
    x = as_images(torch.randn(2, 4, 6, 6, dtype=torch.float64)).requires_grad_()
    layers = torch.nn.Sequential(
        torch.nn.Conv2d(4, 4, 3), torch.nn.GroupNorm(2, 4), torch.nn.BatchNorm2d(4), torch.nn.MaxPool2d(2)
    ).double()
    assert torch.autograd.gradcheck(lambda x: F.pixel_shuffle(layers(F.pad(x, (1, 1, 1, 1), mode="reflect")), 2), x)


def test_random_numbers_fill_memory_in_its_order():
    torch.manual_seed(0)
    plain = torch.rand_like(torch.empty(2, 4, 3))
    torch.manual_seed(0)
    assert torch.equal(torch.rand_like(swapped()), plain.transpose(1, 2))


def test_memory_formats():
    x = torch.empty(2, 3, 4, 5, memory_format=torch.channels_last)
    assert x.stride() == (60, 1, 15, 3) == torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last).stride()
    assert torch.cat([x, x], 1).is_contiguous(memory_format=torch.channels_last)
    layer = torch.nn.Conv2d(3, 2, 3).to(memory_format=torch.channels_last)
    assert layer.weight.is_contiguous(memory_format=torch.channels_last)
    assert x.to(memory_format=torch.contiguous_format).is_contiguous()


IN_CHANNELS_LAST = {
    "resize_": lambda x, f: torch.zeros(1).resize_(2, 3, 4, 5, memory_format=f),
    "resize_ to the same shape": lambda x, f: x.clone().resize_(2, 3, 4, 5, memory_format=f),
    "resize_as_": lambda x, f: torch.zeros(1).resize_as_(x, memory_format=f),
    "empty": lambda x, f: torch.empty(x.shape, memory_format=f),
    "to": lambda x, f: x.to(torch.float64, memory_format=f),
    "type": lambda x, f: x.type(torch.float64, memory_format=f),
} | {
    name: lambda x, f, name=name: getattr(x, name)(memory_format=f)
    for name in ("float", "double", "half", "bool", "byte", "cpu", "to", "clone", "contiguous")
}
IN_CHANNELS_LAST |= {
    name: lambda x, f, name=name: getattr(torch, name)(x, memory_format=f)
    for name in ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like")
}
IN_CHANNELS_LAST["full_like"] = lambda x, f: torch.full_like(x, 2, memory_format=f)
IN_CHANNELS_LAST["randint_like"] = lambda x, f: torch.randint_like(x, 3, memory_format=f)


@pytest.mark.parametrize("name", IN_CHANNELS_LAST)
def test_every_memory_format_is_obeyed(name):
    make, plain = IN_CHANNELS_LAST[name], torch.arange(120.0).view(2, 3, 4, 5)
    assert make(plain, torch.channels_last).stride() == (60, 1, 15, 3)
    back = make(plain.contiguous(memory_format=torch.channels_last), torch.contiguous_format)
    assert back.stride() == (60, 20, 5, 1)
    if "resize" not in name and name != "empty":
        with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
            make(plain[0], torch.channels_last)
    if name in ("float", "double", "half", "cpu", "to", "type"):
        assert make(plain, torch.channels_last).tolist() == plain.tolist()


def test_a_resized_tensor_has_the_format_asked_for():
    x = torch.arange(8.0)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        x.resize_(2, 2, 2, memory_format=torch.channels_last)
    assert x.shape == (8,)
    assert x.resize_(1, 2, 2, 2, memory_format=torch.channels_last).flatten().tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert torch.zeros(1).resize_(2, 1, 4, 5, memory_format=torch.channels_last).stride() == (20, 1, 5, 1)
    assert torch.zeros(1).resize_(2, 3, 4, 5, 6, memory_format=torch.channels_last_3d).stride() == (360, 1, 90, 18, 3)
    images = torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert torch.zeros(1).resize_as_(images, memory_format=torch.preserve_format).stride() == (60, 1, 15, 3)
    assert torch.zeros(1).resize_as_(images).stride() == (60, 20, 5, 1)
    with pytest.raises(RuntimeError, match="nsupported memory format"):
        x.resize_(2, memory_format=torch.preserve_format)
    with pytest.raises(RuntimeError, match="'memory_format' argument is incompatible with 'out' tensor argument"):
        torch.empty(2, 3, 4, 5, memory_format=torch.channels_last, out=torch.empty(0))
    assert torch.zeros(1, 1, 4, 5).float(memory_format=torch.channels_last).stride() == (20, 1, 5, 1)
    assert torch.empty_like(images, device="meta", memory_format=torch.contiguous_format).stride() == (60, 20, 5, 1)
    assert torch.zeros(2, 3, 4, 5, device="meta").resize_(2, 3, 4, 5, memory_format=torch.channels_last).stride() == (
        60,
        1,
        15,
        3,
    )


@pytest.mark.torch
@pytest.mark.parametrize("p", [(0, 2, 1, 3), (3, 0, 2, 1)])
def test_dropout_and_layouts_as_in_pytorch(p):
    reference = pytest.importorskip("torch")
    for f in (
        lambda t: t.nn.functional.dropout(t.ones(3, 4, 5, 6).permute(p).softmax(-1)),
        lambda t: t.nn.functional.dropout(t.ones(3, 4, 5, 6).permute(p)),
        lambda t: t.randn_like(t.ones(3, 4, 5, 6).permute(p)),
    ):
        reference.manual_seed(1)
        torch.manual_seed(1)
        theirs, ours = f(reference), f(torch)
        assert ours.stride() == theirs.stride()
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize(
    "net",
    [
        lambda t: [
            t.nn.GroupNorm(2, 4),
            t.nn.Conv2d(4, 4, 3),
            t.nn.Dropout(0.3),
            t.nn.Upsample(scale_factor=2),
            t.nn.Dropout(0.5),
        ],
        lambda t: [t.nn.BatchNorm2d(4), t.nn.MaxPool2d(2), t.nn.Dropout(0.3), t.nn.Conv2d(4, 4, 1), t.nn.Dropout(0.5)],
        lambda t: [t.nn.InstanceNorm2d(4), t.nn.AvgPool2d(2), t.nn.Dropout(0.3), t.nn.ZeroPad2d(1), t.nn.Dropout(0.5)],
    ],
)
def test_dropout_behind_layers_of_images_as_in_pytorch(net):
    reference = pytest.importorskip("torch")
    results = []
    for t in (reference, torch):
        t.manual_seed(3)
        results.append(t.nn.Sequential(*net(t))(t.randn(2, 6, 8, 4).permute(0, 3, 1, 2)))
    theirs, ours = results
    assert ours.stride() == theirs.stride()
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_legacy_name_of_the_type():
    assert torch.tensor([True]).type(torch.Tensor).dtype is torch.float32


# --- operands that lie differently ------------------------------------------------------------------------------

OPERANDS = {
    "plain": lambda x: x,
    "last": lambda x: x.contiguous(memory_format=torch.channels_last),
    "turned": lambda x: x.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0),
    "swapped": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "expanded": lambda x: x[:1, :, :1].expand(2, 3, 4, 5),
    "gaps": lambda x: x.repeat_interleave(2, 3)[..., ::2],
    "row": lambda x: x[0, 0, 0],
    "column": lambda x: x[..., :1],
}
PLAIN, LAST, TURNED, CROSSED = (60, 20, 5, 1), (60, 1, 15, 3), (1, 2, 6, 24), (60, 5, 15, 1)
LIE = {  # as in PyTorch
    ("plain", "last"): PLAIN,
    ("last", "plain"): LAST,
    ("last", "swapped"): LAST,
    ("last", "expanded"): LAST,
    ("last", "gaps"): LAST,
    ("last", "column"): LAST,
    ("turned", "plain"): TURNED,
    ("turned", "last"): TURNED,
    ("turned", "expanded"): TURNED,
    ("turned", "column"): TURNED,
    ("swapped", "last"): CROSSED,
    ("swapped", "column"): CROSSED,
    ("gaps", "last"): PLAIN,
    ("row", "turned"): TURNED,
    ("row", "plain"): PLAIN,
}


@pytest.mark.parametrize("names", LIE, ids=" ".join)
def test_the_first_operand_that_says_so_decides_how_results_lie(names):
    values = torch.arange(120.0).reshape(2, 3, 4, 5)
    x, y = (OPERANDS[name](values) for name in names)
    results = (
        x * y,
        x > y,
        torch.maximum(x, y),
        torch.where(x > 3, x, y),
        x.int() + y,
        torch.addcmul(x, y, y),
        x * y.clone().requires_grad_(),
    )
    assert [r.stride() for r in results] == [LIE[names]] * len(results)
    assert torch.equal(results[0], x.contiguous() * y.contiguous())


def test_turns_and_ranks_lie_as_in_pytorch():
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert [torch.rot90(x, k, (1, 2)).stride() for k in range(4)] == [(12, 4, 1), (12, 1, 4), (12, 4, 1), (12, 1, 4)]
    for found in (x.median(1), x.kthvalue(2, 1)):
        assert found.values.stride() == found.indices.stride() == (4, 1)


def test_what_is_written_at_an_index_lies_in_rows_or_as_the_input_does():
    x, at, each, two = torch.zeros(4, 5).t(), torch.tensor([0, 2]), torch.tensor([[0, 1], [2, 3]]), torch.ones(2, 2)
    in_rows = (
        x.scatter(1, each, two),
        x.scatter(1, each, 1.0),
        x.scatter_add(1, each, two),
        x.scatter_reduce(1, each, two, "sum"),
        x.index_add(0, at, torch.ones(2, 4)),
        x.index_copy(0, at, torch.ones(2, 4)),
        x.masked_scatter(x > 0, two),
    )
    assert {r.stride() for r in in_rows} == {(4, 1)}
    assert {
        r.stride() for r in (x.index_fill(0, at, 1.0), x.index_put((at,), torch.tensor(1.0)), x.put(each, two))
    } == {(1, 5)}


@pytest.mark.parametrize("n", (2, 1000))
def test_dimensions_of_which_each_operand_has_one_lie_in_their_order(n):
    """Also where there are enough numbers for kernels, and the first operand alone would have the middle one
    innermost.
    """
    row, column = torch.ones(n, 66).unsqueeze(1), torch.ones(n, 40).unsqueeze(2)
    assert [r.stride() for r in (row * column, column * row, torch.hypot(row, column))] == [(40 * 66, 66, 1)] * 3


def test_large_transposed_copies_go_a_few_columns_at_a_time_and_repeated_rows_are_doubled() -> None:
    """Shapes around the blocks' borders, and reshapes, which are views where they can be."""
    for shape, order in (
        ((130, 140), (1, 0)),
        ((3, 129, 65), (0, 2, 1)),
        ((3, 5, 33, 70), (0, 3, 1, 2)),
        ((2, 64, 16, 16), (0, 2, 3, 1)),
    ):
        values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        x = torch.from_numpy(values).permute(order)
        expected = np.ascontiguousarray(values.transpose(order))
        for copy in (x.contiguous(), x.reshape(-1).view(x.shape)):
            np.testing.assert_array_equal(copy.numpy(), expected)
        np.testing.assert_array_equal(x[..., ::2].contiguous().numpy(), expected[..., ::2])
        assert x.contiguous().is_contiguous()
    for row in (torch.arange(7.0), torch.arange(12.0).reshape(3, 4)[:, ::2], torch.tensor(2.0), torch.arange(600.0)):
        many = row.expand(50, 101, *row.shape)
        np.testing.assert_array_equal(many.contiguous().numpy(), many.numpy())
        assert many.contiguous().is_contiguous()
    x = torch.zeros(200, 300).t()
    assert x.reshape(3, 100, 200).data_ptr() == x.data_ptr() and x.reshape(-1).data_ptr() != x.data_ptr()
    with pytest.raises(RuntimeError, match="invalid for input of size"):
        x.reshape(7, -1)


@pytest.mark.parametrize("name", AS_THE_INPUT)
def test_of_a_part_with_gaps_the_order_is_kept(name):
    part = torch.arange(48.0).reshape(2, 4, 6)[:, :, ::2].transpose(1, 2)
    result = AS_THE_INPUT[name](part)
    assert result.stride() == (12, 1, 3)
    dense = AS_THE_INPUT[name](part.transpose(1, 2).contiguous())
    assert "rand" in name or name in ("flip", "dropout") or torch.equal(result, dense.transpose(1, 2))


def test_conversions_on_the_way_keep_the_order():
    x = torch.ones(2, 3, dtype=torch.complex64).t()
    assert x.float().stride() == x.long().stride() == (1, 3)
    images = torch.ones(2, 3, 2, dtype=torch.bfloat16).expand(2, 2, 3, 2)
    assert images.abs().stride() == (12, 6, 2, 1)
    assert torch.ones(2, 3, 2, dtype=torch.int64).diagonal().expand(2, 2, 2).tanh().stride() == (4, 1, 2)
    a, b = torch.ones(3, 2, dtype=torch.int64).t(), torch.ones(2, 3, dtype=torch.int64)
    assert (a + b).stride() == (1, 2) and (b + a).stride() == (3, 1)
