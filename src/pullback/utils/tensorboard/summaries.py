"""Summary protos: scalars, histograms, images and so on (``tensorboard/compat/proto/summary.proto``)."""

from __future__ import annotations

import io
import struct
import wave
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from .records import double, doubles, message, single, whole

STRING, FLOAT64 = 7, 2  # kinds of tensors


def as_array(x: Any) -> np.ndarray:
    """Numbers, tensors and lists of them as an array."""
    if isinstance(x, Tensor):
        x = x.detach()
        return x._array.astype(np.float32) if x.dtype.name == "bfloat16" else x.numpy()
    if isinstance(x, list):
        return np.array([as_array(item) for item in x])
    return np.asarray(x)


def value(tag: str, *fields: bytes) -> bytes:
    """The summary of one value."""
    return message(5, message(1, message(1, tag), *fields))


def metadata(plugin: str, content: bytes = b"") -> bytes:
    """For which of TensorBoard's plugins a value is."""
    return message(9, message(1, message(1, plugin), message(2, content)))


def scalar(tag: str, x: Any, precise: bool = False) -> bytes:
    """A number."""
    array = as_array(x)
    if array.size != 1:
        raise AssertionError(
            f"scalar should be 0D\n  add_scalar({tag!r}, ...) was given an array of shape {array.shape}."
        )
    number = float(array.item().real)
    if precise:
        return value(tag, message(8, whole(1, FLOAT64), message(2), double(6, number)), metadata("scalars"))
    return value(tag, single(2, number))


# --- distributions ------------------------------------------------------------------------------------------

_POSITIVE = [1e-12 * 1.1**i for i in range(774)]  # up to 1e20
DEFAULT_BINS = [*(-v for v in reversed(_POSITIVE)), 0.0, *_POSITIVE]


def histogram(tag: str, values: Any, bins: Any, max_bins: int | None) -> bytes:
    """How many values lie in each of some intervals."""
    x = as_array(values).reshape(-1).astype(np.float64)
    if x.size == 0:
        raise ValueError("The input has no element.")
    edges: Any
    counts, edges = np.histogram(x, bins=DEFAULT_BINS if isinstance(bins, str) and bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        edges = np.append(edges[:-1:step], edges[-1])
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
    filled = np.flatnonzero(counts)
    if filled.size:  # the intervals with something in them, between two empty ones
        first, last = filled[0], filled[-1]
        counts = np.append(0, counts[first : last + 1])
        edges = edges[first : last + 2]
    return raw_histogram(tag, x.min(), x.max(), x.size, x.sum(), x.dot(x), edges, counts)


def raw_histogram(
    tag: str,
    low: float,
    high: float,
    number: float,
    sum: float,
    squares: float,
    limits: Iterable[float],
    counts: Iterable[float],
) -> bytes:
    """A histogram that has been counted."""
    numbers = [double(i, float(v)) for i, v in enumerate((low, high, number, sum, squares), 1)]
    return value(tag, message(5, *numbers, doubles(6, map(float, limits)), doubles(7, map(float, counts))))


# --- pictures, sounds, text ---------------------------------------------------------------------------------


def image(tag: str, x: Any, layout: str) -> bytes:
    """A picture, or several in a grid. Floats lie between 0 and 1, integers between 0 and 255."""
    pixels = as_array(x)
    if pixels.ndim != len(layout):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {pixels.shape}, input_format: {layout}"
        )
    letters = layout.upper()
    pixels = pixels.transpose([letters.index(c) for c in "NHWC" if c in letters])
    if "C" not in letters:
        pixels = pixels[..., None]
    if "N" in letters:
        pixels = _grid(pixels)
    if pixels.shape[-1] == 1:
        pixels = np.repeat(pixels, 3, -1)
    scale = 1.0 if pixels.dtype == np.uint8 else 255.0
    pixels = (pixels.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)
    height, width, channels = pixels.shape
    return value(tag, message(4, whole(1, height), whole(2, width), whole(3, channels), message(4, png(pixels))))


def _grid(pixels: np.ndarray) -> np.ndarray:
    """Pictures ``(n, h, w, c)`` beside and below each other, eight in a row."""
    n, h, w, c = pixels.shape
    columns = min(n, 8)
    rows = -(-n // columns)
    grid = np.zeros((rows * columns, h, w, c), pixels.dtype)
    grid[:n] = pixels
    return grid.reshape(rows, columns, h, w, c).swapaxes(1, 2).reshape(rows * h, columns * w, c)


def png(pixels: np.ndarray) -> bytes:
    """A picture ``(h, w, 3 or 4)`` of bytes, as a PNG file."""
    height, width, channels = pixels.shape
    rows = np.hstack([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)])  # each row unfiltered

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[channels], 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows.tobytes()))
        + chunk(b"IEND", b"")
    )


