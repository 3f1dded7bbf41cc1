"""``torch.ops.torchvision``: values and gradients as torchvision's own, and second derivatives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pullback
from pullback.autograd import gradcheck, gradgradcheck

sys.path.insert(0, str(Path(__file__).parent.parent / "golden"))
from record_vision import REGIONS, programs  # noqa: E402

from programs import differences, run  # noqa: E402

ops = pullback.ops.torchvision
ROIS = pullback.tensor(REGIONS, dtype=pullback.float64)


def images(channels: int) -> Any:
    pullback.manual_seed(0)
    return pullback.rand(2, channels, 6, 7, dtype=pullback.float64, requires_grad=True)


@pytest.mark.parametrize("name", programs)
def test_as_recorded_from_torchvision(name: str) -> None:
    assert differences(run(programs[name], pullback), programs.recorded[name]) == []


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ops.roi_align(x, ROIS, 0.7, 2, 1, 2, False),
        lambda x: ops.roi_align(x, ROIS, 0.7, 1, 2, -1, True),
        lambda x: ops.roi_pool(x, ROIS, 0.7, 2, 1)[0],
        lambda x: ops.ps_roi_align(x, ROIS, 0.7, 2, 1, 2)[0],
        lambda x: ops.ps_roi_pool(x, ROIS, 1.0, 2, 1)[0],
    ],
)
def test_gradients_of_regions(function: Any) -> None:
    x = images(2)
    assert gradcheck(function, (x,)) and gradgradcheck(function, (x,))
    u, t = pullback.randn_like(function(x)), pullback.randn_like(x)
    (back,) = pullback.autograd.grad(function(x), x, u)
    ahead = pullback.func.jvp(function, (x.detach(),), (t,))[1]
    assert (back * t).sum().item() == pytest.approx((u * ahead).sum().item())


def test_gradients_of_deformed_convolutions() -> None:
    pullback.manual_seed(0)
    shapes = ((1, 2, 4, 3), (2, 1, 2, 2), (1, 16, 3, 2), (1, 8, 3, 2), (2,))
    tensors = [pullback.randn(*s, dtype=pullback.float64, requires_grad=True) for s in shapes]
    function = lambda *xs: ops.deform_conv2d(*xs, 1, 1, 0, 0, 1, 1, 2, 2, True)  # noqa: E731
    assert gradcheck(function, tensors) and gradgradcheck(function, tensors)


def test_no_offsets_are_a_convolution() -> None:
    pullback.manual_seed(0)
    for dtype, near in ((pullback.float32, 1e-5), (pullback.float64, 1e-12), (pullback.float16, 1e-2)):
        x, w, b = (pullback.randn(*s).to(dtype) for s in ((2, 4, 7, 6), (4, 2, 3, 3), (4,)))
        offset = pullback.zeros(2, 18, 4, 3, dtype=dtype)
        out = ops.deform_conv2d(x, w, offset, pullback.zeros(2, 1, dtype=dtype), b, 2, 2, 1, 1, 1, 1, 2, 1, False)
        expected = pullback.conv2d(x, w, b, 2, 1, 1, 2)
        assert out.dtype == dtype and pullback.allclose(out, expected, near, near)


def test_regions_have_no_gradient() -> None:
    x, rois = images(1), ROIS.clone().requires_grad_()
    ops.roi_align(x, rois, 1.0, 2, 2, 2, True).sum().backward()
    assert rois.grad is None and x.grad is not None


def test_half_precision_is_rounded_once() -> None:
    x, rois = images(4).detach().half(), ROIS.half()
    for name, options in (("roi_align", (2, False)), ("roi_pool", ()), ("ps_roi_align", (2,)), ("ps_roi_pool", ())):
        call = lambda d, name=name, options=options: getattr(ops, name)(x.to(d), rois.to(d), 0.5, 2, 2, *options)  # noqa: E731
        half, single = call(pullback.float16), call(pullback.float32)
        if isinstance(half, tuple):
            assert half[1].dtype == pullback.int32 and half[1].tolist() == single[1].tolist()
            half, single = half[0], single[0]
        assert half.tolist() == single.half().tolist()


def test_nan_is_never_the_largest() -> None:
    x = pullback.full((1, 1, 3, 3), float("nan"))
    x[0, 0, 2, 2] = 1
    value, at = ops.roi_pool(x, pullback.tensor([[0.0, 0, 0, 2, 2]]), 1.0, 1, 1)
    assert (value.item(), at.item()) == (1, 8)
    value, at = ops.roi_pool(x, pullback.tensor([[0.0, 0, 0, 1, 1]]), 1.0, 1, 1)
    assert (value.item(), at.item()) == (pullback.finfo(pullback.float32).min, -1)


def test_nothing_to_pool() -> None:
    none = pullback.zeros(0, 5)
    for images_there in (0, 2):
        x = pullback.rand(images_there, 4, 5, 5, requires_grad=True)
        for out in (
            ops.roi_align(x, none, 1.0, 2, 2, -1, True),
            ops.roi_pool(x, none, 1.0, 2, 2)[0],
            ops.ps_roi_align(x, none, 1.0, 2, 2, -1)[0],
            ops.ps_roi_pool(x, none, 1.0, 2, 2)[0],
        ):
            assert out.shape[0] == 0
            (g,) = pullback.autograd.grad(out.sum(), x)
            assert g.shape == x.shape and not g.any()


def test_backward_operators_are_the_transposes() -> None:
    x, sizes = images(4), (2, 4, 6, 7)
    out, at = ops.roi_pool(x, ROIS, 0.5, 2, 2)
    g = pullback.randn_like(out)
    assert ops._roi_pool_backward(g, ROIS, at, 0.5, 2, 2, *sizes).equal(pullback.autograd.grad(out, x, g)[0])
    out = ops.roi_align(x, ROIS, 0.5, 2, 2, 2, True)
    assert ops._roi_align_backward(g, ROIS, 0.5, 2, 2, *sizes, 2, True).equal(pullback.autograd.grad(out, x, g)[0])
    g = g[:, :1]
    for name, ratio in (("ps_roi_align", (2,)), ("ps_roi_pool", ())):
        out, channels = getattr(ops, name)(x, ROIS, 0.5, 2, 2, *ratio)
        back = getattr(ops, f"_{name}_backward")(g, ROIS, channels, 0.5, 2, 2, *ratio, *sizes)
        assert back.equal(pullback.autograd.grad(out, x, g)[0])
    shapes = ((1, 2, 4, 3), (2, 1, 2, 2), (1, 16, 3, 2), (1, 8, 3, 2), (2,))
    tensors = [pullback.randn(*s, requires_grad=True) for s in shapes]
    out = ops.deform_conv2d(*tensors, 1, 1, 0, 0, 1, 1, 2, 2, True)
    g = pullback.randn_like(out)
    for a, b in zip(
        ops._deform_conv2d_backward(g, *tensors, 1, 1, 0, 0, 1, 1, 2, 2, True), pullback.autograd.grad(out, tensors, g)
    ):
        assert a.equal(b)


def test_the_extension_counts_as_loaded() -> None:
    pullback.ops.load_library("/somewhere/torchvision/_C.so")
    with pytest.raises(OSError, match="Could not load this library"):
        pullback.ops.load_library("/somewhere/torchvision/image.so")
    assert ops._cuda_version() == -1


def test_a_kernel_for_autocast_is_called_while_casting() -> None:
    """Not those of other devices; inside it, nothing is cast again."""
    library = pullback.library.Library("torchvision", "IMPL")
    seen = []

    def casting(boxes: Any, scores: Any, threshold: float) -> Any:
        keys = pullback._C.DispatchKeySet(pullback._C.DispatchKey.AutocastCPU)
        with pullback._C._ExcludeDispatchKeyGuard(keys):
            seen.append(pullback.is_autocast_enabled("cpu"))
            return ops.nms(boxes.float(), scores.float(), threshold)

    definition = pullback.library.OPERATIONS["torchvision::nms"]
    try:
        library.impl("nms", casting, "AutocastCPU")
        library.impl("nms", lambda *args: 1 / 0, "AutocastCUDA")
        pullback.library.Library("torchvision", "IMPL", "Meta").impl("nms", lambda *args: 1 / 0)
        boxes = pullback.tensor([[0.0, 0, 1, 1]])
        assert ops.nms(boxes, boxes[0, :1], 0.5).tolist() == [0] and seen == []
        with pullback.autocast("cpu"):
            assert ops.nms(boxes.half(), boxes[0, :1].half(), 0.5).tolist() == [0]
            assert pullback.is_autocast_enabled("cpu")
        assert seen == [False]
    finally:
        definition._casting = None


def test_operators_are_imported_when_they_are_asked_for() -> None:
    code = "import sys, pullback; print('pullback.ops.roi_pooling' in sys.modules); pullback.ops.torchvision.nms"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_the_namespace_is_taken() -> None:
    with pytest.raises(ValueError, match="taken"):
        pullback.library.define("torchvision::mine", "(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="only be called inside"):
        pullback.library.get_ctx()
