"""Models written as ONNX, and what onnxruntime makes of them. (What needs neither package is at the end.)"""

import importlib.util

import numpy as np
import pytest

import pullback as torch
from pullback import nn
from pullback.nn import functional as F

needs_onnx = pytest.mark.skipif(
    importlib.util.find_spec("onnx") is None or importlib.util.find_spec("onnxruntime") is None,
    reason="needs onnx and onnxruntime",
)


def run(program, *inputs):
    """What onnxruntime computes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    model = program.model_proto.SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, {given.name: x.numpy() for given, x in zip(session.get_inputs(), inputs)})


def check(model, *inputs, **options):
    """Export, run elsewhere, compare."""
    if isinstance(model, nn.Module):
        model.eval()
    program = torch.onnx.export(model, tuple(x.clone() for x in inputs), **options)
    results = model(*(x.clone() for x in inputs))
    results = (
        [results]
        if isinstance(results, torch.Tensor)
        else [t for r in results for t in (r if isinstance(r, tuple) else [r])]
    )
    got = run(program, *inputs)
    assert len(got) == len(results)
    for ours, theirs in zip(results, got):
        assert (ours.shape, ours.detach().numpy().dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(theirs, ours.detach().numpy(), rtol=2e-4, atol=1e-5)
    return program


image, sequence, rows = torch.rand(2, 3, 8, 8), torch.rand(5, 2, 4), torch.rand(3, 4)
LAYERS = {
    "linear": (lambda: nn.Linear(4, 2), rows),
    "linear on a sequence": (lambda: nn.Linear(4, 2, bias=False), sequence),
    **{
        name: (getattr(nn, name), rows)
        for name in "CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish PReLU ReLU "
        "ReLU6 SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink Identity Dropout".split()
    },
    "activations in place": (lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.ELU(inplace=True)), rows),
    "softmax": (lambda: nn.Sequential(nn.Softmax(1), nn.LogSoftmax(0), nn.Softmin(1)), rows),
    "glu": (lambda: nn.GLU(), rows),
    "conv": (lambda: nn.Conv2d(3, 4, 3, stride=2, padding=1), image),
    "conv with groups": (lambda: nn.Conv2d(3, 6, (3, 2), dilation=2, groups=3, bias=False), image),
    "conv same": (lambda: nn.Conv2d(3, 4, 4, padding="same"), image),
    "conv padded": (lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), image),
    "conv without batch": (lambda: nn.Conv1d(4, 2, 2), rows.t().clone()),
    "conv transposed": (lambda: nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1, padding=1), image),
    "pooling": (lambda: nn.Sequential(nn.MaxPool2d(2), nn.AvgPool2d(2, 1, 1)), image),
    "pooling to a size": (
        lambda: nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.AdaptiveMaxPool2d(2), nn.AdaptiveAvgPool2d(1)),
        image,
    ),
    "padding": (
        lambda: nn.Sequential(
            nn.ZeroPad2d(1), nn.ReflectionPad2d((1, 0, 2, 1)), nn.ReplicationPad2d(1), nn.CircularPad2d(1)
        ),
        image,
    ),
    "upsampling": (lambda: nn.Sequential(nn.Upsample(scale_factor=2), nn.UpsamplingBilinear2d((20, 9))), image),
    "batch norm": (lambda: nn.BatchNorm2d(3), image),
    "layer norm": (lambda: nn.Sequential(nn.LayerNorm(4), nn.RMSNorm(4)), sequence),
    "group norm": (lambda: nn.Sequential(nn.GroupNorm(3, 3), nn.InstanceNorm2d(3, affine=True)), image),
    "shuffling": (lambda: nn.Sequential(nn.PixelUnshuffle(2), nn.ChannelShuffle(3), nn.PixelShuffle(2)), image),
    "flatten": (lambda: nn.Sequential(nn.Flatten(), nn.Unflatten(1, (16, 12))), image),
    "lstm": (lambda: nn.LSTM(4, 3, 2, bidirectional=True), sequence),
    "gru": (lambda: nn.GRU(4, 3, batch_first=True, bias=False), sequence),
    "rnn": (lambda: nn.RNN(4, 3, nonlinearity="relu"), sequence),
    "cells": (lambda: nn.GRUCell(4, 3), rows),
    "transformer": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.1), 2, enable_nested_tensor=False),
        sequence,
    ),
}


@needs_onnx
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, x = LAYERS[name]
    torch.manual_seed(0)
    check(make(), x)


FUNCTIONS = {
    "arithmetic": lambda x, y: (x + 2 * y - x / (y + 1)) ** 2,
    "comparisons": lambda x, y: torch.where((x > y) & (x != 0.5), x.clamp(0.2, 0.8), torch.minimum(x, y)),
    "reductions": lambda x, y: x.sum(1, keepdim=True) + y.mean() + x.amax(0) + x.norm(dim=1, keepdim=True),
    "arguments": lambda x, y: (x.max(1)[0], x.argmax(0), (x @ y.T).softmax(-1)),
    "shapes": lambda x, y: torch.cat([x.reshape(4, 3).T, y], 1)[:, 1:-1].unsqueeze(0).expand(2, -1, -1),
    "parts": lambda x, y: x[1:, ::2] + y[-1, [0, 2]] + torch.stack([x, y])[0, 0, 1] + x.chunk(2, 1)[1][:1],
    "elements": lambda x, y: x.take(torch.tensor([[0, -1, 5]])) + y.repeat_interleave(2, 1)[:, :3],
    "functions": lambda x, y: (
        F.gelu(x, approximate="tanh") + y.exp().log().sqrt().rsqrt() + F.normalize(x) + x.cumsum(1).tril()
    ),
    "losses": lambda x, y: (
        F.mse_loss(x, y) + F.smooth_l1_loss(x, y) + F.binary_cross_entropy(x, y) + F.huber_loss(x, y, delta=0.3)
    ),
    "differences": lambda x, y: x.diff(prepend=y[:, :1]) + torch.trapezoid(y, x, dim=0),
    "in place": lambda x, y: x.clone().add_(y).relu_().mul_(x) + x,
    "attention": lambda x, y: F.scaled_dot_product_attention(x[None], y[None], y[None], is_causal=True),
}


@needs_onnx
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    torch.manual_seed(0)
    check(FUNCTIONS[name], torch.rand(3, 4) * 0.9 + 0.05, torch.rand(3, 4) * 0.9 + 0.05)


@needs_onnx
def test_embeddings_and_losses_with_classes():
    torch.manual_seed(0)
    index = torch.tensor([[1, 0, 2], [3, 3, 1]])
    check(nn.Sequential(nn.Embedding(4, 5), nn.Linear(5, 2)), index)
    check(
        lambda x, t: F.cross_entropy(x, t, ignore_index=1) + F.nll_loss(x.log_softmax(1), t),
        torch.rand(3, 4),
        torch.tensor([0, 1, 3]),
    )


@needs_onnx
def test_sizes_that_vary():
    """A network for images, exported with two and run with five of them."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 2)).train()
    program = torch.onnx.export(
        net, image, input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}}
    )
    assert net.training
    graph = program.model_proto.graph
    assert [d.dim_param or d.dim_value for d in graph.input[0].type.tensor_type.shape.dim] == ["batch", 3, 8, 8]
    assert [d.dim_param or d.dim_value for d in graph.output[0].type.tensor_type.shape.dim] == ["batch", 2]
    assert {"0.weight", "0.bias", "4.weight"} <= {t.name for t in graph.initializer}
    more = torch.rand(5, 3, 8, 8)
    np.testing.assert_allclose(run(program, more)[0], net(more).detach().numpy(), rtol=1e-4, atol=1e-6)


