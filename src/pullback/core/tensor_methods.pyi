# Written by scripts/stubs.py.
"""What operations add to ``Tensor`` where they are declared: its base, to type checkers."""

from builtins import bool as _bool, float as _float, int as _int, type as _type
from collections.abc import Callable, Sequence
import numpy as np
from types import EllipsisType
from typing import Any, Literal, Self, SupportsIndex, TypeAlias, overload
from .. import return_types
from ..base.device import Layout, MemoryFormat, device
from ..base.dtypes import dtype
from ..base.shape import Size
from ..core.tensor import Tensor
from ..ops.random import Generator
from ..ops.storage import TypedStorage, UntypedStorage

Device: TypeAlias = device | str | int
Dims: TypeAlias = int | Sequence[int]
Number: TypeAlias = complex | np.number | np.bool
Operand: TypeAlias = Tensor | Number | np.ndarray
Index: TypeAlias = SupportsIndex | slice | EllipsisType | None | Tensor | np.ndarray | list[Any] | tuple[Any, ...]
Outs: TypeAlias = tuple[Tensor, ...] | list[Tensor]

class TensorMethods:
    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix."""
    @property
    def T(self) -> Tensor:
        """The dimensions in reverse order."""
    def __abs__(self) -> Tensor:
        """Absolute value: the distance from 0, real for complex numbers. Derivative: ``sgn(input)``, so 0 at 0."""
    def __add__(self, other: Operand) -> Tensor: ...
    def __and__(self, other: Operand) -> Tensor: ...
    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: _bool = False) -> Tensor:
        """What NumPy's functions return when they are handed a tensor."""
    def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __floordiv__(self, other: Operand) -> Tensor: ...
    def __ge__(self, other: Operand) -> Tensor: ...
    def __getitem__(self, index: Index) -> Tensor:
        """``self[index]``; see the module's docstring."""
    def __gt__(self, other: Operand) -> Tensor: ...
    def __iadd__(self, other: Operand) -> Self: ...
    def __iand__(self, other: Operand) -> Self:
        """In-place version of `bitwise_and`: writes into this tensor, in its type, returns it."""
    def __ifloordiv__(self, other: Operand) -> Self: ...
    def __ilshift__(self, other: Operand) -> Self:
        """In-place version of `bitwise_left_shift`: writes into this tensor, in its type, returns it."""
    def __imod__(self, other: Operand) -> Self: ...
    def __imul__(self, other: Operand) -> Self: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Operand) -> Self:
        """In-place version of `bitwise_or`: writes into this tensor, in its type, returns it."""
    def __ipow__(self, other: Operand) -> Self: ...
    def __irshift__(self, other: Operand) -> Self:
        """In-place version of `bitwise_right_shift`: writes into this tensor, in its type, returns it."""
    def __isub__(self, other: Operand) -> Self: ...
    def __itruediv__(self, other: Operand) -> Self: ...
    def __ixor__(self, other: Operand) -> Self:
        """In-place version of `bitwise_xor`: writes into this tensor, in its type, returns it."""
    def __le__(self, other: Operand) -> Tensor: ...
    def __lshift__(self, other: Operand) -> Tensor: ...
    def __lt__(self, other: Operand) -> Tensor: ...
    def __matmul__(self, other: Operand) -> Tensor: ...
    def __mod__(self, other: Operand) -> Tensor: ...
    def __mul__(self, other: Operand) -> Tensor: ...
    def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor:
        """``-input``."""
    def __or__(self, other: Operand) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: Operand) -> Tensor: ...
    def __radd__(self, other: Operand) -> Tensor: ...
    def __rand__(self, other: Operand) -> Tensor: ...
    def __rdiv__(self, other: Operand) -> Tensor:
        """PyTorch's ``Tensor.__rdiv__``."""
    def __reversed__(self) -> Tensor:
        """``reversed(x)``: the order along dimension 0 reversed."""
    def __rfloordiv__(self, other: Operand) -> Tensor: ...
    def __rlshift__(self, other: Operand) -> Tensor: ...
    def __rmatmul__(self, other: Operand) -> Tensor: ...
    def __rmod__(self, other: Operand) -> Tensor: ...
    def __rmul__(self, other: Operand) -> Tensor: ...
    def __ror__(self, other: Operand) -> Tensor: ...
    def __rpow__(self, other: Operand) -> Tensor: ...
    def __rrshift__(self, other: Operand) -> Tensor: ...
    def __rshift__(self, other: Operand) -> Tensor: ...
    def __rsub__(self, other: Operand) -> Tensor: ...
    def __rtruediv__(self, other: Operand) -> Tensor: ...
    def __rxor__(self, other: Operand) -> Tensor: ...
    def __setitem__(self, index: Index, value: Operand) -> None:
        """``self[index] = value``: a number, or a tensor or array that broadcasts to ``self[index]``."""
    def __sub__(self, other: Operand) -> Tensor: ...
    def __truediv__(self, other: Operand) -> Tensor: ...
    def __xor__(self, other: Operand) -> Tensor: ...
    def _coalesced_(self, coalesced: _bool) -> Self:
        """In-place version of `_coalesced`: writes into this tensor, in its type, returns it."""
    def _indices(self) -> Tensor:
        """PyTorch's ``Tensor._indices``."""
    def _nnz(self) -> _int:
        """PyTorch's ``Tensor._nnz``."""
    def _typed_storage(self) -> TypedStorage:
        """The memory of this tensor, which other tensors may share, as elements of its type."""
    def _values(self) -> Tensor:
        """PyTorch's ``Tensor._values``."""
    def abs(self) -> Tensor:
        """Absolute value: the distance from 0, real for complex numbers. Derivative: ``sgn(input)``, so 0 at 0."""
    def abs_(self) -> Self:
        """In-place version of `abs`, of real numbers: writes into this tensor and returns it."""
    def absolute(self) -> Tensor:
        """Absolute value: the distance from 0, real for complex numbers. Derivative: ``sgn(input)``, so 0 at 0."""
    def absolute_(self) -> Self:
        """In-place version of `abs`, of real numbers: writes into this tensor and returns it."""
    def acos(self) -> Tensor:
        """Angle in ``[0, pi]`` whose cosine this is; NaN outside ``[-1, 1]``."""
    def acos_(self) -> Self:
        """In-place version of `acos`: writes the result into this tensor and returns it."""
    def acosh(self) -> Tensor:
        """Inverse of `cosh`; NaN below 1. Derivative: ``1 / sqrt(input ** 2 - 1)``."""
    def acosh_(self) -> Self:
        """In-place version of `acosh`: writes the result into this tensor and returns it."""
    def add(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """``input + alpha * other``, element by element."""
    def add_(self, other: Tensor | Number, *, alpha: Number = 1) -> Self:
        """In-place version of `add`."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """``beta * input + alpha *`` the sum of the products of two batches, ``(b, n, k)`` and ``(b, k, m)``."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, beta: Number = 1, alpha: Number = 1) -> Self:
        """In-place version of `addbmm`: writes the result into this tensor and returns it."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | Number = 1) -> Tensor:
        """``input + value * tensor1 / tensor2``; the tensors that are divided may not both be integers."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | Number = 1) -> Self:
        """In-place version of `addcdiv`."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | Number = 1) -> Tensor:
        """``input + value * tensor1 * tensor2``."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Tensor | Number = 1) -> Self:
        """In-place version of `addcmul`."""
    def addmm(self, mat1: Tensor, mat2: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """``beta * input + alpha * (mat1 @ mat2)``."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, beta: Number = 1, alpha: Number = 1) -> Self:
        """In-place version of `addmm`: writes the result into this tensor and returns it."""
    def addmv(self, mat: Tensor, vec: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """``beta * input + alpha * (mat @ vec)``, for a matrix ``(n, k)`` and a vector ``(k,)``."""
    def addmv_(self, mat: Tensor, vec: Tensor, beta: Number = 1, alpha: Number = 1) -> Self:
        """In-place version of `addmv`: writes the result into this tensor and returns it."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """``beta * input + alpha * outer(vec1, vec2)``."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Self:
        """In-place version of `addr`."""
    def adjoint(self) -> Tensor:
        """The last two dimensions exchanged, and conjugated."""
    def all(self, dim: Dims | None = None, keepdim: _bool = False) -> Tensor:
        """Whether all elements, or all along some dimensions, are not 0. The result is bool (uint8 of uint8)."""
    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Whether all elements are close; see `isclose`. A Python bool."""
    def amax(self, dim: Dims | None = None, keepdim: _bool = False) -> Tensor:
        """The largest elements, of all or along dimensions (an int or several). Equal ones share the gradient."""
    def amin(self, dim: Dims | None = None, keepdim: _bool = False) -> Tensor:
        """The smallest elements, of all or along dimensions (an int or several). Equal ones share the gradient."""
    def aminmax(self, dim: _int | None = None, keepdim: _bool = False) -> return_types.aminmax:
        """`amin` and `amax` at once, of all elements or along one dimension."""
    def angle(self) -> Tensor:
        """The angle of a complex number from the positive real axis; of a real number 0 or pi, by its sign."""
    def any(self, dim: Dims | None = None, keepdim: _bool = False) -> Tensor:
        """Whether some element, or some along dimensions, is not 0. The result is bool (uint8 of uint8)."""
    def apply_(self, callable: Callable[[Any], Any]) -> Self:
        """Replace each element, in place, by what a Python function makes of it."""
    def arccos(self) -> Tensor:
        """Angle in ``[0, pi]`` whose cosine this is; NaN outside ``[-1, 1]``."""
    def arccos_(self) -> Self:
        """In-place version of `acos`: writes the result into this tensor and returns it."""
    def arccosh(self) -> Tensor:
        """Inverse of `cosh`; NaN below 1. Derivative: ``1 / sqrt(input ** 2 - 1)``."""
    def arccosh_(self) -> Self:
        """In-place version of `acosh`: writes the result into this tensor and returns it."""
    def arcsin(self) -> Tensor:
        """Angle in ``[-pi/2, pi/2]`` whose sine this is; NaN outside ``[-1, 1]``."""
    def arcsin_(self) -> Self:
        """In-place version of `asin`: writes the result into this tensor and returns it."""
    def arcsinh(self) -> Tensor:
        """Inverse of `sinh`. Derivative: ``1 / sqrt(input ** 2 + 1)``."""
    def arcsinh_(self) -> Self:
        """In-place version of `asinh`: writes the result into this tensor and returns it."""
    def arctan(self) -> Tensor:
        """Angle in ``[-pi/2, pi/2]`` whose tangent this is. Derivative: ``1 / (1 + input ** 2)``."""
    def arctan2(self, other: Tensor | Number) -> Tensor:
        """Angle of the point ``(other, input)`` from the positive first axis, in ``[-pi, pi]``."""
    def arctan2_(self, other: Tensor | Number) -> Self:
        """In-place version of `atan2`: writes the result into this tensor and returns it."""
    def arctan_(self) -> Self:
        """In-place version of `atan`: writes the result into this tensor and returns it."""
    def arctanh(self) -> Tensor:
        """Inverse of `tanh`; NaN outside ``[-1, 1]``. Derivative: ``1 / (1 - input ** 2)``."""
    def arctanh_(self) -> Self:
        """In-place version of `atanh`: writes the result into this tensor and returns it."""
    def argmax(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """The index of the largest element, the first of equal ones, in the flattened tensor or along ``dim``."""
    def argmin(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """The index of the smallest element, the first of equal ones, in the flattened tensor or along ``dim``."""
    def argsort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
        """The indices that sort along a dimension in ascending (or descending) order."""
    def argwhere(self) -> Tensor:
        """The indices of the elements that are not 0, a row for each."""
    def as_strided(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """A view of the input's memory with these sizes and strides, counted in elements."""
    def as_strided_(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Self:
        """In-place version of `as_strided`: the memory stays, the shape changes."""
    def as_strided_scatter(
        self,
        src: Tensor,
        size: Sequence[_int],
        stride: Sequence[_int],
        storage_offset: _int | None = None,
    ) -> Tensor:
        """A contiguous copy of the input in which ``as_strided(size, stride, storage_offset)`` is ``src``."""
    def asin(self) -> Tensor:
        """Angle in ``[-pi/2, pi/2]`` whose sine this is; NaN outside ``[-1, 1]``."""
    def asin_(self) -> Self:
        """In-place version of `asin`: writes the result into this tensor and returns it."""
    def asinh(self) -> Tensor:
        """Inverse of `sinh`. Derivative: ``1 / sqrt(input ** 2 + 1)``."""
    def asinh_(self) -> Self:
        """In-place version of `asinh`: writes the result into this tensor and returns it."""
    def atan(self) -> Tensor:
        """Angle in ``[-pi/2, pi/2]`` whose tangent this is. Derivative: ``1 / (1 + input ** 2)``."""
    def atan2(self, other: Tensor | Number) -> Tensor:
        """Angle of the point ``(other, input)`` from the positive first axis, in ``[-pi, pi]``."""
    def atan2_(self, other: Tensor | Number) -> Self:
        """In-place version of `atan2`: writes the result into this tensor and returns it."""
    def atan_(self) -> Self:
        """In-place version of `atan`: writes the result into this tensor and returns it."""
    def atanh(self) -> Tensor:
        """Inverse of `tanh`; NaN outside ``[-1, 1]``. Derivative: ``1 / (1 - input ** 2)``."""
    def atanh_(self) -> Self:
        """In-place version of `atanh`: writes the result into this tensor and returns it."""
    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: _bool | None = None,
        create_graph: _bool = False,
        inputs: Any = None,
    ) -> None:
        """Pull ``gradient`` back through the graph; leaves accumulate what reaches them in ``.grad``."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """``beta * input + alpha * bmm(batch1, batch2)``."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, beta: Number = 1, alpha: Number = 1) -> Self:
        """In-place version of `baddbmm`: writes the result into this tensor and returns it."""
    def bernoulli(self, p: _float | None = None, *, generator: Generator | None = None) -> Tensor:
        """1 with the probability that ``input`` says element by element (or ``p`` everywhere), else 0, in
        ``input``'s type."""
    def bernoulli_(self, p: _float | Tensor = 0.5, *, generator: Generator | None = None) -> Self:
        """Fill this tensor with 1 with probability ``p`` (a number, or a tensor that broadcasts), else 0. Returns
        it."""
    def bfloat16(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """This tensor as ``torch.bfloat16``; itself if it has that type already."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each number from 0 occurs in a 1-d tensor of integers, or the sum of the weights there."""
    def bitwise_and(self, other: Tensor | Number) -> Tensor:
        """Bits set in both, of integers; logical AND of bools; the operator ``&``."""
    def bitwise_and_(self, other: Tensor | Number) -> Self:
        """In-place version of `bitwise_and`: writes into this tensor, in its type, returns it."""
    def bitwise_left_shift(self, other: Tensor | Number) -> Tensor:
        """``input * 2 ** other``, of integers, as far as the bits go; the operator ``<<``."""
    def bitwise_left_shift_(self, other: Tensor | Number) -> Self:
        """In-place version of `bitwise_left_shift`: writes into this tensor, in its type, returns it."""
    def bitwise_not(self) -> Tensor:
        """Every bit flipped, of integers; logical NOT of bools; the operator ``~``."""
    def bitwise_not_(self) -> Self:
        """In-place version of `bitwise_not`: writes into this tensor, in its type, returns it."""
    def bitwise_or(self, other: Tensor | Number) -> Tensor:
        """Bits set in either, of integers; logical OR of bools; the operator ``|``."""
    def bitwise_or_(self, other: Tensor | Number) -> Self:
        """In-place version of `bitwise_or`: writes into this tensor, in its type, returns it."""
    def bitwise_right_shift(self, other: Tensor | Number) -> Tensor:
        """``input`` divided by ``2 ** other`` and rounded down, of integers; the operator ``>>``."""
    def bitwise_right_shift_(self, other: Tensor | Number) -> Self:
        """In-place version of `bitwise_right_shift`: writes into this tensor, in its type, returns it."""
    def bitwise_xor(self, other: Tensor | Number) -> Tensor:
        """Bits set in exactly one, of integers; logical XOR of bools; the operator ``^``."""
    def bitwise_xor_(self, other: Tensor | Number) -> Self:
        """In-place version of `bitwise_xor`: writes into this tensor, in its type, returns it."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """Products of the matrices of two batches, ``(b, n, k)`` and ``(b, k, m)``; no broadcasting."""
    def bool(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """This tensor as ``torch.bool``; itself if it has that type already."""
    @overload
    def broadcast_to(self, *size: _int) -> Tensor:
        """The same as `expand`."""
    @overload
    def broadcast_to(self, size: Sequence[_int]) -> Tensor: ...
    def byte(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """This tensor as ``torch.byte``; itself if it has that type already."""
    def cauchy_(self, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fill this tensor with Cauchy numbers. Returns it."""
    def ccol_indices(self) -> Tensor:
        """Where each line of the matrix begins."""
    def cdouble(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """This tensor as ``torch.cdouble``; itself if it has that type already."""
    def ceil(self) -> Tensor:
        """The smallest integer not below. Derivative: 0."""
    def ceil_(self) -> Self:
        """In-place version of `ceil`: writes the result into this tensor and returns it."""
    def cfloat(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """This tensor as ``torch.cfloat``; itself if it has that type already."""
    def chalf(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """This tensor as ``torch.chalf``; itself if it has that type already."""
    def char(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """This tensor as ``torch.char``; itself if it has that type already."""
    def cholesky(self, upper: _bool = False) -> Tensor:
        """Deprecated: see `torch.linalg.cholesky`."""
    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """The inverse of A, given its Cholesky factor: of ``L @ L.mH``, or of ``U.mH @ U`` if ``upper``."""
    def cholesky_solve(self, L: Tensor, upper: _bool = False) -> Tensor:
        """Solutions of ``A X = input``, given the Cholesky factor of A."""
    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """At most ``chunks`` consecutive pieces along ``dim``, all of one size but the last."""
    def clamp(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """Each element clamped between ``min`` and ``max`` (to ``max``, where they cross)."""
    def clamp_(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Self:
        """In-place version of `clamp`."""
    def clamp_max(self, max: Tensor | Number) -> Tensor:
        """The smaller of the element and ``max``, a number or a tensor; see `clamp`."""
    def clamp_max_(self, max: Tensor | Number) -> Self:
        """In-place version of `clamp_max`."""
    def clamp_min(self, min: Tensor | Number) -> Tensor:
        """The larger of the element and ``min``, a number or a tensor; see `clamp`."""
    def clamp_min_(self, min: Tensor | Number) -> Self:
        """In-place version of `clamp_min`."""
    def clip(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """Each element clamped between ``min`` and ``max`` (to ``max``, where they cross)."""
    def clip_(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Self:
        """In-place version of `clamp`."""
    def clone(self, memory_format: MemoryFormat = ...) -> Tensor:
        """A copy, through which gradients flow back."""
    def coalesce(self) -> Tensor:
        """Each index once, sorted, with the sum of its values; the tensor itself if it is coalesced."""
    def col_indices(self) -> Tensor:
        """The other index of each value or block."""
    def conj(self) -> Tensor:
        """Complex conjugate, a view: writing into either changes the other. The tensor itself where it is real."""
    def conj_physical(self) -> Tensor:
        """Complex conjugate, a new tensor; the tensor itself where it is real."""
    def conj_physical_(self) -> Self:
        """In-place version of `conj_physical`."""
    def contiguous(self, memory_format: MemoryFormat = ...) -> Tensor:
        """This tensor if it is contiguous, else a contiguous copy."""
    def copy_(self, src: Operand, non_blocking: _bool = False) -> Self:
        """Write the elements of ``src`` (broadcast, cast) into this tensor. Returns it."""
    def copysign(self, other: Tensor | Number) -> Tensor:
        """The size of ``input`` with the sign of ``other``."""
    def copysign_(self, other: Tensor | Number) -> Self:
        """In-place version of `copysign`: writes the result into this tensor and returns it."""
    def corrcoef(self) -> Tensor:
        """The correlations of variables (rows) over observations (columns): `cov` with 1 on the diagonal."""
    def cos(self) -> Tensor:
        """Cosine, of radians. Derivative: minus the sine."""
    def cos_(self) -> Self:
        """In-place version of `cos`: writes the result into this tensor and returns it."""
    def cosh(self) -> Tensor:
        """Hyperbolic cosine. Derivative: the hyperbolic sine."""
    def cosh_(self) -> Self:
        """In-place version of `cosh`: writes the result into this tensor and returns it."""
    def count_nonzero(self, dim: Dims | None = None) -> Tensor:
        """How many elements, all or along dimensions, are not 0."""
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariances of variables (rows) over observations (columns)."""
    def cpu(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """This tensor, which is on the CPU already; on ``meta``: NotImplementedError."""
    def cross(self, other: Tensor, dim: _int | None = None) -> Tensor:
        """Vector product along a dimension of size 3, by default the first such."""
    def crow_indices(self) -> Tensor:
        """Where each line of the matrix begins."""
    def cuda(
        self,
        device: Device | None = None,
        non_blocking: _bool = False,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """Raises: there is no such device."""
    def cummax(self, dim: _int) -> return_types.cummax:
        """The largest element so far along a dimension, and where it was last. After NaN all is NaN."""
    def cummin(self, dim: _int) -> return_types.cummin:
        """The smallest element so far along a dimension, and where it was last. After NaN all is NaN."""
    def cumprod(self, dim: _int, dtype: dtype | None = None) -> Tensor:
        """The running product along a dimension, of bools and integers in int64 unless ``dtype`` says otherwise."""
    def cumprod_(self, dim: _int, dtype: dtype | None = None) -> Self:
        """In-place version of `cumprod`: writes the result into this tensor and returns it."""
    def cumsum(self, dim: _int, dtype: dtype | None = None) -> Tensor:
        """The running sum along a dimension, of bools and integers in int64 unless ``dtype`` says otherwise."""
    def cumsum_(self, dim: _int, dtype: dtype | None = None) -> Self:
        """In-place version of `cumsum`: writes the result into this tensor and returns it."""
    def data_ptr(self) -> _int:
        """The address of the first element."""
    def deg2rad(self) -> Tensor:
        """``input * pi / 180``."""
    def deg2rad_(self) -> Self:
        """In-place version of `deg2rad`: writes the result into this tensor and returns it."""
    def dense_dim(self) -> _int:
        """PyTorch's ``Tensor.dense_dim``."""
    def det(self) -> Tensor:
        """The same as `torch.linalg.det`."""
    def diag(self, diagonal: _int = 0) -> Tensor:
        """A matrix with this diagonal for a 1-d tensor, a copy of its diagonal for a matrix."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Matrices in two new dimensions, with the input's last dimension down a diagonal and 0 elsewhere."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """A matrix with the flattened input as a diagonal."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """The elements whose index in ``dim2`` is that in ``dim1`` plus ``offset``, along a new last dimension."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A copy of the input in which ``input.diagonal(offset, dim1, dim2)`` is ``src``."""
    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
        """``n``-th differences of neighbours along a dimension; exclusive or for bools."""
    def digamma(self) -> Tensor:
        """Derivative of `lgamma`; NaN at the poles -1, -2, ..., and minus infinity at 0."""
    def digamma_(self) -> Self:
        """In-place version of `digamma`: writes the result into this tensor and returns it."""
    def dim(self) -> _int:
        """The number of dimensions."""
    def dim_order(self) -> tuple[_int, ...]:
        """The dimensions, from the outermost in memory to the innermost."""
    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """The ``p``-norm of ``input - other``, which broadcast."""
    def div(self, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
        """Quotient, element by element."""
    def div_(self, other: Tensor | Number, *, rounding_mode: str | None = None) -> Self:
        """In-place version of `div`."""
    def divide(self, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
        """Quotient, element by element."""
    def divide_(self, other: Tensor | Number, *, rounding_mode: str | None = None) -> Self:
        """In-place version of `div`."""
    def dot(self, tensor: Tensor) -> Tensor:
        """Sum of the products of the elements of two vectors. Complex numbers are not conjugated: see `vdot`."""
    def double(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """This tensor as ``torch.double``; itself if it has that type already."""
    def dsplit(self, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
        """`tensor_split` along dimension 2, into equal pieces."""
    def element_size(self) -> _int:
        """How many bytes an element takes."""
    def eq(self, other: Tensor | Number) -> Tensor:
        """Whether elements are equal, as bool; the operator ``==``."""
    def eq_(self, other: Tensor | Number) -> Self:
        """In-place version of `eq`: writes into this tensor, in its type, returns it."""
    def equal(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape and equal elements. A Python bool; NaN equals nothing."""
    def erf(self) -> Tensor:
        """Error function ``2/sqrt(pi) * integral of exp(-t*t) from 0 to input`` (DLMF 7.2.1)."""
    def erf_(self) -> Self:
        """In-place version of `erf`: writes the result into this tensor and returns it."""
    def erfc(self) -> Tensor:
        """``1 - erf(input)``, accurate for large input."""
    def erfc_(self) -> Self:
        """In-place version of `erfc`: writes the result into this tensor and returns it."""
    def erfinv(self) -> Tensor:
        """Inverse of `erf`; NaN outside ``[-1, 1]``. Derivative: ``sqrt(pi)/2 * exp(out ** 2)``."""
    def erfinv_(self) -> Self:
        """In-place version of `erfinv`: writes the result into this tensor and returns it."""
    def exp(self) -> Tensor:
        """``e ** input``. Derivative: the result itself."""
    def exp2(self) -> Tensor:
        """``2 ** input``. Derivative: ``out * ln 2``."""
    def exp2_(self) -> Self:
        """In-place version of `exp2`: writes the result into this tensor and returns it."""
    def exp_(self) -> Self:
        """In-place version of `exp`: writes the result into this tensor and returns it."""
    @overload
    def expand(self, *size: _int) -> Tensor:
        """Dimensions of size 1 stretched to ``size``, and new ones in front, without copying. -1 keeps a size."""
    @overload
    def expand(self, size: Sequence[_int]) -> Tensor: ...
    def expand_as(self, other: Tensor) -> Tensor:
        """``input.expand(other.shape)``."""
    def expm1(self) -> Tensor:
        """``e ** input - 1``, without the cancellation near 0. Derivative: ``exp(input)``."""
    def expm1_(self) -> Self:
        """In-place version of `expm1`: writes the result into this tensor and returns it."""
    def exponential_(self, lambd: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fill this tensor with exponential numbers of rate ``lambd``. Returns it."""
    def fill_(self, value: Tensor | Number) -> Self:
        """Write one number (or the value of a 0-d tensor) everywhere into this tensor. Returns it."""
    def fill_diagonal_(self, fill_value: Number, wrap: _bool = False) -> Self:
        """Write one number down the main diagonal of this tensor: where all indices are the same. Returns it."""
    def fix(self) -> Tensor:
        """Rounded to zero. Derivative: 0."""
    def fix_(self) -> Self:
        """In-place version of `trunc`: writes the result into this tensor and returns it."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """The dimensions from ``start_dim`` through ``end_dim`` flattened to one. A 0-d tensor becomes 1-d."""
    @overload
    def flip(self, *dims: _int) -> Tensor:
        """The order along these dimensions reversed."""
    @overload
    def flip(self, dims: Sequence[_int]) -> Tensor: ...
    def fliplr(self) -> Tensor:
        """Left and right exchanged: dimension 1 reversed."""
    def flipud(self) -> Tensor:
        """Up and down exchanged: dimension 0 reversed."""
    def float(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """This tensor as ``torch.float``; itself if it has that type already."""
    def float_power(self, exponent: Tensor | Number) -> Tensor:
        """``input ** exponent`` in float64 (complex128 for complex)."""
    def float_power_(self, exponent: Tensor | Number) -> Self:
        """In-place version of `float_power`, for tensors that are float64 or complex128 already."""
    def floor(self) -> Tensor:
        """The largest integer not above. Derivative: 0."""
    def floor_(self) -> Self:
        """In-place version of `floor`: writes the result into this tensor and returns it."""
    def floor_divide(self, other: Tensor | Number) -> Tensor:
        """Quotient rounded down, element by element; the operator ``//``."""
    def floor_divide_(self, other: Tensor | Number) -> Self:
        """In-place version of `floor_divide`: writes the result into this tensor and returns it."""
    def fmax(self, other: Tensor | Number) -> Tensor:
        """The larger of two, element by element, rather than NaN. Of equal ones the first has the gradient."""
    def fmin(self, other: Tensor | Number) -> Tensor:
        """The smaller of two, element by element, rather than NaN. Of equal ones the first has the gradient."""
    def fmod(self, other: Tensor | Number) -> Tensor:
        """Remainder with the sign of the dividend, as C's ``fmod``."""
    def fmod_(self, other: Tensor | Number) -> Self:
        """In-place version of `fmod`: writes the result into this tensor and returns it."""
    def frac(self) -> Tensor:
        """The fractional part, ``input - trunc(input)``. Derivative: 1."""
    def frac_(self) -> Self:
        """In-place version of `frac`: writes the result into this tensor and returns it."""
    def frexp(self) -> return_types.frexp:
        """``mantissa * 2 ** exponent == input`` with the mantissa's size in ``[0.5, 1)``."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """Elements of the input selected along ``dim`` by ``index``: ``out[i, j] = input[i, index[i, j]]`` for dim
        1."""
    def gcd(self, other: Tensor | Number) -> Tensor:
        """Greatest common divisor of integers; of 0 and 0 it is 0."""
    def gcd_(self, other: Tensor | Number) -> Self:
        """In-place version of `gcd`: writes into this tensor, in its type, returns it."""
    def ge(self, other: Tensor | Number) -> Tensor:
        """Whether ``input >= other``, element by element, as bool."""
    def ge_(self, other: Tensor | Number) -> Self:
        """In-place version of `ge`: writes into this tensor, in its type, returns it."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Self:
        """Fill this tensor with geometric numbers of probability ``p``. Returns it."""
    def geqrf(self) -> return_types.geqrf:
        """The QR decomposition in LAPACK's form: R in the upper triangle of ``a``, below it and in ``tau`` the
        reflections whose product is Q (see `orgqr`). Not differentiable."""
    def ger(self, vec2: Tensor) -> Tensor:
        """All products of the elements of two vectors: ``(n,)`` and ``(m,)`` give ``(n, m)``."""
    def get_device(self) -> _int:
        """The number of the tensor's device: -1, the CPU."""
    def greater(self, other: Tensor | Number) -> Tensor:
        """Whether ``input > other``, element by element, as bool."""
    def greater_(self, other: Tensor | Number) -> Self:
        """In-place version of `gt`: writes into this tensor, in its type, returns it."""
    def greater_equal(self, other: Tensor | Number) -> Tensor:
        """Whether ``input >= other``, element by element, as bool."""
    def greater_equal_(self, other: Tensor | Number) -> Self:
        """In-place version of `ge`: writes into this tensor, in its type, returns it."""
    def gt(self, other: Tensor | Number) -> Tensor:
        """Whether ``input > other``, element by element, as bool."""
    def gt_(self, other: Tensor | Number) -> Self:
        """In-place version of `gt`: writes into this tensor, in its type, returns it."""
    def half(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """This tensor as ``torch.half``; itself if it has that type already."""
    def hardshrink(self, lambd: _float = 0.5) -> Tensor:
        """``input`` where its size is above ``lambd``, else 0."""
    def hash_tensor(self, dim: Dims = (), keepdim: _bool = False, mode: _int = 0) -> Tensor:
        """All bits of the elements, as 64-bit floats or integers, combined by exclusive or; uint64."""
    def heaviside(self, values: Tensor) -> Tensor:
        """0 below 0, 1 above, and ``values`` at 0. It has no derivative."""
    def heaviside_(self, values: Tensor) -> Self:
        """In-place version of `heaviside`: writes the result into this tensor and returns it."""
    def histc(self, bins: _int = 100, min: Tensor | Number = 0, max: Tensor | Number = 0) -> Tensor:
        """How many elements fall into equal bins from ``min`` to ``max`` (both 0: those of the input)."""
    def histogram(
        self,
        bins: _int | Tensor | Sequence[_float] = 100,
        *,
        range: Sequence[_float] | None = None,
        weight: Tensor | None = None,
        density: _bool = False,
    ) -> return_types.histogram:
        """Count elements in bins."""
    def hsplit(self, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
        """`tensor_split` along dimension 1 (0 if there is one only), into equal pieces."""
    def hypot(self, other: Tensor | Number) -> Tensor:
        """``sqrt(input ** 2 + other ** 2)`` without overflow."""
    def hypot_(self, other: Tensor | Number) -> Self:
        """In-place version of `hypot`: writes the result into this tensor and returns it."""
    def i0(self) -> Tensor:
        """Modified Bessel function of the first kind, of order 0. Derivative: order 1."""
    def i0_(self) -> Self:
        """In-place version of `i0`: writes the result into this tensor and returns it."""
    def igamma(self, other: Tensor | Number) -> Tensor:
        """Regularized lower incomplete gamma function ``P(a, x)`` (DLMF 8.2.4), ``a = input`` and ``x = other``."""
    def igamma_(self, other: Tensor | Number) -> Self:
        """In-place version of `igamma`: writes the result into this tensor and returns it."""
    def igammac(self, other: Tensor | Number) -> Tensor:
        """Regularized upper incomplete gamma function, ``1 - igamma(input, other)``."""
    def igammac_(self, other: Tensor | Number) -> Self:
        """In-place version of `igammac`: writes the result into this tensor and returns it."""
    @property
    def imag(self) -> Tensor:
        """The imaginary part, sharing memory. Also the attribute ``x.imag``."""
    @imag.setter
    def imag(self, value: Operand) -> None: ...
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
        """``input`` with ``alpha`` times the slices of ``source`` added to its slices ``index`` across ``dim``."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Self:
        """In-place version of `index_add`: writes into this tensor and returns it."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """``input`` with its slices ``index`` across ``dim`` replaced by those of ``source``."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Self:
        """In-place version of `index_copy`: writes into this tensor and returns it."""
    def index_fill(self, dim: _int, index: Tensor, value: Tensor | Number) -> Tensor:
        """``input`` with its slices ``index`` across ``dim`` filled with a number or a 0-d tensor."""
    def index_fill_(self, dim: _int, index: Tensor, value: Tensor | Number) -> Self:
        """In-place version of `index_fill`: writes into this tensor and returns it."""
    def index_put(self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False) -> Tensor:
        """``input`` with ``values``, which broadcast, written to the advanced index ``indices``, or added there."""
    def index_put_(self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False) -> Self:
        """In-place version of `index_put`: writes into this tensor and returns it."""
    def index_reduce(
        self,
        dim: _int,
        index: Tensor,
        source: Tensor,
        reduce: str,
        *,
        include_self: _bool = True,
    ) -> Tensor:
        """The slices of ``source`` that go to one slice of the input (as in `index_add`), reduced with that slice."""
    def index_reduce_(
        self,
        dim: _int,
        index: Tensor,
        source: Tensor,
        reduce: str,
        *,
        include_self: _bool = True,
    ) -> Self:
        """In-place version of `index_reduce`."""
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """Slices across ``dim``, in the order of ``index`` (1-d, int32 or int64), which may repeat them."""
    def indices(self) -> Tensor:
        """The indices of the values of a coalesced tensor: ``(sparse_dim, nnz)``."""
    def inner(self, other: Tensor) -> Tensor:
        """Products of two tensors, summed over the last dimension of both; a plain product where one is 0-d."""
    def int(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """This tensor as ``torch.int``; itself if it has that type already."""
    def inverse(self) -> Tensor:
        """The same as `torch.linalg.inv`."""
    def is_coalesced(self) -> _bool:
        """PyTorch's ``Tensor.is_coalesced``."""
    def is_complex(self) -> _bool:
        """Whether the elements are complex."""
    def is_conj(self) -> _bool:
        """Whether this is a view of a tensor that shows its conjugate."""
    def is_contiguous(self, memory_format: MemoryFormat = ...) -> _bool:
        """Whether the elements are in C order (or ``memory_format``) without gaps."""
    def is_floating_point(self) -> _bool:
        """Whether the elements are of a floating type."""
    def is_neg(self) -> _bool:
        """Whether this is a view of a tensor that shows it, or its imaginary part, with the other sign."""
    def is_nonzero(self) -> _bool:
        """Whether the one element is not 0."""
    def is_pinned(self) -> _bool:
        """PyTorch's ``Tensor.is_pinned``."""
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether both are the same elements of the same memory, in the same order."""
    def is_shared(self) -> _bool:
        """Whether this tensor is in memory that processes share."""
    def is_signed(self) -> _bool:
        """Whether the elements' type has negative numbers."""
    def isclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """Whether ``abs(input - other) <= atol + rtol * abs(other)``, element by element, as bool."""
    def isfinite(self) -> Tensor:
        """Whether elements are neither infinite nor NaN, as bool."""
    def isinf(self) -> Tensor:
        """Whether elements are infinite (in either part, of complex numbers), as bool."""
    def isnan(self) -> Tensor:
        """Whether elements are NaN (in either part, of complex numbers), as bool."""
    def isneginf(self) -> Tensor:
        """Whether elements are negative infinity, as bool. Complex input: RuntimeError."""
    def isposinf(self) -> Tensor:
        """Whether elements are positive infinity, as bool. Complex input: RuntimeError."""
    def isreal(self) -> Tensor:
        """Whether elements have no imaginary part, as bool."""
    def istft(
        self,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Tensor | None = None,
        center: _bool = True,
        normalized: _bool = False,
        onesided: _bool | None = None,
        length: _int | None = None,
        return_complex: _bool = False,
    ) -> Tensor:
        """The inverse of `stft`: the signal whose frames are nearest to these in the least squares sense."""
    def kron(self, other: Tensor) -> Tensor:
        """Kronecker product: each element of ``input`` replaced by itself times ``other``."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False) -> return_types.kthvalue:
        """The ``k``-th smallest element along a dimension, counted from 1, and where it is."""
    def lcm(self, other: Tensor | Number) -> Tensor:
        """Least common multiple of integers; of 0 and anything it is 0."""
    def lcm_(self, other: Tensor | Number) -> Self:
        """In-place version of `lcm`: writes into this tensor, in its type, returns it."""
    def ldexp(self, other: Tensor | Number) -> Tensor:
        """``input * 2 ** other``."""
    def ldexp_(self, other: Tensor | Number) -> Self:
        """In-place version of `ldexp`: writes the result into this tensor and returns it."""
    def le(self, other: Tensor | Number) -> Tensor:
        """Whether ``input <= other``, element by element, as bool."""
    def le_(self, other: Tensor | Number) -> Self:
        """In-place version of `le`: writes into this tensor, in its type, returns it."""
    def lerp(self, end: Tensor, weight: Tensor | Number) -> Tensor:
        """``input + weight * (end - input)``: linear interpolation from ``input`` to ``end``."""
    def lerp_(self, end: Tensor, weight: Tensor | Number) -> Self:
        """In-place version of `lerp`."""
    def less(self, other: Tensor | Number) -> Tensor:
        """Whether ``input < other``, element by element, as bool. Complex input: NotImplementedError."""
    def less_(self, other: Tensor | Number) -> Self:
        """In-place version of `lt`: writes into this tensor, in its type, returns it."""
    def less_equal(self, other: Tensor | Number) -> Tensor:
        """Whether ``input <= other``, element by element, as bool."""
    def less_equal_(self, other: Tensor | Number) -> Self:
        """In-place version of `le`: writes into this tensor, in its type, returns it."""
    def lgamma(self) -> Tensor:
        """Logarithm of the absolute value of the gamma function. Derivative: `digamma`."""
    def lgamma_(self) -> Self:
        """In-place version of `lgamma`: writes the result into this tensor and returns it."""
    def log(self) -> Tensor:
        """Natural logarithm; NaN for negative numbers. Derivative: ``1 / input``."""
    def log10(self) -> Tensor:
        """Logarithm to base 10. Derivative: ``1 / (input * ln 10)``."""
    def log10_(self) -> Self:
        """In-place version of `log10`: writes the result into this tensor and returns it."""
    def log1p(self) -> Tensor:
        """``log(1 + input)``, accurate near 0. Derivative: ``1 / (1 + input)``."""
    def log1p_(self) -> Self:
        """In-place version of `log1p`: writes the result into this tensor and returns it."""
    def log2(self) -> Tensor:
        """Logarithm to base 2. Derivative: ``1 / (input * ln 2)``."""
    def log2_(self) -> Self:
        """In-place version of `log2`: writes the result into this tensor and returns it."""
    def log_(self) -> Self:
        """In-place version of `log`: writes the result into this tensor and returns it."""
    def log_normal_(self, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None) -> Self:
        """Fill this tensor with log-normal numbers. Returns it."""
    def log_softmax(self, dim: _int | None = None, dtype: dtype | None = None) -> Tensor:
        """``log(softmax(input, dim))``, without the rounding error of taking the logarithm of a softmax."""
    def logaddexp(self, other: Tensor | Number) -> Tensor:
        """``log(exp(input) + exp(other))`` without overflow."""
    def logaddexp2(self, other: Tensor | Number) -> Tensor:
        """``log2(2 ** input + 2 ** other)`` without overflow. For the derivative see `logaddexp`."""
    def logcumsumexp(self, dim: _int) -> Tensor:
        """``log(cumsum(exp(input)))`` along a dimension, without overflow."""
    def logdet(self) -> Tensor:
        """Logarithms of determinants: ``-inf`` for singular matrices, NaN for negative determinants (complex for
        complex ones)."""
    def logical_and(self, other: Tensor | Number) -> Tensor:
        """Whether both elements are other than zero, as bool."""
    def logical_and_(self, other: Tensor | Number) -> Self:
        """In-place version of `logical_and`: writes into this tensor, in its type, returns it."""
    def logical_not(self) -> Tensor:
        """Whether elements are zero, as bool."""
    def logical_not_(self) -> Self:
        """In-place version of `logical_not`: writes into this tensor, in its type, returns it."""
    def logical_or(self, other: Tensor | Number) -> Tensor:
        """Whether either element is other than zero, as bool."""
    def logical_or_(self, other: Tensor | Number) -> Self:
        """In-place version of `logical_or`: writes into this tensor, in its type, returns it."""
    def logical_xor(self, other: Tensor | Number) -> Tensor:
        """Whether exactly one of the elements is other than zero, as bool."""
    def logical_xor_(self, other: Tensor | Number) -> Self:
        """In-place version of `logical_xor`: writes into this tensor, in its type, returns it."""
    def logit(self, eps: _float | None = None) -> Tensor:
        """``log(input / (1 - input))``, the inverse of `sigmoid`; NaN outside ``[0, 1]``."""
    def logit_(self, eps: _float | None = None) -> Self:
        """In-place version of `logit`: writes into this tensor, in its type, returns it."""
    def logsumexp(self, dim: Dims, keepdim: _bool = False) -> Tensor:
        """``log(sum(exp(input)))`` along dimensions, without overflow. Integers become the default float type."""
    def long(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """This tensor as ``torch.long``; itself if it has that type already."""
    def lt(self, other: Tensor | Number) -> Tensor:
        """Whether ``input < other``, element by element, as bool. Complex input: NotImplementedError."""
    def lt_(self, other: Tensor | Number) -> Self:
        """In-place version of `lt`: writes into this tensor, in its type, returns it."""
    @overload
    def lu(self, pivot: _bool = True, get_infos: Literal[False] = False) -> tuple[Tensor, Tensor]:
        """Deprecated: see `torch.linalg.lu_factor`, and `torch.linalg.lu_factor_ex` for ``get_infos``."""
    @overload
    def lu(self, pivot: _bool = True, *, get_infos: Literal[True]) -> tuple[Tensor, Tensor, Tensor]: ...
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """Deprecated: see `torch.linalg.lu_solve`, whose arguments are in another order."""
    @property
    def mH(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Self:
        """Replace each element, in place, by what a Python function makes of it and of those of other tensors."""
    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Self:
        """Replace each element, in place, by what a Python function makes of it and of those of other tensors."""
    def masked_fill(self, mask: Tensor, value: Tensor | Number) -> Tensor:
        """``input`` with a number (or a 0-d tensor) where the mask is True; input and mask broadcast."""
    def masked_fill_(self, mask: Tensor, value: Tensor | Number) -> Self:
        """In-place version of `masked_fill`: writes into this tensor and returns it."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """``input`` with the elements of ``source``, one after the other, where the mask is True."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """In-place version of `masked_scatter`: writes into this tensor and returns it."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where the mask is True, in one dimension; input and mask broadcast."""
    def matmul(self, other: Tensor) -> Tensor:
        """Matrix product; the operator ``@``."""
    def matrix_exp(self) -> Tensor:
        """The same as `torch.linalg.matrix_exp`."""
    def matrix_power(self, n: _int) -> Tensor:
        """The same as `torch.linalg.matrix_power`."""
    @overload
    def max(self) -> Tensor:
        """The largest element; the largest along one dimension and where they are; the larger of two tensors."""
    @overload
    def max(self, dim: _int, keepdim: _bool = False) -> return_types.max: ...
    @overload
    def max(self, other: Tensor) -> Tensor: ...
    def maximum(self, other: Tensor | Number) -> Tensor:
        """The larger of two, element by element; NaN if either is. Of equal ones each has half the gradient."""
    def mean(self, dim: Dims | None = None, keepdim: _bool = False, dtype: dtype | None = None) -> Tensor:
        """The mean of all elements, or along dimensions; NaN of none. Arguments as for `sum`."""
    @overload
    def median(self) -> Tensor:
        """The median of all elements, or along one dimension with its index; the lower of two, NaN if any is."""
    @overload
    def median(self, dim: _int, keepdim: _bool = False) -> return_types.median: ...
    @overload
    def min(self) -> Tensor:
        """The smallest element; the smallest along one dimension and where they are; the smaller of two tensors."""
    @overload
    def min(self, dim: _int, keepdim: _bool = False) -> return_types.min: ...
    @overload
    def min(self, other: Tensor) -> Tensor: ...
    def minimum(self, other: Tensor | Number) -> Tensor:
        """The smaller of two, element by element; NaN if either is. Of equal ones each has half the gradient."""
    def mm(self, mat2: Tensor) -> Tensor:
        """Product of two matrices, ``(n, k)`` and ``(k, m)``; no broadcasting."""
    def mode(self, dim: _int = -1, keepdim: _bool = False) -> return_types.mode:
        """The most frequent element along a dimension, the smallest of several, and the last place where it is."""
    def moveaxis(self, source: Dims, destination: Dims) -> Tensor:
        """The dimensions ``source`` moved to the places ``destination`` (an int each, or several); the others keep
        their order."""
    def movedim(self, source: Dims, destination: Dims) -> Tensor:
        """The dimensions ``source`` moved to the places ``destination`` (an int each, or several); the others keep
        their order."""
    def msort(self) -> Tensor:
        """The elements along the first dimension in ascending order."""
    def mul(self, other: Tensor | Number) -> Tensor:
        """Product, element by element."""
    def mul_(self, other: Tensor | Number) -> Self:
        """In-place version of `mul`: writes the result into this tensor and returns it."""
    def multinomial(
        self,
        num_samples: _int,
        replacement: _bool = False,
        *,
        generator: Generator | None = None,
    ) -> Tensor:
        """Indices drawn by weight, from each row of ``input``."""
    def multiply(self, other: Tensor | Number) -> Tensor:
        """Product, element by element."""
    def multiply_(self, other: Tensor | Number) -> Self:
        """In-place version of `mul`: writes the result into this tensor and returns it."""
    def mv(self, vec: Tensor) -> Tensor:
        """Product of a matrix ``(n, k)`` and a vector ``(k,)``."""
    def mvlgamma(self, p: _int) -> Tensor:
        """Logarithm of the multivariate gamma function of dimension ``p`` (DLMF 35.3.4)."""
    def mvlgamma_(self, p: _int) -> Self:
        """In-place version of `mvlgamma`: writes into this tensor, in its type, returns it."""
    def nan_to_num(
        self,
        nan: _float | None = None,
        posinf: _float | None = None,
        neginf: _float | None = None,
    ) -> Tensor:
        """NaN and infinities replaced by numbers."""
    def nan_to_num_(
        self,
        nan: _float | None = None,
        posinf: _float | None = None,
        neginf: _float | None = None,
    ) -> Self:
        """In-place version of `nan_to_num`: writes the result into this tensor and returns it."""
    def nanmean(self, dim: Dims | None = None, keepdim: _bool = False, *, dtype: dtype | None = None) -> Tensor:
        """The mean of the elements that are not NaN; arguments as for `mean`."""
    @overload
    def nanmedian(self) -> Tensor:
        """`median` of the elements that are not NaN."""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = False) -> return_types.nanmedian: ...
    def nanquantile(
        self,
        q: _float | Tensor,
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: str = "linear",
    ) -> Tensor:
        """`quantile` of the elements that are not NaN."""
    def nansum(self, dim: Dims | None = None, keepdim: _bool = False, *, dtype: dtype | None = None) -> Tensor:
        """The sum of the elements that are not NaN; arguments as for `sum`. NaN gets the gradient 0."""
    def narrow(self, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
        """``length`` slices across ``dim``, from ``start`` on."""
    def narrow_copy(self, dim: _int, start: _int, length: _int) -> Tensor:
        """A copy of the view that ``narrow`` returns."""
    def ndimension(self) -> _int:
        """The number of dimensions."""
    def ne(self, other: Tensor | Number) -> Tensor:
        """Whether elements differ, as bool; the operator ``!=``. NaN differs from everything."""
    def ne_(self, other: Tensor | Number) -> Self:
        """In-place version of `ne`: writes into this tensor, in its type, returns it."""
    def neg(self) -> Tensor:
        """``-input``."""
    def neg_(self) -> Self:
        """In-place version of `neg`: writes the result into this tensor and returns it."""
    def negative(self) -> Tensor:
        """``-input``."""
    def negative_(self) -> Self:
        """In-place version of `neg`: writes the result into this tensor and returns it."""
    def nelement(self) -> _int:
        """The number of elements."""
    def new(self, *args: Any, size: Sequence[_int] | None = None, device: Device | None = None) -> Tensor:
        """A new tensor of this one's type: of a size given as numbers or as ``torch.Size``, else with data (a tensor
        shares its memory)."""
    @overload
    def new_empty(
        self,
        *size: _int,
        dtype: dtype | None = None,
        layout: Layout | None = None,
        device: Device | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """A new tensor of the given shape, by default of this tensor's type."""
    @overload
    def new_empty(
        self,
        size: Sequence[_int],
        *,
        dtype: dtype | None = None,
        layout: Layout | None = None,
        device: Device | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor: ...
    def new_empty_strided(self, size: Sequence[_int], stride: Sequence[_int], dtype: dtype | None = None) -> Tensor:
        """`empty_strided`, by default of this tensor's type and device."""
    def new_full(
        self,
        size: Sequence[_int],
        fill_value: Number,
        *,
        dtype: dtype | None = None,
        layout: Layout | None = None,
        device: Device | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """A new tensor of the given shape, filled with one value, of this tensor's type."""
    @overload
    def new_ones(
        self,
        *size: _int,
        dtype: dtype | None = None,
        layout: Layout | None = None,
        device: Device | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """A new tensor of the given shape, by default of this tensor's type."""
    @overload
    def new_ones(
        self,
        size: Sequence[_int],
        *,
        dtype: dtype | None = None,
        layout: Layout | None = None,
        device: Device | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor: ...
    def new_tensor(
        self,
        data: Any,
        *,
        dtype: dtype | None = None,
        device: Device | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """A new tensor with these data, of this tensor's type."""
    @overload
    def new_zeros(
        self,
        *size: _int,
        dtype: dtype | None = None,
        layout: Layout | None = None,
        device: Device | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """A new tensor of the given shape, by default of this tensor's type."""
    @overload
    def new_zeros(
        self,
        size: Sequence[_int],
        *,
        dtype: dtype | None = None,
        layout: Layout | None = None,
        device: Device | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor: ...
    def nextafter(self, other: Tensor) -> Tensor:
        """The next number that the type can hold, from ``input`` towards ``other``."""
    def nextafter_(self, other: Tensor) -> Self:
        """In-place version of `nextafter`: writes the result into this tensor and returns it."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor:
        """The indices of the elements that are not 0: a row for each, or (``as_tuple``) a tensor for each dimension."""
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """The first ``size`` rows of `nonzero`; rows of ``fill_value`` where there are fewer."""
    def norm(
        self,
        p: _float | str = "fro",
        dim: Dims | None = None,
        keepdim: _bool = False,
        dtype: dtype | None = None,
    ) -> Tensor:
        """The norm of the elements, all or along dimensions: `torch.linalg.vector_norm` for a number ``p``."""
    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fill this tensor with normal numbers. Returns it."""
    def not_equal(self, other: Tensor | Number) -> Tensor:
        """Whether elements differ, as bool; the operator ``!=``. NaN differs from everything."""
    def not_equal_(self, other: Tensor | Number) -> Self:
        """In-place version of `ne`: writes into this tensor, in its type, returns it."""
    def numel(self) -> _int:
        """The number of elements."""
    def orgqr(self, tau: Tensor) -> Tensor:
        """The same as `torch.linalg.householder_product`."""
    def ormqr(self, tau: Tensor, other: Tensor, left: _bool = True, transpose: _bool = False) -> Tensor:
        """``Q @ other``, where Q, ``(..., n, n)``, is the product of the reflections that `geqrf` returned."""
    def outer(self, vec2: Tensor) -> Tensor:
        """All products of the elements of two vectors: ``(n,)`` and ``(m,)`` give ``(n, m)``."""
    @overload
    def permute(self, *dims: _int) -> Tensor:
        """The dimensions in the order ``dims``."""
    @overload
    def permute(self, dims: Sequence[_int]) -> Tensor: ...
    def pin_memory(self, device: Device | None = None) -> Tensor:
        """This tensor: nothing is copied to other devices."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """The same as `torch.linalg.pinv`, with another default."""
    def polygamma(self, n: _int) -> Tensor:
        """PyTorch's ``Tensor.polygamma``."""
    def polygamma_(self, n: _int) -> Self:
        """In-place version of `polygamma`: writes into this tensor, in its type, returns it."""
    def positive(self) -> Tensor:
        """``+input``: the tensor itself. Bool input: RuntimeError."""
    def pow(self, exponent: Tensor | Number) -> Tensor:
        """``input`` to the power ``exponent``, element by element; the operator ``**``."""
    def pow_(self, exponent: Tensor | Number) -> Self:
        """In-place version of `pow`."""
    def prelu(self, weight: Tensor) -> Tensor:
        """``input`` where positive, ``weight * input`` elsewhere, the weight learnt."""
    def prod(self, dim: _int | None = None, keepdim: _bool = False, dtype: dtype | None = None) -> Tensor:
        """The product of all elements, or along one dimension."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """``input`` with elements of its flattened self replaced by those of ``source``, or these added there."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Self:
        """In-place version of `put`: writes into this tensor and returns it."""
    def qr(self, some: _bool = True) -> return_types.qr:
        """Deprecated: see `torch.linalg.qr`, whose modes "reduced" and "complete" are ``some`` and not ``some``."""
    def quantile(
        self,
        q: _float | Tensor,
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: str = "linear",
    ) -> Tensor:
        """The ``q``-quantiles of all elements, or along one dimension; NaN if any of them is."""
    def rad2deg(self) -> Tensor:
        """``input * 180 / pi``."""
    def rad2deg_(self) -> Self:
        """In-place version of `rad2deg`: writes the result into this tensor and returns it."""
    @overload
    def random_(self, *, generator: Generator | None = None) -> Self:
        """Fill this tensor with integers in [from, to), or of the whole range of its type. Returns it."""
    @overload
    def random_(self, to: _int, /, *, generator: Generator | None = None) -> Self: ...
    @overload
    def random_(self, from_: _int, to: _int | None, /, *, generator: Generator | None = None) -> Self: ...
    def ravel(self) -> Tensor:
        """All elements in one dimension."""
    @property
    def real(self) -> Tensor:
        """The real part, sharing memory; the tensor itself where it is real. Also the attribute ``x.real``."""
    @real.setter
    def real(self, value: Operand) -> None: ...
    def reciprocal(self) -> Tensor:
        """``1 / input``. Derivative: ``-out ** 2``."""
    def reciprocal_(self) -> Self:
        """In-place version of `reciprocal`: writes the result into this tensor and returns it."""
    def relu(self) -> Tensor:
        """``max(input, 0)``; NaN stays NaN. Derivative: 1 above 0, and 0 at 0 and below."""
    def relu_(self) -> Self:
        """In-place version of `relu`: writes the result into this tensor and returns it."""
    def remainder(self, other: Tensor | Number) -> Tensor:
        """Remainder with the sign of the divisor; the operator ``%``."""
    def remainder_(self, other: Tensor | Number) -> Self:
        """In-place version of `remainder`: writes the result into this tensor and returns it."""
    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """Slices along a dimension scaled down to a norm, where theirs is larger."""
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Self:
        """In-place version of `renorm`."""
    @overload
    def repeat(self, *repeats: _int) -> Tensor:
        """The tensor repeated ``repeats`` times along each dimension (new dimensions first)."""
    @overload
    def repeat(self, repeats: Sequence[_int]) -> Tensor: ...
    @overload
    def repeat_interleave(
        self,
        repeats: _int | Tensor,
        dim: _int | None = None,
        *,
        output_size: _int | None = None,
    ) -> Tensor:
        """Each slice across ``dim`` (each element of the flattened input, without it) repeated."""
    @overload
    def repeat_interleave(self, *, output_size: _int | None = None) -> Tensor: ...
    @overload
    def reshape(self, *shape: _int) -> Tensor:
        """The same elements in another shape: a view where strides allow it (always, if the input is contiguous),
        else a copy."""
    @overload
    def reshape(self, shape: Sequence[_int]) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor:
        """``input.reshape(other.shape)``."""
    @overload
    def resize_(self, *size: _int, memory_format: MemoryFormat | None = None) -> Self:
        """Another shape, in place: the first elements of the memory, and uninitialised ones after its end."""
    @overload
    def resize_(self, size: Sequence[_int], *, memory_format: MemoryFormat | None = None) -> Self: ...
    def resize_as_(self, other: Tensor, *, memory_format: MemoryFormat | None = None) -> Self:
        """``input.resize_(other.shape)``; with ``preserve_format`` in the order of ``other``'s dimensions in memory."""
    def resolve_conj(self) -> Tensor:
        """A copy of what `conj` gave, which shares no memory; any other tensor itself."""
    def resolve_neg(self) -> Tensor:
        """A copy of what ``_neg_view`` or the imaginary part of what `conj` gave, which shares no memory; any other
        tensor itself."""
    def roll(self, shifts: Dims, dims: Dims = ()) -> Tensor:
        """Elements moved along dimensions (through the flattened tensor, without ``dims``); what leaves at one end
        enters at the other."""
    def rot90(self, k: _int = 1, dims: Sequence[_int] = (0, 1)) -> Tensor:
        """A quarter turn, ``k`` times, from the first of two dimensions towards the second."""
    def round(self, decimals: _int = 0) -> Tensor:
        """Rounded to the nearest integer, halves to the even one. Derivative: 0."""
    def round_(self, decimals: _int = 0) -> Self:
        """In-place version of `round`."""
    def row_indices(self) -> Tensor:
        """The other index of each value or block."""
    def rsqrt(self) -> Tensor:
        """``1 / sqrt(input)``. Derivative: ``-out ** 3 / 2``."""
    def rsqrt_(self) -> Self:
        """In-place version of `rsqrt`: writes the result into this tensor and returns it."""
    def rsub(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """``other - alpha * input``, element by element."""
    @overload
    def scatter(self, dim: _int, index: Tensor, src: Tensor | Number, *, reduce: str | None = None) -> Tensor:
        """``input`` with the elements of ``src``, or one number, written along ``dim`` at ``index``: ``out[i,
        index[i, j]] = src[i, j]`` for dim 1."""
    @overload
    def scatter(self, dim: _int, index: Tensor, *, value: Number, reduce: str | None = None) -> Tensor: ...
    def scatter_(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor | Number | None = None,
        value: Tensor | Number | None = None,
        *,
        reduce: str | None = None,
    ) -> Self:
        """In-place version of `scatter`: writes into this tensor and returns it."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """``input`` with the elements of ``src`` added along ``dim`` at ``index``; see `scatter`."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Self:
        """In-place version of `scatter_add`: writes into this tensor and returns it."""
    def scatter_reduce(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor,
        reduce: str,
        *,
        include_self: _bool = True,
    ) -> Tensor:
        """The elements of ``src`` that go to one position of the input (as in `scatter_add`), reduced with the
        element there."""
    def scatter_reduce_(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor,
        reduce: str,
        *,
        include_self: _bool = True,
    ) -> Self:
        """In-place version of `scatter_reduce`."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """One slice across ``dim``, which the result lacks: ``input[..., index, ...]``."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """A copy of the input in which ``input.select(dim, index)`` is ``src``."""
    def set_(
        self,
        source: Tensor | UntypedStorage | TypedStorage | None = None,
        storage_offset: _int = 0,
        size: Sequence[_int] | None = None,
        stride: Sequence[_int] | None = None,
    ) -> Self:
        """Make this tensor a view of the memory of ``source`` (a tensor or its storage). Returns it."""
    def sgn(self) -> Tensor:
        """Direction: ``input / abs(input)`` for complex numbers, `sign` for real ones; 0 at 0."""
    def sgn_(self) -> Self:
        """In-place version of `sgn`: writes the result into this tensor and returns it."""
    def share_memory_(self) -> Self:
        """Move this tensor to memory that processes share. Views made of it before stay on the old memory."""
    def short(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """This tensor as ``torch.short``; itself if it has that type already."""
    def sigmoid(self) -> Tensor:
        """Logistic function ``1 / (1 + exp(-input))``. Derivative: ``out * (1 - out)``."""
    def sigmoid_(self) -> Self:
        """In-place version of `sigmoid`: writes the result into this tensor and returns it."""
    def sign(self) -> Tensor:
        """-1, 0 or 1; of NaN 0, as in PyTorch. Derivative: 0. For complex numbers see `sgn`."""
    def sign_(self) -> Self:
        """In-place version of `sign`: writes the result into this tensor and returns it."""
    def signbit(self) -> Tensor:
        """Whether the sign is negative, as bool: of -0.0, too. Complex input: NotImplementedError."""
    def sin(self) -> Tensor:
        """Sine, of radians. Derivative: the cosine."""
    def sin_(self) -> Self:
        """In-place version of `sin`: writes the result into this tensor and returns it."""
    def sinc(self) -> Tensor:
        """``sin(pi * input) / (pi * input)``, and 1 at 0. Its derivatives of any order are right at 0, too."""
    def sinc_(self) -> Self:
        """In-place version of `sinc`: writes the result into this tensor and returns it."""
    def sinh(self) -> Tensor:
        """Hyperbolic sine. Derivative: the hyperbolic cosine."""
    def sinh_(self) -> Self:
        """In-place version of `sinh`: writes the result into this tensor and returns it."""
    @overload
    def size(self, dim: None = None) -> Size:
        """The shape, or the size of one dimension."""
    @overload
    def size(self, dim: _int) -> _int: ...
    def slice_scatter(
        self,
        src: Tensor,
        dim: _int = 0,
        start: _int | None = None,
        end: _int | None = None,
        step: _int = 1,
    ) -> Tensor:
        """A copy of the input in which the slice ``start:end:step`` across ``dim`` is ``src``."""
    def slogdet(self) -> return_types.slogdet:
        """The same as `torch.linalg.slogdet`."""
    def softmax(self, dim: _int | None = None, dtype: dtype | None = None) -> Tensor:
        """``exp(input) / sum(exp(input))`` along a dimension."""
    def sort(self, dim: _int = -1, descending: _bool = False, stable: _bool | None = None) -> return_types.sort:
        """The elements along a dimension in ascending (or descending) order, and where they were."""
    def sparse_dim(self) -> _int:
        """How many dimensions are sparse."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements, of a dense or sparse tensor, at the indices that the sparse tensor ``mask`` stores."""
    def sparse_resize_(self, size: Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Self:
        """Another shape, in place. Where elements are stored, it may only grow; new ones in dense dimensions are 0."""
    def sparse_resize_and_clear_(self, size: Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Self:
        """Another shape, in place, with no element stored."""
    def split(self, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """`split`."""
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Consecutive pieces along ``dim`` of these sizes, which must add up to the dimension's."""
    def sqrt(self) -> Tensor:
        """Square root; NaN for negative numbers. Derivative: ``1 / (2 * out)``, infinite at 0."""
    def sqrt_(self) -> Self:
        """In-place version of `sqrt`: writes the result into this tensor and returns it."""
    def square(self) -> Tensor:
        """``input * input``. Derivative: ``2 * input``."""
    def square_(self) -> Self:
        """In-place version of `square`: writes the result into this tensor and returns it."""
    def squeeze(self, dim: Dims | None = None) -> Tensor:
        """Without the dimensions of size 1: all of them, or those among ``dim`` (an int or several)."""
    def squeeze_(self, dim: Dims | None = None) -> Self:
        """In-place version of `squeeze`: the memory stays, the shape changes."""
    @overload
    def std(
        self,
        dim: Dims | None,
        unbiased: _bool,
        keepdim: _bool = False,
        *,
        correction: _float | None = None,
    ) -> Tensor:
        """The standard deviation, the root of `var`, with its arguments."""
    @overload
    def std(self, dim: Dims | None = None, *, keepdim: _bool = False, correction: _float | None = None) -> Tensor: ...
    @overload
    def std(self, unbiased: _bool) -> Tensor: ...
    @overload
    def std_mean(
        self,
        dim: Dims | None,
        unbiased: _bool,
        keepdim: _bool = False,
        *,
        correction: _float | None = None,
    ) -> tuple[Tensor, Tensor]:
        """`std` and `mean` at once."""
    @overload
    def std_mean(
        self,
        dim: Dims | None = None,
        *,
        keepdim: _bool = False,
        correction: _float | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def std_mean(self, unbiased: _bool) -> tuple[Tensor, Tensor]: ...
    def stft(
        self,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Tensor | None = None,
        center: _bool = True,
        pad_mode: str = "reflect",
        normalized: _bool = False,
        onesided: _bool | None = None,
        return_complex: _bool | None = None,
        align_to_window: _bool | None = None,
    ) -> Tensor:
        """Fourier transforms of overlapping frames, ``X[k, t] = sum_j window[j] input[t hop_length + j] exp(-2πi j k
        / n_fft)``."""
    def storage(self) -> TypedStorage:
        """The memory of this tensor, which other tensors may share, as elements of its type."""
    def storage_offset(self) -> _int:
        """The offset of the first element in the storage, counted in elements."""
    def storage_type(self) -> _type[Any]:
        """The class of storages with this tensor's type of elements."""
    @overload
    def stride(self, dim: None = None) -> tuple[_int, ...]:
        """The distance in memory of neighbours along each dimension (or along ``dim``), counted in elements."""
    @overload
    def stride(self, dim: _int) -> _int: ...
    def sub(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """``input - alpha * other``, element by element."""
    def sub_(self, other: Tensor | Number, *, alpha: Number = 1) -> Self:
        """In-place version of `sub`."""
    def subtract(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """``input - alpha * other``, element by element."""
    def subtract_(self, other: Tensor | Number, *, alpha: Number = 1) -> Self:
        """In-place version of `sub`."""
    def sum(self, dim: Dims | None = None, keepdim: _bool = False, *, dtype: dtype | None = None) -> Tensor:
        """The sum of all elements, or along dimensions."""
    @overload
    def sum_to_size(self, *size: _int) -> Tensor:
        """The input summed to ``size``, a shape that broadcasts to the input's."""
    @overload
    def sum_to_size(self, size: Sequence[_int]) -> Tensor: ...
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> return_types.svd:
        """Singular value decomposition ``input = U @ diag(S) @ V.mH``. Deprecated: see `torch.linalg.svd`."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """PyTorch's ``Tensor.swapaxes``."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Self:
        """In-place version of `transpose`: the memory stays, the shape changes."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions exchanged."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Self:
        """In-place version of `transpose`: the memory stays, the shape changes."""
    def t(self) -> Tensor:
        """The transpose of a matrix; 1-d and 0-d tensors as they are."""
    def t_(self) -> Self:
        """In-place version of `t`: the memory stays, the shape changes."""
    def take(self, index: Tensor) -> Tensor:
        """Elements of the flattened input, in the shape of ``index``."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = None) -> Tensor:
        """`gather` with input and indices broadcast apart from ``dim``; without ``dim``, of the flattened input."""
    def tan(self) -> Tensor:
        """Tangent, of radians. Derivative: ``1 + out ** 2``."""
    def tan_(self) -> Self:
        """In-place version of `tan`: writes the result into this tensor and returns it."""
    def tanh(self) -> Tensor:
        """Hyperbolic tangent. Derivative: ``1 - out ** 2``."""
    def tanh_(self) -> Self:
        """In-place version of `tanh`: writes the result into this tensor and returns it."""
    def tensor_split(
        self,
        indices_or_sections: _int | Sequence[_int] | Tensor | None = None,
        dim: _int = 0,
        *,
        indices: Any = None,
        sections: Any = None,
    ) -> tuple[Tensor, ...]:
        """``indices_or_sections`` pieces along ``dim`` as equal as can be, or pieces cut at these indices."""
    def threshold_(self, threshold: _float, value: _float) -> Self:
        """In-place version of `threshold`: writes the result into this tensor and returns it."""
    @overload
    def tile(self, *dims: _int) -> Tensor:
        """`repeat <Tensor.repeat>`, where missing numbers are 1."""
    @overload
    def tile(self, dims: Sequence[_int]) -> Tensor: ...
    @overload
    def to(
        self,
        dtype: dtype,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """This tensor in another type: itself if it has that type already, else a recorded copy."""
    @overload
    def to(
        self,
        device: Device | None = None,
        dtype: dtype | None = None,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor: ...
    @overload
    def to(
        self,
        other: Tensor,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor: ...
    def to_dense(self, dtype: dtype | None = None, *, masked_grad: _bool | None = None) -> Tensor:
        """A sparse tensor with all its zeros; dense tensors as they are."""
    def to_sparse(
        self,
        sparse_dim: _int | None = None,
        *,
        layout: Layout | None = None,
        blocksize: Any = None,
        dense_dim: _int | None = None,
    ) -> Tensor:
        """The nonzero elements as a sparse tensor; sparse tensors are returned as they are."""
    def to_sparse_bsc(self, blocksize: Sequence[_int], dense_dim: _int | None = None) -> Tensor:
        """PyTorch's ``Tensor.to_sparse_bsc``."""
    def to_sparse_bsr(self, blocksize: Sequence[_int], dense_dim: _int | None = None) -> Tensor:
        """PyTorch's ``Tensor.to_sparse_bsr``."""
    def to_sparse_coo(self) -> Tensor:
        """PyTorch's ``Tensor.to_sparse_coo``."""
    def to_sparse_csc(self, dense_dim: _int | None = None) -> Tensor:
        """PyTorch's ``Tensor.to_sparse_csc``."""
    def to_sparse_csr(self, dense_dim: _int | None = None) -> Tensor:
        """PyTorch's ``Tensor.to_sparse_csr``."""
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True) -> return_types.topk:
        """The ``k`` largest (or smallest) elements along a dimension, in order, and where they are."""
    def trace(self) -> Tensor:
        """The sum of a matrix's diagonal."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions exchanged."""
    def transpose_(self, dim0: _int, dim1: _int) -> Self:
        """In-place version of `transpose`: the memory stays, the shape changes."""
    def triangular_solve(
        self,
        A: Tensor,
        upper: _bool = True,
        transpose: _bool = False,
        unitriangular: _bool = False,
    ) -> return_types.triangular_solve:
        """Solution of ``A X = input`` for triangular A, and a copy of A. Deprecated: see
        `torch.linalg.solve_triangular`."""
    def tril(self, diagonal: _int = 0) -> Tensor:
        """The matrices' lower triangles, up to and including a diagonal; 0 elsewhere."""
    def tril_(self, diagonal: _int = 0) -> Self:
        """In-place version of `tril`: writes the result into this tensor and returns it."""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """The matrices' upper triangles, from a diagonal on; 0 elsewhere."""
    def triu_(self, diagonal: _int = 0) -> Self:
        """In-place version of `triu`: writes the result into this tensor and returns it."""
    def true_divide(self, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
        """Quotient, element by element."""
    def true_divide_(self, other: Tensor | Number, *, rounding_mode: str | None = None) -> Self:
        """In-place version of `div`."""
    def trunc(self) -> Tensor:
        """Rounded to zero. Derivative: 0."""
    def trunc_(self) -> Self:
        """In-place version of `trunc`: writes the result into this tensor and returns it."""
    @overload
    def type(self, dtype: None = None) -> str:
        """The legacy name of this tensor's type (``'torch.FloatTensor'``), or this tensor as another type."""
    @overload
    def type(self, dtype: dtype | str | _type[Any], non_blocking: _bool = False) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor:
        """This tensor in another's type."""
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """All slices across ``dim``, which they lack, as a tuple."""
    def unflatten(self, dim: _int, sizes: Sequence[_int]) -> Tensor:
        """One dimension split into several, of which one may be -1."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """PyTorch's ``Tensor.unfold``."""
    def uniform_(self, from_: _float = 0.0, to: _float = 1.0, /, *, generator: Generator | None = None) -> Self:
        """Fill this tensor with uniform numbers in [from, to). Returns it."""
    @overload
    def unique(self, sorted: _bool = True, *, dim: _int | None = None) -> Tensor:
        """The distinct elements, or slices along ``dim``, ascending even if not ``sorted``. NaNs are distinct."""
    @overload
    def unique(
        self,
        sorted: _bool = True,
        *,
        return_inverse: Literal[True],
        return_counts: Literal[False] = False,
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique(
        self,
        sorted: _bool = True,
        *,
        return_inverse: Literal[False] = False,
        return_counts: Literal[True],
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique(
        self,
        sorted: _bool = True,
        *,
        return_inverse: Literal[True],
        return_counts: Literal[True],
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique(
        self,
        sorted: _bool = True,
        return_inverse: _bool = False,
        return_counts: _bool = False,
        dim: _int | None = None,
    ) -> Any: ...
    @overload
    def unique_consecutive(self, *, dim: _int | None = None) -> Tensor:
        """The elements, or slices along ``dim``, without those that equal the one before."""
    @overload
    def unique_consecutive(
        self,
        *,
        return_inverse: Literal[True],
        return_counts: Literal[False] = False,
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(
        self,
        *,
        return_inverse: Literal[False] = False,
        return_counts: Literal[True],
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(
        self,
        *,
        return_inverse: Literal[True],
        return_counts: Literal[True],
        dim: _int | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique_consecutive(
        self,
        return_inverse: _bool = False,
        return_counts: _bool = False,
        dim: _int | None = None,
    ) -> Any: ...
    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """`chunk` into pieces that may be written into."""
    def unsafe_split(self, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """`split` into pieces that may be written into."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """`split_with_sizes` into pieces that may be written into."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """With a new dimension of size 1 at ``dim``."""
    def unsqueeze_(self, dim: _int) -> Self:
        """In-place version of `unsqueeze`: the memory stays, the shape changes."""
    def untyped_storage(self) -> UntypedStorage:
        """The memory of this tensor, which other tensors may share. Under ``vmap``: NotImplementedError."""
    def values(self) -> Tensor:
        """The values of a coalesced tensor, ``(nnz, ...)``, or those of a compressed one: numbers, or blocks."""
    @overload
    def var(
        self,
        dim: Dims | None,
        unbiased: _bool,
        keepdim: _bool = False,
        *,
        correction: _float | None = None,
    ) -> Tensor:
        """The variance of all elements, or along dimensions."""
    @overload
    def var(self, dim: Dims | None = None, *, keepdim: _bool = False, correction: _float | None = None) -> Tensor: ...
    @overload
    def var(self, unbiased: _bool) -> Tensor: ...
    @overload
    def var_mean(
        self,
        dim: Dims | None,
        unbiased: _bool,
        keepdim: _bool = False,
        *,
        correction: _float | None = None,
    ) -> tuple[Tensor, Tensor]:
        """`var` and `mean` at once."""
    @overload
    def var_mean(
        self,
        dim: Dims | None = None,
        *,
        keepdim: _bool = False,
        correction: _float | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def var_mean(self, unbiased: _bool) -> tuple[Tensor, Tensor]: ...
    def vdot(self, other: Tensor) -> Tensor:
        """Inner product of two vectors: the conjugate of the first times the second."""
    @overload
    def view(self, *shape: _int) -> Tensor:
        """The same memory in another shape, ``x.view(2, -1)``, or read as another type, ``x.view(torch.int32)``."""
    @overload
    def view(self, size: Sequence[_int]) -> Tensor: ...
    @overload
    def view(self, dtype: dtype) -> Tensor: ...
    def view_as(self, other: Tensor) -> Tensor:
        """``input.view(other.shape)``."""
    def vsplit(self, indices_or_sections: _int | Sequence[_int] | Tensor) -> tuple[Tensor, ...]:
        """`tensor_split` along dimension 0, into equal pieces."""
    def where(self, condition: Tensor, other: Tensor | Number) -> Tensor:
        """PyTorch's ``Tensor.where``."""
    def xlogy(self, other: Tensor | Number) -> Tensor:
        """``input * log(other)``, and 0 where ``input`` is 0 (but NaN where ``other`` is NaN)."""
    def xlogy_(self, other: Tensor | Number) -> Self:
        """In-place version of `xlogy`: writes the result into this tensor and returns it."""
    def zero_(self) -> Self:
        """Write 0 everywhere into this tensor. Returns it."""