def figure_pixels(figure: Any, close: bool) -> np.ndarray:
    """A Matplotlib figure as a picture ``(h, w, 4)``."""
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    if close:
        pyplot.close(figure)
    return np.asarray(canvas.buffer_rgba())


def audio(tag: str, x: Any, rate: int) -> bytes:
    """A sound: samples between -1 and 1."""
    samples = (as_array(x).squeeze().clip(-1, 1) * np.iinfo(np.int16).max).astype("<i2")
    if samples.ndim != 1:
        raise AssertionError(f"input tensor should be 1 dimensional.\n  Its shape is {samples.shape}.")
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(samples.tobytes())
    return value(
        tag,
        message(
            6,
            single(1, rate),
            whole(2, 1),
            whole(3, len(samples)),
            message(4, file.getvalue()),
            message(5, "audio/wav"),
        ),
    )


def text(tag: str, words: str) -> bytes:
    """Text, in Markdown."""
    return value(
        f"{tag}/text_summary",
        message(8, whole(1, STRING), message(2, message(2, whole(1, 1))), message(8, words)),
        metadata("text"),
    )


# --- curves and hyperparameters -----------------------------------------------------------------------------


def pr_curve(tag: str, labels: Any, predictions: Any, thresholds: int, weights: Any) -> bytes:
    """Precision and recall of predictions between 0 and 1, for so many thresholds."""
    truth, scores = as_array(labels).reshape(-1).astype(bool), as_array(predictions).reshape(-1)
    weight = np.ones(len(truth)) if weights is None else as_array(weights).reshape(-1)
    n = min(thresholds, 127)
    slot = np.floor(scores * (n - 1)).astype(np.int64)
    true, false = (np.bincount(slot[at], weight[at], n)[::-1].cumsum()[::-1] for at in (truth, ~truth))
    tiny = 1e-7
    rows = [
        true,
        false,
        false[0] - false,
        true[0] - true,
        true / np.maximum(tiny, true + false),
        true / np.maximum(tiny, true[0]),
    ]
    data = np.stack(rows).astype(np.float64)
    shape = message(2, *(message(2, whole(1, size)) for size in data.shape))
    return value(
        tag, message(8, whole(1, FLOAT64), shape, doubles(6, data.reshape(-1))), metadata("pr_curves", whole(2, n))
    )


def charts(layout: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Which scalars to show together (``plugins/custom_scalar/layout.proto``)."""
    categories = []
    for category, given in layout.items():
        parts = [message(1, category)]
        for title, (kind, tags) in given.items():
            if kind == "Margin":
                lines = message(3, message(1, *[message(i, tag) for i, tag in enumerate(tags, 1)]))
            else:
                lines = message(2, *[message(1, tag) for tag in tags])
            parts.append(message(2, message(1, title), lines))
        categories.append(message(2, *parts))
    config = b"".join(categories)
    return value(
        "custom_scalars__config__",
        message(8, whole(1, STRING), message(2), message(8, config)),
        metadata("custom_scalars"),
    )


def hparams(
    hparam_dict: Mapping[str, Any] | None = None,
    metric_dict: Mapping[str, Any] | None = None,
    hparam_domain_discrete: Mapping[str, list[Any]] | None = None,
) -> tuple[bytes, ...]:
    """The three summaries of a session, as loggers of libraries write them."""
    return tuple(hyperparameters(hparam_dict or {}, metric_dict or {}, hparam_domain_discrete or {}))


def hyperparameters(
    given: Mapping[str, Any], metrics: Mapping[str, Any], choices: Mapping[str, list[Any]]
) -> list[bytes]:
    """The three summaries of a session: what there is, how it began, that it ended."""
    infos, values = [], []
    for name, setting in given.items():
        if setting is None:
            continue
        if isinstance(setting, Tensor):
            setting = setting.item()
        kind, worth = _setting(setting)
        domain = message(5, *(message(1, _setting(choice)[1]) for choice in choices[name])) if name in choices else b""
        infos.append(message(4, message(1, name), whole(4, kind), domain))
        values.append(message(1, message(1, name), message(2, worth)))
    names = [message(5, message(1, message(2, name))) for name in metrics]
    parts = {
        "experiment": message(2, *infos, *names),
        "session_start_info": message(3, *values),
        "session_end_info": message(4, whole(1, 1)),
    }
    return [value(f"_hparams_/{tag}", metadata("hparams", part)) for tag, part in parts.items()]


def _setting(x: Any) -> tuple[int, bytes]:
    """A hyperparameter's kind, and its value as ``google.protobuf.Value``."""
    if isinstance(x, str):
        return 1, message(3, x)
    if isinstance(x, bool):
        return 2, whole(4, x)
    if isinstance(x, int | float):
        return 3, double(2, x)
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
