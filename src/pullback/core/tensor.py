"""``Tensor``: an array, its gradient, and the node it came from.

The class itself holds what every tensor is: its slots, its attributes, how it converts to Python and NumPy and
how it prints. Operations become its methods where they are declared (see :mod:`pullback.core.op`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..base import dtypes, thread_state
from ..base.device import CPU, Layout, check_device, device, strided
from ..base.dtypes import C_NAMES, COMPLEX_KINDS, EXTENSIONS, FLOATING, OF_NUMPY, WIDE, dtype, type_name
from ..base.errors import with_notes
from ..base.handles import RemovableHandle
from ..base.printing import format_tensor
from ..base.shape import Size
from ..base.shape import new as shape_of
from . import conj_views, graph, slots, versions, views
from .graph import LEAF, Node, Output, leaf_hooks

if TYPE_CHECKING:  # a stub: operations become methods where they are declared
    from .tensor_methods import TensorMethods
else:
    TensorMethods = object

new = object.__new__
PLAIN_TENSOR_TYPES: set[type] = set()  # the classes that do not override operations, and hold an array as tensors do
# who is told of tensors that are about to be detached, and how; they may answer with what to hand on instead
on_detach: list[Callable[[Any, str], Any]] = []
# what our own modules keep in a tensor's __dict__, and copies do without
INTERNAL_ATTRIBUTES = ("_accumulate", "_counter", "_reshaped")


class Tensor(TensorMethods):
    """An n-dimensional array that remembers how it was computed.

    ``torch.Tensor(2, 3)`` gives an uninitialised float tensor of that shape and ``torch.Tensor([1, 2])`` floats of
    those values, as in PyTorch; :func:`torch.tensor` is the usual way to make one.

    >>> import pullback as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).backward(gradient=torch.tensor([1.0, 0.5])); x.grad
    tensor([2., 2.])
    """

    # _array: the values. _fn: None without gradient, LEAF for a leaf that requires it, else the edge to the node
    # that made the tensor. _view: (base, clock, kind) of a view. _grad: the accumulated gradient.
    __slots__ = ("_array", "_fn", "_view", "_grad", "_hooks", "__dict__", "__weakref__")
    _seq = 0  # as an edge, a leaf comes after every node
    _array: Any
    _fn: Any
    _view: Any
    _grad: Any
    _hooks: Any
    _read_data: Any  # nested lists as an array, see ops/from_data.py
    __array_priority__ = 1000  # ndarray * tensor asks the tensor
    __hash__ = object.__hash__
    is_cuda = is_quantized = is_mkldnn = is_mps = is_xpu = is_nested = is_sparse_csr = False
    is_ipu = is_maia = is_mtia = is_vulkan = is_xla = False
    names: tuple[None, ...] = ()

    def __new__(cls, *args: Any, device: Any = None, requires_grad: bool = False, **kwargs: Any) -> Self:
        check_device(device)
        if device is not None and str(device) == "meta":
            raise with_notes(
                RuntimeError("legacy constructor expects device type: cpu but device type: meta was passed"),
                "Say torch.empty(..., device=...).",
            )
        self = new(cls)
        default = dtypes.get_default_dtype().numpy
        if len(args) == 1 and isinstance(args[0], Tensor):
            self._array = args[0]._array
        elif len(args) == 1 and hasattr(args[0], "untyped"):  # a storage, whose memory it shares
            self._array = args[0]._as_type(dtypes.get_default_dtype())
        elif len(args) == 1 and not isinstance(args[0], (int, np.integer)):
            given = args[0]
            self._array = np.empty(given, default) if isinstance(given, Size) else self._read_data(given, default)
        else:
            self._array = np.zeros(args, default) if args else np.empty(0, default)
        self._fn = LEAF if requires_grad else None
        self._view, self._grad, self._hooks = (
            thread_state.inference_mark if thread_state.local.inference else None,
            None,
            None,
        )
        return self

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__torch_function__.__func__ is _disabled:  # type: ignore[attr-defined]
            if cls._array is Tensor._array:
                PLAIN_TENSOR_TYPES.add(cls)
        else:
            slots.watch_functions()
            slots.watch_properties(cls)
            thread_state.overridden = True

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What an operation does when handed this subclass: compute, and return the subclass (override it to
        intervene).
        """
        return slots.torch_function(cls, func, types, args, kwargs or {})

    @staticmethod
    def _make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Any:
        """A tensor of that class around the memory of ``data``, without history."""
        self: Any = new(cls)
        self._array, self._fn = data._array, LEAF if require_grad else None
        self._view = self._grad = self._hooks = None
        if thread_state.slow_path_reasons:
            versions.note_alias(self)
        return self

    @staticmethod
    def _make_wrapper_subclass(
        cls: type,
        size: Any,
        strides: Any = None,
        storage_offset: Any = None,
        memory_format: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        *ignored: Any,
        **more: Any,
    ) -> Any:
        """A tensor of that class, of that shape and type, without memory of its own: the class has to override what
        uses it.
        """
        self: Any = new(cls)
        kind = (dtype or dtypes.get_default_dtype()).numpy
        self._array, self._fn = np.broadcast_to(np.zeros((), kind), tuple(size)), LEAF if requires_grad else None
        self._view = self._grad = self._hooks = None
        if hasattr(cls, "__torch_dispatch__"):
            self._array = slots.wrapper_value(self, tuple(size), kind, strides)
        return self

    def as_subclass(self, cls: type) -> Any:
        """The same tensor, memory and history, as an instance of a subclass."""
        if not isinstance(cls, type):
            raise TypeError(f"cls must be a type (got {type(cls).__name__})")
        if not issubclass(cls, Tensor):
            raise TypeError(
                "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure "
                "your class inherits from Tensor."
            )
        alias: Any = new(cls)
        alias._array, alias._fn, alias._view = self._array, views.gradient_edge(self), self._view
        if "_counter" in self.__dict__:
            alias.__dict__["_counter"] = self.__dict__["_counter"]
        if alias._fn is self:
            alias._fn = Tensor.view_as(self, self)._fn
        alias._grad = alias._hooks = None
        if thread_state.slow_path_reasons:
            versions.note_alias(alias)
        return alias

    # --- what it is ---------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return shape_of(Size, self._array.shape)

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return OF_NUMPY[self._array.dtype]

    @property
    def device(self) -> device:
        """Where the memory is: ``cpu``, or ``meta`` for tensors without any."""
        return CPU if self._array.__class__ is np.ndarray else self._array.device

    @property
    def is_meta(self) -> bool:
        """Whether it has no values."""
        return self.device.type == "meta"

    @property
    def is_cpu(self) -> bool:
        return not self.is_meta

    @property
    def layout(self) -> Layout:
        return strided if self._array.__class__ is np.ndarray else self._array.layout

    @property
    def is_sparse(self) -> bool:
        """Whether only some elements are stored; see :func:`torch.sparse_coo_tensor`."""
        return self._array.__class__ is not np.ndarray and self._array.is_sparse

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def itemsize(self) -> int:
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    # --- autograd -----------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded."""
        return views.wants_grad(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value and OF_NUMPY[self._array.dtype].category < FLOATING:
            raise with_notes(
                RuntimeError("only Tensors of floating point dtype can require gradients"),
                f"this one is {self.dtype}",
                page="integer-grad",
            )
        if value and self.is_inference() and not thread_state.local.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        e = views.gradient_edge(self)
        if e is None or e is self:
            self._fn = LEAF if value else None
            if self._hooks is views.INSIDE_FUNCTION:
                self._hooks = None
        elif not value:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                "in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set :attr:`requires_grad`, and return this tensor."""
        if requires_grad and thread_state.local.transforms:
            raise RuntimeError(
                "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* "
                "APIs) inside of a function being transformed by a functorch transform. This is unsupported, please "
                "attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
                "requires_grad_() outside of a function being transformed instead."
            )
        self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """True for tensors that the user made, whose gradients accumulate in ``.grad``."""
        e = views.gradient_edge(self)
        trace = thread_state.local.trace
        return e is None or e is self and (trace is None or not trace.has_hidden_history(self))

    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor; None for leaves."""
        e = views.gradient_edge(self)
        trace = thread_state.local.trace
        if trace is not None and trace.has_hidden_history(self):
            trace.refuse("the node of an argument is asked for, which is another at every call")
        return None if e is self else e.node if e.__class__ is Output else e

    @property
    def _grad_fn(self) -> Node | None:
        return self.grad_fn

    @_grad_fn.deleter
    def _grad_fn(self) -> None:
        raise RuntimeError("Deletion of _grad_fn not allowed. Detach tensor instead!")

    @property
    def _backward_hooks(self) -> Any:
        """The hooks of :meth:`register_hook` by their handles' ids, None without any."""
        e = self._fn
        hooks = self._hooks if e is LEAF or e is None else getattr(getattr(e, "node", e), "_hooks", None)
        return getattr(hooks, "tensor", {}).get(getattr(e, "index", 0)) if hooks is not None else None

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: Any) -> None:
        if hooks is not None or self._backward_hooks is not None:
            own, index = self._hooks_of_history("") if self.requires_grad else (leaf_hooks(self), 0)
            own.tensor[index] = hooks

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise RuntimeError("Deletion of _backwards_hooks not allowed!")

    @property
    def volatile(self) -> bool:
        import warnings

        warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
        return False

    @property
    def output_nr(self) -> int:
        """Which output of :attr:`grad_fn` this is."""
        return getattr(self._fn, "index", 0)

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by backward; None before."""
        if self._grad is None and self._fn is not None and not self.is_leaf and not self.retains_grad:
            import warnings

            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor "
                "by mistake, make sure you access the leaf Tensor instead.",
                UserWarning,
                stacklevel=2,
            )
        if thread_state.local.trace is not None:
            thread_state.local.trace.guard_grad(self)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            wanted = self.__dict__.get("_grad_dtype", self.dtype)
            if wanted is not None and value.dtype is not wanted:
                given = C_NAMES.get(value.dtype.name, value.dtype.name)
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{given}' to a tensor with grad_dtype "
                    f"'{dtypes.type_name(wanted)}'. The gradient must match the tensor's grad_dtype (defaults to the "
                    "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to "
                    "allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient "
                    "may break downstream systems that assume they match."
                )
            if value._array.shape != self._array.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
                    f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the same size"
                )
        if thread_state.local.trace is not None:
            thread_state.local.trace.replace_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_dtype(self) -> dtypes.dtype | None:
        """The type in which :attr:`grad` of this leaf accumulates; None for whatever arrives."""
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return self.__dict__.get("_grad_dtype", self.dtype)

    @grad_dtype.setter
    def grad_dtype(self, value: dtypes.dtype | None) -> None:
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        if value is not None and self._grad is not None and self._grad.dtype is not value:
            raise RuntimeError(
                f"Cannot set grad_dtype to '{type_name(value)}' because there is already a gradient with dtype "
                f"'{self._grad.dtype.name.replace('float32', 'float').replace('float64', 'double')}'. Please clear the "
                "gradient (.grad = None) before changing grad_dtype, or ensure the new grad_dtype matches the "
                "existing gradient's dtype."
            )
        graph.grad_dtypes = True
        self.__dict__["_grad_dtype"] = value

    @property
    def retains_grad(self) -> bool:
        """Whether :meth:`retain_grad` was asked for on this non-leaf."""
        e = self._fn
        node, index = (e.node, e.index) if e.__class__ is Output else (e, 0)
        hooks = getattr(node, "_hooks", None)
        ref = None if hooks is None else hooks.retain.get(index)
        return ref is not None and ref() is self

    def retain_grad(self) -> None:
        """Keep ``.grad`` of this non-leaf, too."""
        hooks, index = self._hooks_of_history("can't retain_grad on Tensor that has requires_grad=False")
        if not self.is_leaf:
            import weakref

            hooks.retain[index] = weakref.ref(self)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook(grad)`` whenever the gradient of this tensor is known; what it returns replaces the gradient.

        >>> import pullback as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> handle = x.register_hook(lambda g: 3 * g)
        >>> x.sum().backward(); x.grad
        tensor([3., 3.])
        """
        from collections import OrderedDict

        hooks, index = self._hooks_of_history("cannot register a hook on a tensor that doesn't require gradient")
        return RemovableHandle.add(hooks.tensor.setdefault(index, OrderedDict()), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` after the gradient was accumulated into this leaf."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return RemovableHandle.add(leaf_hooks(self).accumulated, hook)

    def _hooks_of_history(self, complaint: str) -> tuple[Any, int]:
        """The hooks that fire for this tensor's gradient, and under which output number."""
        e = views.gradient_edge(self)
        if e is None:
            raise RuntimeError(complaint)
        if e is self:
            return leaf_hooks(self), 0
        return (e.node._own_hooks(), e.index) if e.__class__ is Output else (e._own_hooks(), 0)

    def explain(self, gradient: Tensor | None = None, inputs: Any = None) -> Any:
        """What ``backward(gradient)`` would do, step by step: see :func:`pullback.explain`.

        >>> import pullback as torch
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> x.log().explain().steps[0].downstream[0].rule
        'dx = g / x'
        """
        return slots.explain(self, gradient, inputs)

    @property
    def data(self) -> Tensor:
        """The same memory without history. Writes through it are not noticed by autograd; prefer :meth:`detach`."""
        if hasattr(self._array, "truth"):
            raise with_notes(RuntimeError("accessing `data` under vmap transform is not allowed"), "Say detach().")
        t = self.detach()
        for tell in on_detach:
            tell(self, ".data")
        t.__dict__["_unnoticed"] = True
        return t

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.layout is not value.layout:
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor "
                "type."
            )
        if self._fn is not None and OF_NUMPY[value._array.dtype].category < FLOATING:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if hasattr(self._array, "truth") or hasattr(value._array, "truth"):
            raise RuntimeError("mutating directly with `.data` under vmap transform is not allowed.")
        versions.set_array(self, value._array)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def detach(self) -> Tensor:
        """The same memory, without history."""
        for tell in on_detach:
            if (instead := tell(self, ".detach()")) is not None:
                return instead
        t = new(Tensor)
        t._array = self._array
        t._fn = t._grad = t._hooks = None
        if thread_state.slow_path_reasons:
            versions.note_alias(self)
            versions.note_alias(t)
        if t._array.__class__ is not np.ndarray:
            t._array.forget_tangents(t)
        t._view = views.INFERENCE_TENSOR if self._view is views.INFERENCE_TENSOR else None
        return t

    def detach_(self) -> Tensor:
        """Forget the history of this tensor, in place."""
        if self._is_view():
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients."
            )
        for tell in on_detach:
            if tell(self, ".detach_()") is not None:
                return self
        self._fn = None
        if self._hooks is views.INSIDE_FUNCTION:
            self._hooks = None
        if self._array.__class__ is not np.ndarray:
            self._array.forget_tangents(self)
        return self

    @property
    def _cdata(self) -> int:
        """A number that no other tensor has at the same time."""
        return id(self)

    @property
    def _version(self) -> int:
        if self.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        if thread_state.local.trace is not None:
            thread_state.local.trace.refuse("the version of a tensor is asked for")
        counter = self.__dict__.get("_counter")
        return versions.version(self._array) if counter is None else counter.count

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view[0]

    def _is_view(self) -> bool:
        return self._view is not None and self._view[0] is not None

    def is_inference(self) -> bool:
        """Whether it was made in inference mode: such tensors take no part in autograd."""
        return self._view is views.INFERENCE_TENSOR

    # --- to Python and NumPy ------------------------------------------------------------------------------------

    def item(self) -> int | float | bool:
        """The one element as a Python number.

        Raises:
            RuntimeError: if there is not exactly one.
        """
        a = self._array
        if a.size != 1:
            raise with_notes(
                RuntimeError(f"a Tensor with {a.size} elements cannot be converted to Scalar"),
                f"its shape is {list(a.shape)}",
            )
        value = a.item()
        return float(value) if a.dtype in EXTENSIONS and not self.dtype.is_complex else value

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        a = self._array
        return (a.astype(WIDE[a.dtype]) if a.dtype in EXTENSIONS else a).tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The array itself: writes are seen on both sides.

        Raises:
            RuntimeError: if the tensor requires grad (``force=True`` detaches first).
        """
        if not force and thread_state.is_grad_enabled() and self.requires_grad:
            raise self._recorded_error()
        if self._array.dtype in EXTENSIONS:
            wide = "cfloat" if self.dtype.is_complex else "float"
            raise with_notes(
                TypeError(f"Got unsupported ScalarType {type_name(self.dtype)}"),
                f"NumPy has no {self.dtype.name}; convert first: tensor.{wide}().numpy()",
            )
        if not isinstance(self._array, np.ndarray):
            return self._array.numpy()
        if force and conj_views.conj_view_of(self._array) is not None:
            return self._array.copy()
        self._refuse_conjugate()
        return self._array

    def _recorded_error(self) -> RuntimeError:
        """What to say where NumPy asks for values whose gradient would be lost."""
        return with_notes(
            RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."),
            page="numpy-of-a-tensor",
        )

    def _refuse_conjugate(self) -> None:
        """Refuse to give away an array whose writes would not reach the tensor of which it is the conjugate."""
        if conj_views.conj_view_of(self._array) is not None:
            bit, name = ("conjugate", "conj") if self._array.dtype.kind in COMPLEX_KINDS else ("negative", "neg")
            raise RuntimeError(
                f"Can't call numpy() on Tensor that has {bit} bit set. Use tensor.resolve_{name}().numpy() instead."
            )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if thread_state.is_grad_enabled() and self.requires_grad:
            raise self._recorded_error()
        self._refuse_conjugate()
        return np.array(self._array, dtype=dtype, copy=copy)

    def __dlpack__(self, **kwargs: Any) -> Any:
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if conj_views.conj_view_of(self._array) is not None:
            raise BufferError("Can't export tensors with the conjugate bit set")
        return self._array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __bool__(self) -> bool:
        if hasattr(self._array, "truth"):
            return self._array.truth()
        if self._array.size != 1:
            what = "no value" if self._array.size == 0 else "more than one value"
            raise with_notes(
                RuntimeError(f"Boolean value of Tensor with {what} is ambiguous"),
                f"its shape is {list(self._array.shape)}; say .any() or .all()",
            )
        return bool(self._array.item())

    def __int__(self) -> int:
        return int(self._real())

    def __float__(self) -> float:
        return float(self._real())

    def __complex__(self) -> complex:
        return complex(self._one())

    def __index__(self) -> int:
        if self._array.size != 1 or self._array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._array.item())

    def _real(self) -> Any:
        value = self._one()
        return dtypes.cast_number(value, dtypes.FLOAT64) if isinstance(value, complex) else value

    def _one(self) -> Any:
        if self._array.size != 1:
            raise with_notes(
                ValueError("only one element tensors can be converted to Python scalars"),
                f"its shape is {list(self._array.shape)}",
            )
        return self._array.item()

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)

    def __iter__(self) -> Iterator[Tensor]:
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (Tensor, int, float, complex, np.generic)):
            other = element._array if isinstance(element, Tensor) else element
            return bool((self._array == other).any())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __dir__(self) -> list[str]:
        return sorted(set(object.__dir__(self)))

    # --- printing -----------------------------------------------------------------------------------------------

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        try:
            node = self.grad_fn
            made_by = None if node is None else f"<{node.name()}>"
        except RuntimeError:  # a view that cannot follow its base
            made_by = "<Invalid>"
        if self._array.__class__ is not np.ndarray:
            shown = getattr(self._array, "shown", None)
            if shown is not None:
                return shown(made_by, made_by is None and self.requires_grad)
        return format_tensor(
            self._array,
            dtype=self.dtype.name,
            default_dtype=dtypes.get_default_dtype().name,
            requires_grad=made_by is None and self.requires_grad,
            grad_fn=made_by,
        )

    def __format__(self, spec: str) -> str:
        if self._array.ndim == 0 and self.__class__ in (Tensor,) and (spec or not hasattr(self._array, "truth")):
            return format(self.item(), spec)
        return object.__format__(self, spec)

    # --- copying ------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf and "_recomputed" not in self.__dict__:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment.  If you were attempting to deepcopy a module, this may be because of a torch.nn.utils."
                "weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
            )
        from copy import deepcopy

        copy = new(self.__class__)
        memo[id(self)] = copy
        copy._array = _shared_copy(self._array, memo)
        copy._fn = self._fn if self.is_leaf else None
        copy._view = copy._hooks = None
        copy._grad = None if self._grad is None else deepcopy(self._grad, memo)
        copy.__dict__.update(deepcopy({k: v for k, v in self.__dict__.items() if k not in INTERNAL_ATTRIBUTES}, memo))
        return copy

    def __reduce_ex__(self, protocol: Any) -> Any:
        state = {k: v for k, v in self.__dict__.items() if k not in INTERNAL_ATTRIBUTES}
        return _rebuild, (self.__class__, self._array, self.requires_grad, state)


class _CallableMethod(classmethod):
    """A class method that can be called as a function without the class, too."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(type(None), *args, **kwargs)


@_CallableMethod
def _disabled_torch_function(
    cls: type, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """For subclasses that are tensors like any other: operations on them return plain tensors, and ask no class."""
    local, before = thread_state.local, thread_state.local.overrides
    local.overrides = False
    try:
        return func(*args, **(kwargs or {}))
    finally:
        local.overrides = before


_disabled = _disabled_torch_function.__func__
PLAIN_TENSOR_TYPES.add(Tensor)


def recomputed(x: Tensor) -> Tensor:
    """Mark a result that a module computes anew before each use: then a deep copy of the module copies its values."""
    x.__dict__["_recomputed"] = True
    return x


def _shared_copy(array: Any, memo: dict[int, Any]) -> np.ndarray:
    """A copy of an array; arrays that share memory share it in the copy, too."""
    if not isinstance(array, np.ndarray):
        return array.copy()
    owner = versions.owner_of(array)
    if owner is array or not owner.flags.c_contiguous:
        key = id(array)
        if key not in memo:
            memo[key] = array.copy()
            memo.setdefault(id(memo), []).append(array)  # keeps the id taken
        return memo[key]
    copied = _shared_copy(owner, memo)
    offset = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    if not array.size:  # it may lie behind the memory
        offset = min(offset, copied.nbytes)
    return np.ndarray(array.shape, array.dtype, copied, offset, array.strides)


def _rebuild(cls: type, array: np.ndarray, requires_grad: bool, state: dict[str, Any]) -> Any:
    self: Any = new(cls)
    self._array, self._fn = array, LEAF if requires_grad else None
    self._view = self._grad = self._hooks = None
    self.__dict__.update(state)
    return self
