"""``SummaryWriter``: logs scalars, histograms, images and so on for TensorBoard."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from . import summaries
from .graph import recorded_graph
from .records import EventFile
from .summaries import as_array

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """An event file, and when it was last flushed."""

    def __init__(
        self, log_dir: str | os.PathLike[str], max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = ""
    ) -> None:
        self.events, self.every, self.flushed = (
            EventFile(os.fspath(log_dir), filename_suffix),
            flush_secs,
            time.monotonic(),
        )

    def get_logdir(self) -> str:
        """The folder."""
        return self.events.folder

    def add_summary(self, summary: bytes, global_step: Any = None, walltime: float | None = None) -> None:
        """Write a summary, as :mod:`.summaries` makes them."""
        self.events.add(summary, None if global_step is None else int(global_step), walltime)
        if time.monotonic() - self.flushed > self.every:
            self.flush()

    def flush(self) -> None:
        """Have on disk what was added."""
        self.events.file.flush()
        self.flushed = time.monotonic()

    def close(self) -> None:
        """Finish the file."""
        self.events.file.close()


class SummaryWriter:
    """Writes event files into a folder.

    Args:
        log_dir: the folder; by default ``runs/DATE_TIME_HOSTNAME`` and the comment.
        comment: see there.
        purge_step: accepted; nothing is purged.
        max_queue: accepted.
        flush_secs: how often to flush, in seconds.
        filename_suffix: for the event file's name.

    Every method takes ``tag``, the name to show it under (a ``/`` makes groups), ``global_step`` and ``walltime``,
    the step and the time it belongs to.

    >>> import tempfile, pullback as torch
    >>> from pullback.utils.tensorboard import SummaryWriter
    >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
    ...     writer.add_scalar("loss", torch.tensor(0.5), 1)
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            log_dir = os.path.join("runs", f"{datetime.now():%b%d_%H-%M-%S}_{socket.gethostname()}{comment}")
        self.log_dir, self._options = os.fspath(log_dir), (max_queue, flush_secs, filename_suffix)
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] = {}
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        if self.file_writer is None:  # anew after `close`
            self.file_writer = self._writer_in(self.log_dir)
        return self.file_writer

    def _writer_in(self, folder: str) -> FileWriter:
        if folder not in self.all_writers:
            self.all_writers[folder] = FileWriter(folder, *self._options)
        return self.all_writers[folder]

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def _add(self, summary: bytes, step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(summary, step, walltime)

    # --- numbers --------------------------------------------------------------------------------------------

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A number: a Python one, or a tensor or array of one element (``double_precision``: as float64)."""
        self._add(summaries.scalar(tag, scalar_value, double_precision), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Several numbers in one plot: each goes into a folder of its own, ``MAIN-TAG_NAME``."""
        for name, number in tag_scalar_dict.items():
            folder = f"{self._get_file_writer().get_logdir()}/{main_tag.replace('/', '_')}_{name}"
            self._writer_in(folder).add_summary(summaries.scalar(main_tag, number), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """How the values of a tensor are distributed; ``bins`` may be whatever ``np.histogram`` takes."""
        self._add(summaries.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """A histogram that has been counted."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        self._add(
            summaries.raw_histogram(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts),
            global_step,
            walltime,
        )

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Precision and recall of predictions (between 0 and 1) of labels (0 or 1)."""
        self._add(summaries.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Hyperparameters of a run, with the metrics it reached, in a folder of its own.

        Raises:
            TypeError: something is no dict, or a choice is of another type than the parameter.
        """
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        for name, choices in (hparam_domain_discrete or {}).items():
            if (
                name not in hparam_dict
                or not isinstance(choices, list)
                or not all(isinstance(c, type(hparam_dict[name])) for c in choices)
            ):
                raise TypeError(
                    f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}]."
                )
        with SummaryWriter(os.path.join(self.log_dir, run_name or str(time.time()))) as run:
            for summary in summaries.hyperparameters(hparam_dict, metric_dict, hparam_domain_discrete or {}):
                run._add(summary, global_step, None)
            for name, number in metric_dict.items():
                run.add_scalar(name, number, global_step)

    # --- pictures, sounds, text -----------------------------------------------------------------------------

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """A picture of 1, 3 or 4 channels, floats from 0 to 1 or bytes; ``dataformats`` names its dimensions."""
        self._add(summaries.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Pictures in a grid, eight in a row."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """A Matplotlib figure, or a list of them, as a picture. It is closed unless told otherwise."""
        several = isinstance(figure, list)
        pixels = [summaries.figure_pixels(f, close) for f in (figure if several else [figure])]
        self.add_image(
            tag, np.stack(pixels) if several else pixels[0], global_step, walltime, "NHWC" if several else "HWC"
        )

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """A sound: samples from -1 to 1."""
        self._add(summaries.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Text, in Markdown."""
        self._add(summaries.text(tag, text_string), global_step, walltime)

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Points ``(n, d)`` for the projector, with a label each: a text, or several under ``metadata_header``."""
        if label_img is not None:
            self._lacks("add_embedding(label_img=...)")
        points = as_array(mat)
        if points.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        if metadata is not None and len(metadata) != len(points):
            raise AssertionError("#labels should equal with #data points")
        inside = f"{str(global_step or 0).zfill(5)}/{tag.replace('%', '%25').replace('/', '%2f')}"
        root = Path(self._get_file_writer().get_logdir())
        (root / inside).mkdir(parents=True, exist_ok=True)
        _write_table(root / inside / "tensors.tsv", points)
        lines = [
            "embeddings {",
            f'  tensor_name: "{tag}:{str(global_step or 0).zfill(5)}"',
            f'  tensor_path: "{inside}/tensors.tsv"',
        ]
        if metadata is not None:
            _write_table(root / inside / "metadata.tsv", [*([metadata_header] if metadata_header else []), *metadata])
            lines.append(f'  metadata_path: "{inside}/metadata.tsv"')
        with open(root / "projector_config.pbtxt", "a", encoding="utf-8") as config:
            config.write("\n".join([*lines, "}\n"]))

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """The graph that autograd records of ``model(*input_to_model)``. ``pullback.explain`` shows more of it."""
        self._get_file_writer().events.add(recorded_graph(model, input_to_model))

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Any]]) -> None:
        """Charts of several scalars: categories of charts, each a kind ("Multiline" or "Margin") and the tags."""
        self._add(summaries.charts(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One chart with a line for each of these scalars."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One chart of a value between two others: the tags of value, lower and upper bound."""
        if len(tags) != 3:
            raise AssertionError("a chart with a margin has three tags: value, lower and upper bound")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    # --- what is not there ----------------------------------------------------------------------------------

    def add_video(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused."""
        self._lacks("add_video")

    add_mesh = add_onnx_graph = add_image_with_boxes = add_pr_curve_raw = add_tensor = add_video

    @staticmethod
    def _lacks(what: str) -> NoReturn:
        raise NotImplementedError(
            f"SummaryWriter.{what} is not in Pullback\n  It has add_scalar(s), add_histogram, add_pr_curve, "
            f"add_hparams, "
            "add_image(s), add_figure, add_audio, add_text, add_embedding, add_graph and add_custom_scalars."
        )

    # --- ending ---------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Have on disk what was added."""
        for writer in self.all_writers.values():
            writer.flush()

    def close(self) -> None:
        """Finish the files. Adding more begins new ones."""
        for writer in self.all_writers.values():
            writer.close()
        self.file_writer, self.all_writers = None, {}

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _write_table(path: Path, rows: Any) -> None:
    cells = [[str(c) for c in row] if isinstance(row, list | tuple | np.ndarray) else [str(row)] for row in rows]
    path.write_text("".join("\t".join(row) + "\n" for row in cells), encoding="utf-8")
