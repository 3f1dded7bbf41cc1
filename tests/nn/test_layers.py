"""Layers: the table of ``record_layers.py``, and what holds for every line of it; then single layers."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from record_layers import LINES, build, inputs, programs, refusals, tensors
from recorded import Recorded

import pullback
from pullback import nn
from pullback.nn.utils import rnn

EAGER = [pytest.param(line, id=" ".join(line.split())) for line in LINES if "Lazy" not in line]


@pytest.fixture(autouse=True)
def no_warnings_wanted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class TestPrograms(Recorded):
    tables = programs, refusals


def test_every_layer_has_a_line():
    """But for containers, base classes, and those that are another one under an old name."""
    lines = {line.split("(")[0].split(".")[0].strip() for line in LINES}
    others = {"Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential", "RNNBase"}
    others |= {"RNNCellBase", "NLLLoss2d", "CrossMapLRN2d", "LinearCrossEntropyOptions"}
    assert set(nn.modules.__all__) - others == lines - {"DataParallel"}


@pytest.mark.torch
def test_names_are_pytorchs():
    torch = pytest.importorskip("torch")
    assert set(nn.modules.__all__) == set(torch.nn.modules.__all__) - {"Container"}
    for name in nn.modules.__all__:
        assert getattr(nn, name).__module__ == getattr(torch.nn, name).__module__.replace("torch", "pullback", 1)


# --- every layer ------------------------------------------------------------------------------------------------


@pullback.no_grad()
def outputs(module, line):
    module.double().eval()
    pullback.manual_seed(2)
    return [t.detach().numpy() for t in tensors(pullback, module(*inputs(pullback, line)[0]))]


@pytest.mark.parametrize("line", EAGER)
def test_a_state_dict_makes_another_layer_the_same(line):
    module, other = build(pullback, line), build(pullback, line)
    state = {k: v.clone() for k, v in module.state_dict().items()}
    for t in other.state_dict().values():
        if t.is_floating_point():
            t.fill_(0.5)
    other.load_state_dict(state)
    for k, v in other.state_dict().items():
        np.testing.assert_array_equal(v.numpy(), state[k].numpy())
    for ours, theirs in zip(outputs(module, line), outputs(other, line)):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("line", EAGER)
def test_copies_are_alike_and_independent(line, copied):
    module = build(pullback, line)
    other = copied(module)
    assert repr(other) == repr(module)
    assert list(other.state_dict()) == list(module.state_dict())
    for p, q in zip(module.parameters(), other.parameters()):
        assert p.data_ptr() != q.data_ptr() and p.requires_grad == q.requires_grad
    for ours, theirs in zip(outputs(module, line), outputs(other, line)):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("line", EAGER)
def test_types_are_converted(line):
    module = build(pullback, line)
    for convert, dtype in ((module.half, pullback.float16), (module.double, pullback.float64)):
        convert()
        state = module.state_dict().values()
        assert all(t.dtype is dtype for t in state if t.is_floating_point())
        assert all(p.dtype is dtype for p in module.parameters())


@pytest.mark.parametrize(
    "name",
    [
        "Linear",
        "Conv2d",
        "ConvTranspose1d",
        "LayerNorm",
        "BatchNorm2d",
        "Embedding",
        "PReLU",
        "LSTM",
        "GRUCell",
        "MultiheadAttention",
        "Bilinear",
        "EmbeddingBag",
        "RMSNorm",
    ],
)
def test_parameters_are_made_of_the_type_asked_for(name):
    sizes = {"Conv2d": (2, 2, 1), "ConvTranspose1d": (2, 2, 1), "Bilinear": (2, 2, 2)}.get(name, (2, 2))
    sizes = sizes[:1] if name in ("LayerNorm", "BatchNorm2d", "PReLU", "RMSNorm") else sizes
    module = getattr(nn, name)(*sizes, dtype=pullback.float64, device="cpu")
    assert {p.dtype for p in module.parameters()} == {pullback.float64}


# --- single layers ----------------------------------------------------------------------------------------------


def test_wrong_words_for_padding():
    """PyTorch prints a set here, in any order."""
    with pytest.raises(ValueError, match="Invalid padding string 'half', should be one of"):
        nn.Conv1d(3, 4, 3, padding="half")
    with pytest.raises(ValueError, match="padding_mode must be one of .*, but got padding_mode='zero'"):
        nn.Conv1d(3, 4, 3, padding_mode="zero")


@pytest.mark.parametrize(
    "line",
    [
        "RNN(2, 3, 2, bidirectional=True)",
        "RNN(2, 3, nonlinearity='relu')",
        "GRU(2, 3)",
        "GRU(2, 3, bias=False, bidirectional=True)",
        "LSTM(2, 3)",
        "LSTM(2, 3, proj_size=2, bidirectional=True)",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_recurrent_gradients_of_both_orders(line, packed):
    """Against finite differences: of the states after each step and the last ones, by input and weights."""
    pullback.manual_seed(0)
    module = eval("nn." + line, {"nn": nn}).double()
    x = pullback.randn(3, 2, 2, dtype=pullback.float64, requires_grad=True)

    def f(x, *weights):
        sequence = rnn.pack_padded_sequence(x, [2, 3], enforce_sorted=False) if packed else x
        states = dict(zip(names, weights))
        held = {name: module._parameters[name] for name in names}
        module._parameters.update(states)
        output, last = module(sequence)
        module._parameters.update(held)
        return tuple(t for t in tensors(pullback, (output, last)) if t.is_floating_point())

    names = list(module._parameters)
    arguments = (x, *module.parameters())
    assert pullback.autograd.gradcheck(f, arguments)
    assert pullback.autograd.gradgradcheck(f, arguments)


def test_a_packed_sequence_gives_what_each_sequence_gives_alone():
    pullback.manual_seed(0)
    module = nn.LSTM(3, 4, 2, bidirectional=True)
    sequences = [pullback.randn(n, 3) for n in (2, 5, 1, 5)]
    output, (h, c) = module(rnn.pack_sequence(sequences, enforce_sorted=False))
    padded, lengths = rnn.pad_packed_sequence(output)
    assert lengths.tolist() == [2, 5, 1, 5]
    for i, sequence in enumerate(sequences):
        alone, (h_alone, c_alone) = module(sequence)
        np.testing.assert_allclose(padded[: len(sequence), i].detach(), alone.detach(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(h[:, i].detach(), h_alone.detach(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(c[:, i].detach(), c_alone.detach(), rtol=1e-5, atol=1e-6)


def test_packing_and_padding_are_undone():
    sequences = [pullback.randn(n, 2) for n in (1, 4, 2)]
    for batch_first in (False, True):
        padded = rnn.pad_sequence(sequences, batch_first, padding_value=-1.0)
        packed = rnn.pack_padded_sequence(padded, [1, 4, 2], batch_first, enforce_sorted=False)
        again, lengths = rnn.pad_packed_sequence(packed, batch_first, padding_value=-1.0)
        np.testing.assert_array_equal(again, padded)
        for a, b in zip(rnn.unpad_sequence(again, lengths, batch_first), sequences):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(rnn.unpack_sequence(packed), sequences):
        np.testing.assert_array_equal(a, b)
    assert rnn.pad_sequence(sequences, padding_side="left")[0, 0].tolist() == [0, 0]
    assert rnn.pad_packed_sequence(packed, total_length=6)[0].shape == (6, 3, 2)
    assert packed.double().data.dtype is pullback.float64


def test_lazy_layers_before_their_first_input():
    layer = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2)).double()
    assert repr(layer[0].weight) == "<UninitializedParameter>"
    assert all(nn.parameter.is_lazy(p) for p in layer.parameters())
    for use in (lambda: layer[0].weight + 1, lambda: layer[3].bias.sum(), lambda: nn.init.ones_(layer[0].weight)):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            use()
    optimizer = pullback.optim.SGD(layer.parameters(), lr=0.1)
    other = pickle.loads(pickle.dumps(copy.deepcopy(layer)))
    assert other[1].running_mean.dtype is pullback.float64
    other(pullback.randn(2, 3, 5, 5, dtype=pullback.float64))
    layer.load_state_dict(other.state_dict())
    assert layer[3].weight.shape == (2, 36) and layer[3].weight.dtype is pullback.float64
    x = pullback.randn(2, 3, 5, 5, dtype=pullback.float64)
    np.testing.assert_array_equal(layer(x).detach(), other(x).detach())
    assert [type(m).__name__ for m in layer] == ["Conv2d", "BatchNorm2d", "Flatten", "Linear"]
    layer(pullback.randn(2, 3, 5, 5, dtype=pullback.float64)).sum().backward()
    before = layer[3].bias.clone()
    optimizer.step()
    assert (layer[3].bias != before).all()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        nn.Linear(3, 2).load_state_dict(nn.LazyLinear(2).state_dict())


def test_a_row_for_padding_learns_nothing():
    table = nn.Embedding(5, 3, padding_idx=2)
    assert table.weight[2].tolist() == [0, 0, 0]
    table(pullback.tensor([2, 1, 2])).sum().backward()
    assert table.weight.grad.sum(1).tolist() == [0, 3, 0, 0, 0]


def test_batch_norm_counts_and_averages():
    norm = nn.BatchNorm1d(2, momentum=None)
    batches = [pullback.randn(4, 2) for _ in range(3)]
    for batch in batches:
        norm(batch)
    assert norm.num_batches_tracked.item() == 3
    np.testing.assert_allclose(
        norm.running_mean, np.mean([b.numpy().mean(0) for b in batches], 0), rtol=1e-5, atol=1e-6
    )
    old = {k: v for k, v in norm.state_dict().items() if k != "num_batches_tracked"}
    nn.BatchNorm1d(2).load_state_dict(old)  # as saved before batches were counted: no version, no count


def test_converting_to_sync_batch_norm_keeps_the_parameters():
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.BatchNorm1d(3)))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert type(converted[1][0]) is nn.SyncBatchNorm
    assert converted[1][0].weight is net[1][0].weight and len(converted.state_dict()) == 7


def test_attention_masks():
    """Where attention is masked, what stands there does not matter."""
    pullback.manual_seed(0)
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    x = pullback.randn(2, 3, 4)
    causal = pullback.ones(3, 3).triu(1).bool()
    out, weights = attention(x, x, x, attn_mask=causal)
    assert (weights[:, causal] == 0).all()
    y = x.clone()
    y[:, 2] = 7.0
    np.testing.assert_allclose(attention(y, y, y, attn_mask=causal)[0][:, :2].detach(), out[:, :2].detach(), rtol=1e-5)
    as_float = pullback.zeros(3, 3).masked_fill(causal, -pullback.inf)
    hinted = attention(x, x, x, attn_mask=as_float, need_weights=False, is_causal=True)
    assert hinted[1] is None
    np.testing.assert_allclose(hinted[0].detach(), out.detach(), rtol=1e-5, atol=1e-6)
    padding = pullback.tensor([[False, False, True]] * 2)
    of_heads = attention(x, x, x, key_padding_mask=padding, average_attn_weights=False)[1]
    assert of_heads.shape == (2, 2, 3, 3) and (of_heads[..., 2] == 0).all()
    nobody = pullback.tensor([[True] * 3, [False] * 3])  # an example whose keys are all masked
    out, weights = attention(x, x, x, key_padding_mask=nobody)
    alone, _ = attention(x, x, x, key_padding_mask=nobody, need_weights=False)
    np.testing.assert_allclose(out.detach(), alone.detach(), rtol=1e-5, atol=1e-6)
    assert (weights[0] == 0).all() and not weights.isnan().any()
    out.sum().backward()
    assert not attention.in_proj_weight.grad.isnan().any()


def test_predictions_of_adaptive_softmax():
    pullback.manual_seed(0)
    layer = nn.AdaptiveLogSoftmaxWithLoss(6, 20, [3, 8])
    x = pullback.randn(30, 6)
    log_prob = layer.log_prob(x)
    np.testing.assert_allclose(log_prob.exp().sum(1).detach(), np.ones(30), rtol=1e-5)
    target = pullback.randint(0, 20, (30,))
    output, loss = layer(x, target)
    np.testing.assert_allclose(output.detach(), log_prob.gather(1, target.unsqueeze(1)).squeeze(1).detach(), rtol=1e-5)
    np.testing.assert_allclose(loss.item(), -output.mean().item(), rtol=1e-6)
    likely = layer.predict(x)
    assert (log_prob.argmax(1) == likely)[likely < 3].all()


def test_a_local_response_norm_under_its_old_name():
    x = pullback.randn(2, 5, 3, 3)
    np.testing.assert_array_equal(nn.CrossMapLRN2d(3)(x), nn.LocalResponseNorm(3)(x))
    assert repr(nn.CrossMapLRN2d(3)) == "CrossMapLRN2d(3, alpha=0.0001, beta=0.75, k=1.0)"
    with pytest.raises(ValueError, match="CrossMapLRN2d: Expected input to be 4D, got 2D"):
        nn.CrossMapLRN2d(3)(pullback.randn(2, 5))


# --- nn.utils ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [1.0, 2.0, 3, pullback.inf])
def test_clipping_by_norm(norm):
    w, b, idle = (pullback.zeros(n, requires_grad=True) for n in ((2, 3), (4,), (1,)))
    w.grad, b.grad = pullback.randn(2, 3), pullback.randn(4)
    flat = np.concatenate([w.grad.numpy().ravel(), b.grad.numpy()])
    total = nn.utils.clip_grad_norm_([w, b, idle], 0.5, norm)
    np.testing.assert_allclose(total.item(), np.linalg.norm(flat, norm), rtol=1e-5)
    clipped = np.concatenate([w.grad.numpy().ravel(), b.grad.numpy()])
    np.testing.assert_allclose(clipped, flat * 0.5 / total.item(), rtol=1e-5)
    unchanged = w.grad.clone()
    nn.utils.clip_grad_norm_(w, 100.0, norm)
    np.testing.assert_array_equal(w.grad, unchanged)
    assert idle.grad is None


def test_a_norm_that_is_not_finite():
    w = pullback.zeros(2, requires_grad=True)
    w.grad = pullback.tensor([1.0, pullback.nan])
    with pytest.raises(RuntimeError, match="The total norm of order 2.0 for gradients from `parameters` is non-finite"):
        nn.utils.clip_grad_norm_(w, 1.0, error_if_nonfinite=True)
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0


def test_parameters_to_a_vector_and_back():
    net = nn.Sequential(nn.Linear(2, 3), nn.PReLU())
    vector = nn.utils.parameters_to_vector(net.parameters())
    assert vector.shape == (10,) and vector.requires_grad
    nn.utils.vector_to_parameters(vector.detach() * 2, net.parameters())
    np.testing.assert_allclose(nn.utils.parameters_to_vector(net.parameters()).detach(), 2 * vector.detach())


@pytest.mark.parametrize(
    "layer, shape",
    [
        (nn.Conv2d(3, 4, 3, bias=False), (2, 3, 5, 5)),
        (nn.Linear(3, 4), (2, 3)),
        (nn.ConvTranspose2d(3, 4, 3), (2, 3, 5, 5)),
    ],
)
def test_fusing_a_batch_norm(layer, shape):
    norm = nn.BatchNorm1d(4) if len(shape) == 2 else nn.BatchNorm2d(4)
    for _ in range(3):
        norm(layer(pullback.randn(*shape)))
    nn.init.uniform_(norm.weight)
    both = nn.Sequential(layer, norm).eval()
    if isinstance(layer, nn.Linear):
        fused = nn.utils.fuse_linear_bn_eval(layer, norm)
    else:
        fused = nn.utils.fuse_conv_bn_eval(layer, norm, transpose=isinstance(layer, nn.ConvTranspose2d))
    x = pullback.randn(*shape)
    np.testing.assert_allclose(fused(x).detach(), both(x).detach(), rtol=1e-4, atol=1e-5)


def test_a_prefix_is_taken_off_a_state_dict():
    state = nn.Sequential(nn.Linear(1, 1)).state_dict(prefix="module.")
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert sorted(state) == ["0.bias", "0.weight"] and set(state._metadata) == {"", "0"}


@pytest.mark.parametrize("length, batch", [(3, 0), (0, 2), (0, 0)])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_attention_of_nothing(length, batch, batch_first, training):
    """Empty batches and sequences go through, with gradients; nothing is asked of a reshape that could not know it."""
    shape = (batch, length, 8) if batch_first else (length, batch, 8)
    x = pullback.rand(shape, requires_grad=True)
    options = {"batch_first": batch_first}
    attention = nn.MultiheadAttention(8, 2, **options).train(training)
    out, weights = attention(x, x, x)
    assert out.shape == shape and weights.shape == (batch, length, length)
    for layer, given in (
        (nn.TransformerEncoderLayer(8, 2, 16, **options), (x,)),
        (nn.TransformerDecoderLayer(8, 2, 16, **options), (x, x)),
        (nn.Transformer(8, 2, 1, 1, 16, **options), (x, x)),
    ):
        y = layer.train(training)(*given)
        assert y.shape == shape and pullback.autograd.grad(y.sum(), x)[0].shape == shape


def test_infinity_stays_in_its_channels():
    """In results and gradients of a local response norm."""
    x = pullback.ones(1, 6, 2)
    x[0, 1, 0] = pullback.inf
    y = nn.LocalResponseNorm(3)(x.requires_grad_())
    touched = pullback.zeros(1, 6, 2, dtype=bool)
    touched[0, :3, 0] = True
    assert (y.isfinite() & (y > 0.5) == ~touched).all()
    (g,) = pullback.autograd.grad(y.sum(), x)
    assert g[:, 4:].isfinite().all() and g[..., 1].isfinite().all()


def test_lengths_beyond_the_input_are_refused():
    for lengths, sort in (([5, 1], True), ([1, 4], False)):
        with pytest.raises(RuntimeError, match="`lengths` up to the 3 steps of the input, but got"):
            rnn.pack_padded_sequence(pullback.ones(3, 2), pullback.tensor(lengths), enforce_sorted=sort)
