"""The calls that ``benchmarks/operations.py`` measures: everyday operations, each with the inputs that a size gives it.

A call is ``(name, function, inputs)``. The function takes the package and the tensors; an input is a shape by the name
of a size, or ``kind`` and such a shape, where the kind says what its values are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Shapes = dict[str, tuple[int, ...]]


def shapes(tens: tuple[int, ...], thousands: tuple[int, ...], million: tuple[int, ...]) -> Shapes:
    return {"tens": tens, "thousands": thousands, "million": million}


VECTOR = shapes((32,), (20_000,), (1_000_000,))
MATRIX = shapes((4, 8), (125, 160), (1000, 1000))
ROW = shapes((8,), (160,), (1000,))
COLUMN = shapes((4, 1), (125, 1), (1000, 1))
IMAGE = shapes((1, 2, 4, 4), (2, 16, 25, 25), (16, 64, 32, 32))
CHANNELS = shapes((2,), (16,), (64,))
SIGNAL = shapes((1, 2, 16), (4, 16, 312), (16, 64, 1000))
BATCH = shapes((2, 4, 4), (78, 16, 16), (976, 32, 32))
SQUARE = shapes((5, 5), (140, 140), (1000, 1000))
FACTOR = shapes((5, 5), (140, 140), (400, 400))  # of what takes n**3 steps
SMALL_SQUARES = shapes((2, 4, 4), (312, 8, 8), (3900, 16, 16))


class Input(NamedTuple):
    """A tensor: its shape at each size, and what its values are.

    Attributes:
        kind: ``real`` of the type measured, in it also ``positive``, ``unit`` (between 0 and 1), ``inside`` (between
            -1 and 1) or ``large`` (above 1); or ``index`` (below ``limit``), ``mask`` or ``permutation`` (of the last
            dimension), whatever the type.
        limit: the index's, at each size.
    """

    shape: Shapes
    kind: str = "real"
    limit: Shapes | None = None


class Call(NamedTuple):
    name: str
    function: Callable[..., Any]
    inputs: tuple[Input, ...]
    types: str  # which: f floating-point, F only float32 and float64, i integers, b bool
    grad: bool  # whether there are gradients to measure


CALLS: list[Call] = []


def call(
    name: str, function: Callable[..., Any], *inputs: Input | Shapes, types: str = "fi", grad: bool = True
) -> None:
    CALLS.append(Call(name, function, tuple(i if isinstance(i, Input) else Input(i) for i in inputs), types, grad))


def pointwise(names: str, *inputs: Input | Shapes, types: str = "fi", grad: bool = True) -> None:
    """Functions of the package, called with tensors alone."""
    for name in names.split():
        path = name.split(".")

        def function(t: Any, *xs: Any, path: list[str] = path) -> Any:
            for part in path:
                t = getattr(t, part)
            return t(*xs)

        call(name, function, *inputs, types=types, grad=grad)


positive, unit, inside, large = (Input(MATRIX, kind) for kind in ("positive", "unit", "inside", "large"))

# --- elementwise ---------------------------------------------------------------------------------------------------

pointwise("abs neg square sign", MATRIX)
pointwise("clone", MATRIX, types="fib")
pointwise("exp expm1 sin cos tanh sigmoid sinh cosh tan atan asinh erf erfc exp2 sinc", MATRIX, types="f")
pointwise("log log2 log10 log1p sqrt rsqrt reciprocal lgamma digamma", positive, types="f")
pointwise("erfinv asin acos atanh", inside, types="f")
pointwise("acosh", large, types="f")
pointwise("logit", unit, types="f")
pointwise("i0 special.i0e special.i1 special.i1e", MATRIX, types="f")
pointwise("special.entr special.ndtr special.log_ndtr", positive, types="f")
pointwise("special.ndtri", unit, types="f")
pointwise("floor ceil round trunc frac", MATRIX, types="f")
pointwise("isnan isfinite isinf", MATRIX, types="fi", grad=False)
pointwise("logical_not", MATRIX, types="fib", grad=False)
pointwise("bitwise_not", MATRIX, types="ib", grad=False)
functional = "relu relu6 silu mish elu selu celu leaky_relu softplus hardtanh hardswish hardsigmoid gelu logsigmoid"
for name in (functional + " tanhshrink softshrink hardshrink softsign").split():
    call(
        name,
        lambda t, x, name=name: getattr(t.nn.functional, name)(x),
        MATRIX,
        types="fi" if name in ("relu", "relu6") else "f",
    )
call("gelu(tanh)", lambda t, x: t.nn.functional.gelu(x, approximate="tanh"), MATRIX, types="f")
pointwise("add sub mul", MATRIX, MATRIX)
pointwise("div atan2 hypot logaddexp", MATRIX, MATRIX, types="f")
pointwise("maximum minimum", MATRIX, MATRIX)
pointwise("fmax fmin copysign", MATRIX, MATRIX, types="f")
pointwise("floor_divide fmod remainder", MATRIX, positive)
pointwise("pow", positive, MATRIX, types="f")
pointwise("xlogy", MATRIX, positive, types="f")
pointwise("eq ne lt le gt ge", MATRIX, MATRIX, grad=False)
pointwise("logical_and logical_or logical_xor", MATRIX, MATRIX, types="fib", grad=False)
pointwise("bitwise_and bitwise_or bitwise_xor", MATRIX, MATRIX, types="ib", grad=False)
call("add row", lambda t, x, y: x + y, MATRIX, ROW)
call("mul column", lambda t, x, y: x * y, MATRIX, COLUMN)
call("add number", lambda t, x: x + 3, MATRIX)
call("mul number", lambda t, x: x * 3, MATRIX)
call("div number", lambda t, x: x / 3, MATRIX, types="fi")
call("pow 2", lambda t, x: x**2, MATRIX)
call("pow 3", lambda t, x: x**3, MATRIX)
call("pow 1.7", lambda t, x: x**1.7, positive, types="f")
call("clamp", lambda t, x: x.clamp(-1, 1), MATRIX)
call("lerp", lambda t, x, y: t.lerp(x, y, 0.3), MATRIX, MATRIX, types="f")
call("addcmul", lambda t, x, y, z: t.addcmul(x, y, z), MATRIX, MATRIX, MATRIX)
call("addcdiv", lambda t, x, y, z: t.addcdiv(x, y, z), MATRIX, MATRIX, positive, types="f")
call("where", lambda t, c, x, y: t.where(c, x, y), Input(MATRIX, "mask"), MATRIX, MATRIX, types="fib")
call("masked_fill", lambda t, x, c: x.masked_fill(c, 0), MATRIX, Input(MATRIX, "mask"), types="fib")
call("nan_to_num", lambda t, x: t.nan_to_num(x), MATRIX, types="f")
call("prelu", lambda t, x, w: t.nn.functional.prelu(x, w), IMAGE, CHANNELS, types="f")
call("glu", lambda t, x: t.nn.functional.glu(x), MATRIX, types="f")
call("dropout", lambda t, x: t.nn.functional.dropout(x, 0.3), MATRIX, types="f")

# --- types, filling, copying, random numbers -----------------------------------------------------------------------

for to in ("float32", "float64", "bfloat16", "float16", "int64", "bool"):
    call(
        f"to {to}",
        lambda t, x, to=to: x.to(getattr(t, to)),
        MATRIX,
        types="fib",
        grad="float" in to and to not in ("float32", "float64"),
    )
call("copy_", lambda t, x, y: x.detach().copy_(y.detach()), MATRIX, MATRIX, types="fib", grad=False)
call("add_", lambda t, x, y: x.detach().add_(y.detach(), alpha=0), MATRIX, MATRIX, grad=False)
call("mul_ number", lambda t, x: x.detach().mul_(1), MATRIX, grad=False)
call("fill_", lambda t, x: x.detach().fill_(1), MATRIX, types="fib", grad=False)
call("zeros_like", lambda t, x: t.zeros_like(x), MATRIX, types="fib", grad=False)
call("rand_like", lambda t, x: t.rand_like(x), MATRIX, types="f", grad=False)
call("randn_like", lambda t, x: t.randn_like(x), MATRIX, types="f", grad=False)
call("bernoulli", lambda t, x: t.bernoulli(x), unit, types="f", grad=False)
call("randperm", lambda t, x: t.randperm(x.numel()), VECTOR, types="F", grad=False)
call("randint", lambda t, x: t.randint(0, 100, x.shape), MATRIX, types="F", grad=False)
call("multinomial", lambda t, x: t.multinomial(x, 4), positive, types="F", grad=False)
call("arange", lambda t, x: t.arange(x.numel(), dtype=x.dtype), VECTOR, types="fi", grad=False)

# --- reductions and scans ------------------------------------------------------------------------------------------

for name in "sum mean prod amax amin nansum var std logsumexp".split():
    types = "fi" if name in ("sum", "prod", "amax", "amin") else "f"
    if name != "logsumexp":
        call(name, lambda t, x, name=name: getattr(t, name)(x), MATRIX, types=types)
    for dim in (0, 1):
        call(f"{name} dim {dim}", lambda t, x, name=name, dim=dim: getattr(t, name)(x, dim), MATRIX, types=types)
call("sum of an image's", lambda t, x: x.sum((0, 2, 3)), IMAGE)
call("mean of an image's", lambda t, x: x.mean((2, 3)), IMAGE, types="f")
for name in "max min".split():
    call(name, lambda t, x, name=name: getattr(t, name)(x), MATRIX)
    for dim in (0, 1):
        call(f"{name} dim {dim}", lambda t, x, name=name, dim=dim: getattr(t, name)(x, dim).values, MATRIX)
for dim in (0, 1):
    call(f"argmax dim {dim}", lambda t, x, dim=dim: x.argmax(dim), MATRIX, grad=False)
    call(f"median dim {dim}", lambda t, x, dim=dim: x.median(dim).values, MATRIX)
    call(f"any dim {dim}", lambda t, x, dim=dim: x.any(dim), MATRIX, types="fib", grad=False)
    call(f"norm dim {dim}", lambda t, x, dim=dim: x.norm(dim=dim), MATRIX, types="f")
    call(f"softmax dim {dim}", lambda t, x, dim=dim: x.softmax(dim), MATRIX, types="f")
    call(f"log_softmax dim {dim}", lambda t, x, dim=dim: x.log_softmax(dim), MATRIX, types="f")
    for name in "cumsum cumprod logcumsumexp".split():
        call(
            f"{name} dim {dim}",
            lambda t, x, name=name, dim=dim: getattr(t, name)(x, dim),
            positive,
            types="f" if name[0] == "l" else "fi",
        )
    call(f"cummax dim {dim}", lambda t, x, dim=dim: x.cummax(dim).values, MATRIX)
    call(f"sort dim {dim}", lambda t, x, dim=dim: x.sort(dim).values, MATRIX, types="fib")
call("argmax", lambda t, x: x.argmax(), MATRIX, grad=False)
call("median", lambda t, x: x.median(), MATRIX)
call("any", lambda t, x: x.any(), MATRIX, types="fib", grad=False)
call("all", lambda t, x: x.all(), MATRIX, types="fib", grad=False)
call("count_nonzero", lambda t, x: x.count_nonzero(), MATRIX, types="fib", grad=False)
call("norm", lambda t, x: x.norm(), MATRIX, types="f")
call("argsort", lambda t, x: x.argsort(), MATRIX, types="fib", grad=False)
call("topk", lambda t, x: x.topk(3).values, MATRIX)
call("unique", lambda t, x: x.unique(), MATRIX, types="fib", grad=False)
call("bincount", lambda t, i: i.bincount(), Input(VECTOR, "index", ROW), types="F", grad=False)
call("histc", lambda t, x: x.histc(), MATRIX, types="F", grad=False)
call("searchsorted", lambda t, s, x: t.searchsorted(s, x), Input(ROW, "sorted"), MATRIX, grad=False)
call("diff", lambda t, x: x.diff(), MATRIX)
call("nonzero", lambda t, x: x.nonzero(), Input(MATRIX, "mask"), types="F", grad=False)

# --- picking and placing -------------------------------------------------------------------------------------------

index = Input(MATRIX, "index", shapes((4,), (125,), (1000,)))
rows = Input(shapes((4,), (125,), (1000,)), "index", shapes((4,), (125,), (1000,)))
for dim in (0, 1):
    across = Input(MATRIX, "index", shapes(*((a if dim == 0 else b,) for a, b in MATRIX.values())))
    call(f"gather dim {dim}", lambda t, x, i, dim=dim: x.gather(dim, i), MATRIX, across, types="fib")
    call(f"scatter dim {dim}", lambda t, x, i, y, dim=dim: x.scatter(dim, i, y), MATRIX, across, MATRIX, types="fib")
    call(f"scatter_add dim {dim}", lambda t, x, i, y, dim=dim: x.scatter_add(dim, i, y), MATRIX, across, MATRIX)
    call(
        f"scatter_reduce dim {dim}",
        lambda t, x, i, y, dim=dim: x.scatter_reduce(dim, i, y, "amax"),
        MATRIX,
        across,
        MATRIX,
    )
call("index_select", lambda t, x, i: x.index_select(0, i), MATRIX, rows, types="fib")
call("index_select dim 1", lambda t, x, i: x.index_select(1, i % x.shape[1]), MATRIX, rows, types="fib")
call("index_add", lambda t, x, i, y: x.index_add(0, i, y), MATRIX, rows, MATRIX)
call("index_copy", lambda t, x, i, y: x.index_copy(0, i, y), MATRIX, Input(MATRIX, "permutation"), MATRIX, types="fib")
call("x[index]", lambda t, x, i: x[i], MATRIX, rows, types="fib")
call("x[mask]", lambda t, x, m: x[m], MATRIX, Input(MATRIX, "mask"), types="fib")
call("take", lambda t, x, i: x.take(i), MATRIX, index, types="fib")
call("masked_select", lambda t, x, m: x.masked_select(m), MATRIX, Input(MATRIX, "mask"), types="fib")
call(
    "index_put accumulate",
    lambda t, x, i, y: x.index_put((i,), y, accumulate=True),
    MATRIX,
    rows,
    MATRIX,
    types="fib",
)
call("embedding", lambda t, i, w: t.nn.functional.embedding(i, w), rows, MATRIX, types="f")
call(
    "embedding_bag",
    lambda t, i, w: (
        t.nn.functional.embedding_bag(i.reshape(-1, 4)[: len(i) // 4], w)
        if len(i) % 4 == 0
        else t.nn.functional.embedding_bag(i[: len(i) // 4 * 4].reshape(-1, 4), w)
    ),
    rows,
    MATRIX,
    types="F",
)
call("one_hot", lambda t, i: t.nn.functional.one_hot(i, 16), rows, types="F", grad=False)

# --- shapes --------------------------------------------------------------------------------------------------------

call("cat", lambda t, x, y: t.cat([x, y]), MATRIX, MATRIX, types="fib")
call("cat dim 1", lambda t, x, y: t.cat([x, y], 1), MATRIX, MATRIX, types="fib")
call("stack", lambda t, x, y: t.stack([x, y]), MATRIX, MATRIX, types="fib")
call("contiguous of transposed", lambda t, x: x.t().contiguous(), MATRIX, types="fib")
call("permute, contiguous", lambda t, x: x.permute(0, 2, 3, 1).contiguous(), IMAGE, types="fib")
call("repeat", lambda t, x: x.repeat(2, 2), MATRIX, types="fib")
call("repeat_interleave", lambda t, x: x.repeat_interleave(2, 0), MATRIX, types="fib")
call("flip", lambda t, x: x.flip(1), MATRIX, types="fib")
call("roll", lambda t, x: x.roll(3, 1), MATRIX, types="fib")
call("rot90", lambda t, x: x.rot90(), MATRIX, types="fib")
call("tril", lambda t, x: x.tril(), SQUARE, types="fib")
call("diag", lambda t, x: x.diag(), SQUARE, types="fib")
call("split, cat", lambda t, x: t.cat(x.split(2, 1), 1), IMAGE, types="fib")
call("unfold", lambda t, x: t.nn.functional.unfold(x, 3), IMAGE, types="f")
call("fold", lambda t, x: t.nn.functional.fold(x, (9, 9), 3), shapes((1, 9, 49), (44, 9, 49), (2267, 9, 49)), types="f")
call("pixel_shuffle", lambda t, x: t.pixel_shuffle(x, 1 + (x.shape[1] % 4 == 0)), IMAGE, types="fib")
for mode in ("constant", "reflect", "replicate", "circular"):
    call(f"pad {mode}", lambda t, x, mode=mode: t.nn.functional.pad(x, (1, 1, 1, 1), mode=mode), IMAGE, types="f")
call("broadcast", lambda t, x: x.expand(4, *x.shape).contiguous(), MATRIX, types="fib")

# --- products and linear algebra -----------------------------------------------------------------------------------

half_square = shapes((5, 5), (64, 64), (256, 256))
call("matmul", lambda t, x, y: x @ y, half_square, half_square)
call("matmul transposed", lambda t, x, y: x @ y.t(), half_square, half_square)
call("mv", lambda t, x, y: x.mv(y), MATRIX, ROW)
call("dot", lambda t, x, y: x.dot(y), VECTOR, VECTOR)
call("outer", lambda t, x, y: t.outer(x, y), shapes((5,), (141,), (1000,)), shapes((5,), (141,), (1000,)))
call("bmm", lambda t, x, y: x.bmm(y), SMALL_SQUARES, SMALL_SQUARES)
call("linear", lambda t, x, w, b: t.nn.functional.linear(x, w, b), half_square, half_square,
     shapes((5,), (64,), (256,)), types="f")  # fmt: skip
call("einsum", lambda t, x, y: t.einsum("ij,kj->ik", x, y), half_square, half_square)
call("einsum bij", lambda t, x, y: t.einsum("bij,bjk->bik", x, y), SMALL_SQUARES, SMALL_SQUARES)
call("cross", lambda t, x, y: t.linalg.cross(x, y), *[shapes((10, 3), (6666, 3), (333_333, 3))] * 2)
call("cdist", lambda t, x, y: t.cdist(x, y), *[shapes((4, 8), (140, 16), (1000, 16))] * 2, types="F")
call("trace", lambda t, x: x.trace(), SQUARE)
call("kron", lambda t, x, y: t.kron(x, y), *[shapes((2, 2), (12, 12), (32, 32))] * 2)
definite = Input(FACTOR, "definite")
call("det", lambda t, x: t.linalg.det(x), definite, types="F")
call("det of a batch", lambda t, x: t.linalg.det(x), Input(SMALL_SQUARES, "definite"), types="F")
call("inv", lambda t, x: t.linalg.inv(x), definite, types="F")
call("solve", lambda t, x, y: t.linalg.solve(x, y), definite, FACTOR, types="F")
call(
    "solve_triangular", lambda t, x, y: t.linalg.solve_triangular(x.tril(), y, upper=False), definite, FACTOR, types="F"
)
call("cholesky", lambda t, x: t.linalg.cholesky(x), definite, types="F")
call("cholesky of a batch", lambda t, x: t.linalg.cholesky(x), Input(SMALL_SQUARES, "definite"), types="F")
call("inv of a batch", lambda t, x: t.linalg.inv(x), Input(SMALL_SQUARES, "definite"), types="F")

# --- networks ------------------------------------------------------------------------------------------------------


def nn(name: str, function: Callable[..., Any], *inputs: Input | Shapes, types: str = "f", grad: bool = True) -> None:
    call(name, lambda t, *xs: function(t.nn.functional, *xs), *inputs, types=types, grad=grad)


nn("conv2d 3x3", lambda F, x, w: F.conv2d(x, w, padding=1), IMAGE,
   shapes((2, 2, 3, 3), (16, 16, 3, 3), (16, 64, 3, 3)), types="fi")  # fmt: skip
nn("conv2d 1x1", lambda F, x, w: F.conv2d(x, w), IMAGE, shapes((2, 2, 1, 1), (16, 16, 1, 1), (64, 64, 1, 1)))
nn("conv2d depthwise", lambda F, x, w: F.conv2d(x, w, padding=1, groups=x.shape[1]), IMAGE,
   shapes((2, 1, 3, 3), (16, 1, 3, 3), (64, 1, 3, 3)))  # fmt: skip
nn("conv2d stride 2", lambda F, x, w: F.conv2d(x, w, stride=2, padding=1), IMAGE,
   shapes((2, 2, 3, 3), (16, 16, 3, 3), (16, 64, 3, 3)))  # fmt: skip
nn("conv2d 11x11", lambda F, x, w: F.conv2d(x, w, padding=5), shapes((1, 2, 4, 4), (2, 3, 56, 56), (4, 3, 224, 224)),
   shapes((2, 2, 11, 11), (4, 3, 11, 11), (4, 3, 11, 11)))  # fmt: skip
nn("conv_transpose2d", lambda F, x, w: F.conv_transpose2d(x, w, stride=2), IMAGE,
   shapes((2, 2, 3, 3), (16, 8, 3, 3), (64, 8, 3, 3)))  # fmt: skip
nn("conv1d", lambda F, x, w: F.conv1d(x, w, padding=1), SIGNAL, shapes((2, 2, 3), (16, 16, 3), (16, 64, 3)))
nn("max_pool2d", lambda F, x: F.max_pool2d(x, 2), IMAGE)
nn("avg_pool2d", lambda F, x: F.avg_pool2d(x, 2), IMAGE)
nn("avg_pool2d 3x3", lambda F, x: F.avg_pool2d(x, 3, stride=1, padding=1), IMAGE)
nn("max_pool2d 3x3", lambda F, x: F.max_pool2d(x, 3, stride=2, padding=1), IMAGE)
nn("max_pool1d", lambda F, x: F.max_pool1d(x, 2), SIGNAL)
nn("adaptive_avg_pool2d", lambda F, x: F.adaptive_avg_pool2d(x, 3), IMAGE)
nn("adaptive_max_pool2d", lambda F, x: F.adaptive_max_pool2d(x, 3), IMAGE)
nn("interpolate nearest", lambda F, x: F.interpolate(x, scale_factor=2), IMAGE)
nn("interpolate bilinear", lambda F, x: F.interpolate(x, scale_factor=2, mode="bilinear"), IMAGE)
nn("interpolate bilinear, smaller",
   lambda F, x: F.interpolate(x, size=(3, 3), mode="bilinear", align_corners=True), IMAGE)  # fmt: skip
nn("interpolate bicubic", lambda F, x: F.interpolate(x, scale_factor=2, mode="bicubic"), IMAGE)
nn("batch_norm", lambda F, x, w, b: F.batch_norm(x, None, None, w, b, training=True), IMAGE, CHANNELS, CHANNELS)
nn("batch_norm, evaluating", lambda F, x, m, v: F.batch_norm(x, m, v), IMAGE, Input(CHANNELS, "buffer"),
   Input(CHANNELS, "buffer"))  # fmt: skip
nn("layer_norm", lambda F, x, w, b: F.layer_norm(x, x.shape[-1:], w, b), MATRIX, ROW, ROW)
nn("group_norm", lambda F, x, w, b: F.group_norm(x, 2, w, b), IMAGE, CHANNELS, CHANNELS)
nn("instance_norm", lambda F, x: F.instance_norm(x), IMAGE)
nn("rms_norm", lambda F, x, w: F.rms_norm(x, x.shape[-1:], w), MATRIX, ROW)
nn("normalize", lambda F, x: F.normalize(x), MATRIX)
nn("attention", lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v),
   *[shapes((1, 2, 4, 4), (2, 2, 64, 16), (4, 4, 128, 32))] * 3)  # fmt: skip
classes = Input(shapes((4,), (125,), (1000,)), "index", ROW)
nn("cross_entropy", lambda F, x, i: F.cross_entropy(x, i), MATRIX, classes)
nn("nll_loss", lambda F, x, i: F.nll_loss(x, i), MATRIX, classes)
nn("mse_loss", lambda F, x, y: F.mse_loss(x, y), MATRIX, MATRIX)
nn("l1_loss", lambda F, x, y: F.l1_loss(x, y), MATRIX, MATRIX)
nn("smooth_l1_loss", lambda F, x, y: F.smooth_l1_loss(x, y), MATRIX, MATRIX)
nn("huber_loss", lambda F, x, y: F.huber_loss(x, y), MATRIX, MATRIX)
nn("kl_div", lambda F, x, y: F.kl_div(x, y, reduction="batchmean"), MATRIX, unit)
nn("bce", lambda F, x, y: F.binary_cross_entropy(x, y), unit, Input(MATRIX, "target"))
nn("bce with logits", lambda F, x, y: F.binary_cross_entropy_with_logits(x, y), MATRIX, unit)
nn("cosine_similarity", lambda F, x, y: F.cosine_similarity(x, y), MATRIX, MATRIX)
nn("ctc_loss",
   lambda F, x, i: F.ctc_loss(x.log_softmax(2), i, (len(x),) * len(i), (i.shape[1],) * len(i)),
   shapes((8, 1, 4), (50, 8, 50), (100, 50, 200)),
   Input(shapes((1, 3), (8, 10), (50, 20)), "index", shapes((3,), (49,), (199,))), types="F")  # fmt: skip
nn("grid_sample", lambda F, x, g: F.grid_sample(x, g, align_corners=False), IMAGE,
   Input(shapes((1, 4, 4, 2), (2, 25, 25, 2), (16, 32, 32, 2)), "inside"), types="F")  # fmt: skip