@needs_onnx
def test_what_is_computed_unseen_is_no_constant():
    with pytest.raises(
        torch.onnx.OnnxExporterError, match="depends on the model's inputs in a way that is not recorded"
    ):
        torch.onnx.export(lambda x: x * torch.tensor(x.numpy().sum()), torch.rand(3))
    with pytest.raises(torch.onnx.OnnxExporterError, match="depends on the model's inputs"):
        torch.onnx.export(lambda x: x + x.sum().item(), torch.rand(3))
    with pytest.raises(torch.onnx.OnnxExporterError, match="with other inputs the model takes other steps"):
        torch.onnx.export(lambda x: x.exp() if x[0] < 0.5 else x.log(), torch.tensor([0.1, 0.9]))
    check(lambda x: x * torch.tensor([1.0, 2.0, 3.0]) + 5, torch.rand(3))  # these are constants


@needs_onnx
def test_refusals_leave_everything_as_it_was():
    before = (
        F.max_pool2d,
        torch.nn.modules.pooling.MaxPool2d.function,
        torch.core.views.write_result if hasattr(torch, "storage") else None,
    )

    def written(x):
        y = x * 2
        y[0] = 1
        return y

    def seen_twice(x):
        y = x * 2
        z = y.view(-1)
        y.mul_(3)
        return z

    for model, words in (
        (lambda x: torch.linalg.svdvals(x), "the operation 'linalg_svdvals' cannot be exported"),
        (nn.AdaptiveAvgPool1d(3), "where windows differ in size"),
        (written, "writing into a part of a tensor"),
        (seen_twice, "of which there are views"),
    ):
        with pytest.raises(torch.onnx.OnnxExporterError, match=words):
            torch.onnx.export(model, torch.rand(4, 4))
    assert (
        before[:2] == (F.max_pool2d, torch.nn.modules.pooling.MaxPool2d.function) and not torch.onnx.is_in_onnx_export()
    )
    y = torch.rand(2)
    y[0] = 1
    assert y.mul_(2)[0] == 2


@needs_onnx
def test_files(tmp_path):
    import onnx

    seen = []

    class Net(nn.Linear):
        def forward(self, x):
            seen.append(torch.onnx.is_in_onnx_export())
            return super().forward(x)

    program = torch.onnx.export(Net(4, 2), rows, tmp_path / "a.onnx")
    program.save(tmp_path / "b.onnx")
    with open(tmp_path / "c.onnx", "wb") as file:
        torch.onnx.export(Net(4, 2), (rows,), file, opset_version=17, verbose=False)
    assert seen == [True] * 4
    for name in "abc":
        onnx.checker.check_model(onnx.load(tmp_path / f"{name}.onnx"))


def test_without_the_package(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match="torch.onnx.export needs the package 'onnx'") as error:
        torch.onnx.export(nn.Linear(1, 1), torch.ones(1, 1), "x.onnx")
    assert "pip install onnx" in error.value.__notes__[0]


@needs_onnx
def test_after_a_class_that_intervenes_was_declared() -> None:
    class Mode(torch.overrides.TorchFunctionMode):
        pass

    check(nn.Sequential(nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(2)), torch.randn(1, 2, 8, 8))
