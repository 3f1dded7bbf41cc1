"""``torch.sparse``: products, sums and softmax of sparse tensors, with gradients that are sparse, too.

>>> import pullback as torch
>>> a = torch.eye(2).to_sparse().requires_grad_()
>>> torch.sparse.mm(a, torch.tensor([[1.0], [2.0]])).sum().backward(); a.grad.to_dense()
tensor([[1., 0.],
        [0., 2.]])
"""

from ..ops.sparse import addmm as addmm
from ..ops.sparse import log_softmax as log_softmax
from ..ops.sparse import mm as mm
from ..ops.sparse import softmax as softmax
from ..ops.sparse import sum as sum
from .tensor_types import __all__ as _TENSOR_TYPES
from .tensor_types import make as _tensor_type

__all__ = ["addmm", "log_softmax", "mm", "softmax", "sum"]

globals().update({name: _tensor_type(name, "torch.sparse") for name in _TENSOR_TYPES if name != "BoolTensor"})
