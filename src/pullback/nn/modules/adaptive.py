"""``AdaptiveLogSoftmaxWithLoss``: softmax over very many classes, in clusters by frequency."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ...core.tensor import Tensor
from ...ops.concat import cat
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log softmax with a head for the frequent classes and the clusters of others (Grave et al. 2017).

    Classes are numbered from the most frequent to the rarest. The log probability of a class in a cluster is
    that of the cluster in the head plus that of the class in the cluster, which is computed only for the
    samples concerned.

    Args:
        in_features: size of the input. n_classes: how many classes there are.
        cutoffs: the first class of each cluster.
        div_value: each cluster's inner size is this many times smaller than the one before.
        head_bias: whether the head has a bias.

    Shape:
        ``forward(input, target)``: ``(N, in_features)`` and class numbers ``(N)``, or ``(in_features)`` and
        ``()``; returns the targets' log probabilities as ``output`` and the mean of their negatives as
        ``loss``.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if len(cutoffs) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = all(a < b for a, b in pairwise([0, *cutoffs, n_classes]))
        if not rising or any(int(c) != c for c in cutoffs):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                "where each value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.div_value = in_features, n_classes, div_value
        self.cutoffs, self.head_bias = [*cutoffs, n_classes], head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i, (first, end) in enumerate(pairwise(self.cutoffs)):
            inner = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, inner, False, device, dtype), Linear(inner, end - first, False, device, dtype)
                )
            )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        tail: Any = self.tail
        for linear in (self.head, *(layer for cluster in tail for layer in cluster)):
            linear.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        self._check_sizes(input_, target_)
        batched = target_.dim() > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        in_head, within = target.clone(), input.new_zeros(len(target))
        for i, (first, end) in enumerate(pairwise(self.cutoffs)):
            rows = ((target >= first) & (target < end)).nonzero().squeeze(1)
            if len(rows) > 0:
                in_head[rows] = self.shortlist_size + i
                log_probs = F.log_softmax(self.tail[i](input[rows]), dim=1)
                of_target = log_probs.gather(1, (target[rows] - first).unsqueeze(1)).squeeze(1)
                within = within.index_copy(0, rows, of_target)
        output = within + F.log_softmax(self.head(input), dim=1).gather(1, in_head.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output if batched else output.squeeze(0), (-output).mean())

    def _check_sizes(self, input: Tensor, target: Tensor) -> None:
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.dim() == 1 and input.size(0) != target.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, "
                f"but found inputs with size {input.size()}"
            )
        if ((target < 0) | (target >= self.n_classes)).any():
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )

    def log_prob(self, input: Tensor) -> Tensor:
        """Log probabilities of all classes, ``(N, n_classes)`` for an input ``(N, in_features)``."""
        return self._get_full_log_prob(input, self.head(input))

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head, n = F.log_softmax(head_output, dim=1), self.shortlist_size
        parts = [head[:, :n]]
        for i, cluster in enumerate(self.tail, n):
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, i : i + 1])
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each sample, ``(N)``, without the clusters of samples that need none."""
        head_output = self.head(input)
        output = head_output.argmax(dim=1)
        rows = (output >= self.shortlist_size).nonzero().squeeze(1)
        if len(rows) > 0:
            output[rows] = self._get_full_log_prob(input[rows], head_output[rows]).argmax(dim=1)
        return output
