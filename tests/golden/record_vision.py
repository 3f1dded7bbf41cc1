"""Calls of torchvision's operators, and the recorder of what torchvision 0.28 makes of them with PyTorch 2.13.

Run it where both are installed to write ``vision.json`` beside it; see :mod:`programs`. For each call: its results, or
the error. Where the images require grad, the gradients come after them, of the results weighed by a wave.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from programs import Programs, attempt

programs = Programs("vision.json")
REGIONS = [[0, 1, 1.5, 6, 5], [1, -3, -2, 4, 9], [0, 3, 3, 3, 3], [1, 5, 5, 2, 1], [0, 20, 20, 30, 30], [1, 0, 0, 7, 6]]


def results(torch: Any, out: Any, inputs: Any) -> Iterator[Any]:
    """The results and the inputs' gradients, each in a few numbers."""
    outs = out if isinstance(out, tuple) else (out,)
    for x in outs:
        yield digest(torch, x)
    wave = torch.arange(outs[0].numel(), dtype=torch.float64).cos().reshape(outs[0].shape)
    for g in torch.autograd.grad((outs[0] * wave).sum(), inputs, allow_unused=True):
        yield None if g is None else digest(torch, g)


def digest(torch: Any, x: Any) -> list[Any]:
    """A tensor's shape, how many NaNs it has, and its other elements weighed by two waves and summed."""
    x, wave = x.detach().double(), torch.arange(x.numel(), dtype=torch.float64).reshape(x.shape)
    known = torch.where(x.isnan(), 0.0, x)
    return [
        list(x.shape),
        x.isnan().sum().item(),
        *[round((known * w).sum().item(), 8) for w in (wave.cos(), wave.sin())],
    ]


def regions(torch: Any, name: str, channels: int, *options: Any) -> Iterator[Any]:
    torch.manual_seed(0)
    images = torch.rand(2, channels, 6, 7, dtype=torch.float64, requires_grad=True)
    rois = torch.tensor(REGIONS, dtype=torch.float64)
    yield from results(torch, getattr(torch.ops.torchvision, name)(images, rois, *options), [images])


@programs
def roi_align(torch: Any) -> Iterator[Any]:
    for scale, ratio, aligned in itertools.product((1.0, 0.4), (-1, 1, 2), (False, True)):
        yield from regions(torch, "roi_align", 2, scale, 2, 3, ratio, aligned)


@programs
def roi_pool(torch: Any) -> Iterator[Any]:
    for scale, size in itertools.product((1.0, 0.4), ((2, 3), (1, 1))):
        yield from regions(torch, "roi_pool", 2, scale, *size)


@programs
def ps_roi_align(torch: Any) -> Iterator[Any]:
    for scale, ratio in itertools.product((1.0, 0.4), (-1, 1, 2)):
        yield from regions(torch, "ps_roi_align", 12, scale, 2, 3, ratio)


@programs
def ps_roi_pool(torch: Any) -> Iterator[Any]:
    """Not its gradient: torchvision's counts pixels of the last row and column, which its result does not."""
    torch.manual_seed(0)
    images, rois = torch.rand(2, 12, 6, 7, dtype=torch.float64), torch.tensor(REGIONS, dtype=torch.float64)
    for scale in (1.0, 0.4):
        for x in torch.ops.torchvision.ps_roi_pool(images, rois, scale, 2, 3):
            yield digest(torch, x)


