"""``torch.backends``: switches of the libraries that PyTorch may run on; they keep what was set and change nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

from . import (
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    miopen,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
)

__all__ = [
    "cpu",
    "cuda",
    "cudnn",
    "cusparselt",
    "kleidiai",
    "mha",
    "miopen",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
]

fp32_precision = "none"


@contextmanager
def __allow_nonbracketed_mutation() -> Iterator[None]:
    """A block in which settings may be assigned: here they always may."""
    yield
