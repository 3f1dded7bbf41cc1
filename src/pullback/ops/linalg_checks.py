"""Checks, error messages and batched LAPACK calls for the ops of ``torch.linalg``; ``LinAlgError``.

These ops take matrices in the last two dimensions, ``(..., n, m)``, and treat the leading ones as a batch. Values come
from LAPACK: through NumPy where it has a batched routine, else from SciPy's bindings in a loop. Real and complex
numbers of single and double precision are supported, as in PyTorch; integers and half precision are not.

Derivatives are those of M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008), and of M. Seeger et al., "Auto-differentiating linear algebra" (2017), unless a rule says
otherwise. Each is made of public operations, so that it can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from .. import kernels
from ..base.dtypes import FLOATING, OF_NUMPY, type_name
from ..base.errors import with_notes
from ..core.level import check_values
from ..core.tensor import Tensor
from .complex import resolved_conj as conj
from .reduce import all as every
from .reduce import any as some


class LinAlgError(RuntimeError):
    """A matrix for which the computation has no result: singular, not positive-definite, or not finite.

    >>> import pullback as torch
    >>> try: torch.linalg.inv(torch.zeros(2, 2))
    ... except torch.linalg.LinAlgError: print("singular")
    singular
    """

    __module__ = "torch._C"


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"  # the name in PyTorch's tracebacks and logs

# --- checks -----------------------------------------------------------------------------------------------------


def check_matrix(x: Any, name: str, kernel: str = "") -> None:
    """Refuse all but matrices of a supported dtype. ``kernel`` is the name of PyTorch's routine.

    Raises:
        RuntimeError: for fewer than two dimensions, integers, and (NotImplementedError if there is a kernel) half
            precision.
    """
    if len(x.shape) < 2:
        raise with_notes(
            RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions."),
            f"its shape is {list(x.shape)}",
        )
    check_dtype(x, name, kernel)


def check_dtype(x: Any, name: str, kernel: str = "", half: bool = False) -> None:
    """Refuse unsupported dtypes; half precision is accepted with ``half``."""
    kind = x.dtype if isinstance(x, Tensor) else OF_NUMPY[x.dtype]
    if kind.category < FLOATING:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {type_name(kind)}")
    if kind.itemsize == 2 and not half:
        if kernel:
            check_kernel(x, kernel)
        raise with_notes(
            RuntimeError(f"{name}: Low precision dtypes not supported. Got {type_name(kind)}"),
            "Convert first: x.float().",
        )


def check_kernel(x: Any, kernel: str) -> None:
    """Refuse what one of PyTorch's routines, of that name, does not take: half precision, integers and bools."""
    kind = x.dtype if isinstance(x, Tensor) else OF_NUMPY[x.dtype]
    if kind.category < FLOATING or kind.itemsize == 2:
        raise with_notes(
            NotImplementedError(f"\"{kernel}\" not implemented for '{type_name(kind)}'"), "Convert first: x.float()."
        )


def check_square(x: Any, name: str, kernel: str = "") -> None:
    """:func:`check_matrix`, and refuse matrices that are not square."""
    check_matrix(x, name, kernel)
    n, m = x.shape[-2:]
    if n != m:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {n} by {m} matrices")


def check_info(info: Any, name: str, message: str, error: type[Exception] = LinAlgError) -> None:
    """Raise if LAPACK failed for some matrix of the batch; the message may mention its code as ``{}``."""

    def check(codes: np.ndarray) -> None:
        if np.count_nonzero(codes):
            first = np.flatnonzero(codes)[0]
            where = f"(Batch element {first}): " if codes.ndim else ""
            raise error(f"{name}: {where}{message.format(codes.flat[first])}")

    check_values(check, info._array if isinstance(info, Tensor) else np.asarray(info))


def is_vector(A_shape: Sequence[int], B_shape: Sequence[int]) -> bool:
    """Whether the right side of an equation is a vector (or a batch of vectors) rather than a matrix."""
    return len(B_shape) == 1 or len(A_shape) == len(B_shape) + 1 and tuple(B_shape) == tuple(A_shape[:-1])


# --- LAPACK -----------------------------------------------------------------------------------------------------


@lru_cache(None)
def scipy_linalg() -> Any:
    """``scipy.linalg``, whose library is loaded when it is first needed, and then told how many threads to use."""
    from scipy import linalg

    kernels.limit_libraries()
    return linalg


@lru_cache(None)
def lapack(name: str, dtype: np.dtype) -> Callable:
    """SciPy's binding of a LAPACK routine for numbers of this type."""
    return scipy_linalg().get_lapack_funcs((name,), dtype=dtype)[0]


@lru_cache(None)
def blas(name: str, dtype: np.dtype) -> Callable:
    """The same of a BLAS routine."""
    return scipy_linalg().get_blas_funcs((name,), dtype=dtype)[0]


def run_iterative(routine: Callable, A: np.ndarray, *args: Any, **options: Any) -> Any:
    """Call one of NumPy's iterative routines; with PyTorch's error if it does not converge."""
    try:
        if routine is np.linalg.svd and not np.isfinite(A).all():  # with infinities OpenBLAS may never return
            raise np.linalg.LinAlgError
        return routine(A, *args, **options)
    except np.linalg.LinAlgError:
        name = routine.__name__.strip("_").replace("vals", "")  # eigvalsh: eigh
        why = (
            "contained non-finite values"
            if name == "svd"
            else "is ill-conditioned or has too many repeated eigenvalues"
        )
        raise LinAlgError(f"linalg.{name}: The algorithm failed to converge because the input matrix {why}.") from None


def for_each_matrix(
    routine: Callable, arrays: Sequence[Any], results: Sequence[np.ndarray], batch: Sequence[int]
) -> None:
    """Call a routine for every matrix of a batch, and store its outputs in ``results``."""
    for i in product(*map(range, batch)):
        for into, value in zip(results, routine(*[a[i] for a in arrays])):
            into[i] = value


# --- for rules --------------------------------------------------------------------------------------------------


def adjoint(x: Any) -> Any:
    """The conjugate transpose of a tensor or an array."""
    return conj(x.mT)


def numpy_dtype(x: Any) -> np.dtype:
    """NumPy's name of the type of a tensor or an array."""
    return getattr(x.dtype, "numpy", x.dtype)


def identity(like: Any, n: int, m: int | None = None) -> np.ndarray:
    """An identity matrix (n x m) in the dtype of a tensor or an array."""
    m = n if m is None else m
    out = np.zeros((n, m), numpy_dtype(like))
    out.reshape(-1)[: m * m : m + 1] = 1
    return out


def is_undefined(g: Any) -> bool:
    """Whether a gradient is only the zero placeholder of an output that was not used."""
    return not getattr(g, "requires_grad", False) and not bool(some(g != 0))


def check_phase(imaginary: Any, name: str, vectors: str) -> None:
    """Refuse a loss that depends on the phases of complex vectors, which are arbitrary."""
    if not bool(every(abs(imaginary) <= 1e-2)):
        raise RuntimeError(
            f"{name}: The {vectors} in the complex case are specified up to multiplication by e^{{i phi}}. The "
            "specified loss function depends on this quantity, so it is ill-defined."
        )
