"""Boxes: ``nms`` and ``box_iou_rotated`` of torchvision."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import dtypes
from ..base.errors import with_notes
from ..core import op
from ..core.tensor import Tensor
from .activation import floats

BLOCK = 1 << 16  # pairs of boxes at a time


def _check_nms(boxes: Any, scores: Any) -> None:
    """Refuse boxes and scores that do not fit together."""
    if boxes.ndim != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {boxes.ndim}D")
    if boxes.shape[1] != 4:
        raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {boxes.shape[1]}")
    if scores.ndim != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.ndim}D")
    if len(boxes) != len(scores):
        raise RuntimeError(
            f"boxes and scores should have same number of elements in dimension 0, got {len(boxes)} and {len(scores)}"
        )
    if boxes.dtype != scores.dtype:
        raise with_notes(
            RuntimeError("dets should have the same type as scores"), f"they are {boxes.dtype} and {scores.dtype}"
        )


@op.general(name="nms", method=False, shape_depends_on_values=True, differentiable="")
def _nms(dets: Tensor, scores: Tensor, threshold: float) -> Tensor:
    limit = np.float64(threshold)  # a float32 compares as a double, as in C
    order = np.argsort(-scores.astype(np.float64), kind="stable")
    unknown = np.isnan(scores[order])
    order = np.concatenate([order[unknown], order[~unknown]])  # NaN is the largest
    x1, y1, x2, y2 = dets[order].T
    with np.errstate(invalid="ignore", divide="ignore"):
        areas = (x2 - x1) * (y2 - y1)
        alive, kept = np.ones(len(order), bool), []
        for i in range(len(order)):
            if not alive[i]:
                continue
            kept.append(i)
            rest = np.flatnonzero(alive[i + 1 :]) + i + 1
            zero = dets.dtype.type(0)
            width = np.maximum(zero, np.minimum(x2[i], x2[rest]) - np.maximum(x1[i], x1[rest]))
            height = np.maximum(zero, np.minimum(y2[i], y2[rest]) - np.maximum(y1[i], y1[rest]))
            overlap = width * height
            alive[rest[overlap / (areas[i] + areas[rest] - overlap) > limit]] = False
    return order[kept]


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Boxes that no better box overlaps too much (non-maximum suppression).

    From the highest score on, a box is kept, and all later ones are dropped whose intersection with it is a greater
    part of their union.

    Args:
        dets: (N, 4), float32 or float64: x1, y1, x2, y2.
        scores: (N,), of the same type. Equal ones count in their order, NaN as the highest.
        iou_threshold: the greatest intersection over union that is allowed.

    Returns:
        The indices of those that are kept, by decreasing score.

    Raises:
        RuntimeError: for shapes or types that do not fit together.
        NotImplementedError: for integers and half precision.

    >>> import pullback as torch
    >>> boxes = torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]])
    >>> torch.ops.torchvision.nms(boxes, torch.tensor([0.5, 0.9, 0.1]), 0.5)
    tensor([1, 2])
    """
    _check_nms(dets, scores)
    _check_wide("nms_kernel", dets)
    return _nms(dets, scores, float(iou_threshold))


def _check_wide(kernel: str, boxes: Any) -> None:
    """Refuse integers and half precision."""
    floats(kernel)(boxes)
    if boxes.dtype.itemsize < 4:
        raise with_notes(
            NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.type_name(boxes.dtype)}'"),
            "It takes float32 and float64; convert with boxes.float().",
        )


# --- rotated boxes ----------------------------------------------------------------------------------------------


