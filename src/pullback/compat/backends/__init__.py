"""``torch.backends``: switches of the libraries that PyTorch may run on; they keep what was set and change nothing."""

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