@programs
def deform_conv2d(torch: Any) -> Iterator[Any]:
    cases = itertools.product((1, 2), (1, 2), (1, 2), (0, 1), (1, 2), (False, True), (0.0, 0.4, 3.0))
    for groups, offset_groups, stride, padding, dilation, use_mask, far in itertools.islice(cases, 0, None, 5):
        torch.manual_seed(0)
        height, width = ((n + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for n, k in ((5, 3), (4, 2)))
        shapes = [(2, 4, 5, 4), (2, 4 // groups, 3, 2), (2, offset_groups * 12, height, width)]
        image, weight, offset = (torch.randn(*s, dtype=torch.float64) for s in shapes)
        mask = torch.rand(2, offset_groups * 6, height, width, dtype=torch.float64)
        bias = torch.randn(2, dtype=torch.float64)
        tensors = [x.requires_grad_() for x in (image, weight, offset * far, mask, bias)]
        options = (stride, stride, padding, padding, dilation, dilation, groups, offset_groups, use_mask)
        out = torch.ops.torchvision.deform_conv2d(*tensors, *options)
        yield from results(torch, out, tensors if use_mask else tensors[:3] + tensors[4:])


@programs
def nms(torch: Any) -> Iterator[Any]:
    torch.manual_seed(0)
    for threshold, dtype in itertools.product((-1.0, 0.0, 0.3, 0.5, 1.0), (torch.float32, torch.float64)):
        boxes = torch.rand(40, 4, dtype=dtype) * 5
        boxes[:, 2:] += boxes[:, :2]
        boxes[3] = boxes[2]
        scores = (torch.rand(40, dtype=dtype) * 10).round() / 10
        scores[5] = scores[7] = float("nan")
        boxes[9, 0] = float("nan")
        yield torch.ops.torchvision.nms(boxes, scores, threshold).tolist()
    yield torch.ops.torchvision.nms(torch.zeros(0, 4), torch.zeros(0), 0.5).tolist()


@programs
def box_iou_rotated(torch: Any) -> Iterator[Any]:
    boxes = torch.tensor([[0, 0, 2, 2, 0], [0, 0, 2, 1, 45], [1, 0, 2, 2, 0], [9, 9, 1, 1, 30], [0, 0, 0, 2, 0.0]])
    yield [round(v, 6) for v in torch.ops.torchvision.box_iou_rotated(boxes, boxes + 0.25).flatten().tolist()]


@programs
def quantized(torch: Any) -> Iterator[Any]:
    image = torch.arange(36, dtype=torch.uint8).reshape(1, 1, 6, 6) * 7
    rois = torch.tensor([[0, 2, 2, 9, 7]], dtype=torch.uint8)
    for aligned in (False, True):
        yield torch.ops.torchvision.qroi_align(image, rois, 0.5, 10, 0.5, 0, 1.0, 2, 2, 2, aligned).tolist()
    boxes = torch.tensor([[0, 0, 20, 20], [0, 0, 20, 19], [50, 50, 60, 60]], dtype=torch.uint8)
    yield torch.ops.torchvision.qnms(boxes, torch.tensor([1, 3, 2], dtype=torch.uint8), 0.5).tolist()


@programs
def refusals(torch: Any) -> Iterator[Any]:
    ops, z = torch.ops.torchvision, torch.zeros
    image, rois = z(1, 3, 4, 4), z(1, 5)
    yield attempt(ops.roi_align, image, z(1, 4), 1.0, 2, 2, 2, False)
    yield attempt(ops.roi_align, image.double(), rois, 1.0, 2, 2, 2, False)
    yield attempt(ops.roi_pool, image.int(), rois.int(), 1.0, 2, 2)
    yield attempt(ops.ps_roi_pool, image, rois, 1.0, 2, 2)
    yield attempt(ops.nms, z(4), z(1), 0.5)
    yield attempt(ops.nms, z(1, 3), z(1), 0.5)
    yield attempt(ops.nms, z(1, 4), z(1, 1), 0.5)
    yield attempt(ops.nms, z(2, 4), z(1), 0.5)
    yield attempt(ops.nms, z(1, 4), z(1).double(), 0.5)
    yield attempt(ops.nms, z(1, 4).half(), z(1).half(), 0.5)
    yield attempt(
        ops.box_iou_rotated,
        z(1, 4),
        z(1, 5),
    )
    yield attempt(ops.box_iou_rotated, z(1, 5), z(1, 5).double())
    good = {"input": z(1, 2, 4, 4), "weight": z(2, 2, 3, 3), "offset": z(1, 18, 2, 2), "mask": z(1, 9, 2, 2)}
    for bad in (
        {"offset": z(1, 9, 2, 2)},
        {"offset": z(1, 18, 3, 2)},
        {"offset": z(2, 18, 2, 2)},
        {"mask": z(1, 8, 2, 2)},
        {"mask": z(1, 9, 3, 2)},
        {"input": z(1, 2, 4, 4).double()},
    ):
        yield attempt(ops.deform_conv2d, *{**good, **bad}.values(), z(2), 1, 1, 0, 0, 1, 1, 1, 1, True)


if __name__ == "__main__":
    import torchvision  # noqa: F401  # whose operators they are

    programs.record()