def _corners(boxes: np.ndarray) -> np.ndarray:
    """The corners of boxes (N, 5), one after the other: (N, 4, 2)."""
    angle = np.deg2rad(boxes[:, 4:])
    across = np.concatenate([np.cos(angle), -np.sin(angle)], 1) * boxes[:, 2:3] / 2  # counter-clockwise: y goes down
    along = np.concatenate([np.sin(angle), np.cos(angle)], 1) * boxes[:, 3:4] / 2
    centre = boxes[:, :2]
    return np.stack(
        [centre - across - along, centre + across - along, centre + across + along, centre - across + along], 1
    )


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _clipped(polygon: np.ndarray, count: np.ndarray, start: np.ndarray, end: np.ndarray) -> tuple[Any, Any]:
    """Convex polygons (N, corners, 2), of which ``count`` corners count, on the inner side of lines (Sutherland and
    Hodgman, "Reentrant polygon clipping", 1974): each edge gives the crossing point, if any, and its end, if inside.
    """
    n, corners = polygon.shape[:2]
    number = np.arange(corners)
    after = np.take_along_axis(polygon, np.where(number + 1 < count[:, None], number + 1, 0)[..., None], 1)
    line = (end - start)[:, None]
    here, there = _cross(line, polygon - start[:, None]), _cross(line, after - start[:, None])
    real = number < count[:, None]
    crosses = real & ((here >= 0) != (there >= 0))
    part = here / np.where(crosses, here - there, 1)
    points = np.stack([polygon + part[..., None] * (after - polygon), after], 2).reshape(n, 2 * corners, 2)
    chosen = np.stack([crosses, real & (there >= 0)], 2).reshape(n, 2 * corners)
    order = np.argsort(~chosen, 1, kind="stable")[:, : corners + 1]
    return np.take_along_axis(points, order[..., None], 1), chosen.sum(1)


def _intersections(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The areas of the intersections of pairs of rectangles, (N, 4, 2) each."""
    polygon, count = a, np.full(len(a), 4)
    for k in range(4):
        polygon, count = _clipped(polygon, count, b[:, k], b[:, (k + 1) % 4])
    number = np.arange(polygon.shape[1])
    after = np.take_along_axis(polygon, np.where(number + 1 < count[:, None], number + 1, 0)[..., None], 1)
    first = polygon[:, :1]
    return (_cross(polygon - first, after - first) * (number < count[:, None])).sum(1) / 2


@op.general(name="box_iou_rotated", method=False)
def _box_iou_rotated(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    first, second = boxes1.astype(np.float64), boxes2.astype(np.float64)
    out = np.zeros((len(first), len(second)), np.float32)
    areas, others = first[:, 2] * first[:, 3], second[:, 2] * second[:, 3]
    step = max(1, BLOCK // max(1, len(second)))
    for at in range(0, len(first), step):
        rows, columns = (k.ravel() for k in np.indices((len(first[at : at + step]), len(second))))
        origin = (first[at + rows, :2] + second[columns, :2])[:, None] / 2  # small numbers, for exactness
        common = _intersections(_corners(first)[at + rows] - origin, _corners(second)[columns] - origin)
        small = (areas[at + rows] < 1e-14) | (others[columns] < 1e-14)
        union = np.where(small, 1, areas[at + rows] + others[columns] - common)
        out[at : at + step] = np.where(small, 0, common / union).reshape(-1, len(second))
    return out


def box_iou_rotated(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Intersection over union of each pair of rotated boxes.

    Args:
        boxes1: (N, 5), float32 or float64: the centre x, y, the width, the height, and the angle in degrees,
            counter-clockwise.
        boxes2: (M, 5), of the same type.

    Returns:
        (N, M), float32; 0 for boxes without area. It has no gradient.

    Raises:
        RuntimeError: for shapes or types that do not fit together.
        NotImplementedError: for integers and half precision.

    >>> import pullback as torch
    >>> a, b = torch.tensor([[0.0, 0, 2, 2, 0]]), torch.tensor([[0.0, 0, 2, 2, 45], [1, 0, 2, 2, 0]])
    >>> torch.ops.torchvision.box_iou_rotated(a, b)
    tensor([[0.7071, 0.3333]])
    """
    for name, boxes in (("boxes1", boxes1), ("boxes2", boxes2)):
        if boxes.ndim != 2 or boxes.shape[1] != 5:
            raise RuntimeError(f"{name} should have shape (N, 5), got {list(boxes.shape)}")
    if boxes1.dtype != boxes2.dtype:
        raise with_notes(
            RuntimeError("boxes1 and boxes2 must have the same dtype"), f"they are {boxes1.dtype} and {boxes2.dtype}"
        )
    _check_wide("box_iou_rotated_cpu", boxes1)
    return _box_iou_rotated(boxes1.detach(), boxes2.detach())
