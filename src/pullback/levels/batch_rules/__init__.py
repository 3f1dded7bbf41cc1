"""Batching rules of ``vmap`` (functorch's BatchRules, JAX's batchers): a file for each family of operations.

Elementwise operations need none, they broadcast; those that declare ``dims`` have these shifted. An operation without a
rule runs once for each example. How a rule is written is in :mod:`pullback.levels.batch_rules.registry`.
"""

from __future__ import annotations

from . import concat as concat
from . import cross_entropy as cross_entropy
from . import flip_roll as flip_roll
from . import index as index
from . import leading_dims as leading_dims
from . import linear_embedding as linear_embedding
from . import loss as loss
from . import matmul as matmul
from . import minmax as minmax
from . import reduce as reduce
from . import slices as slices
from . import slicing_views as slicing_views
from . import sort as sort
from . import view as view
from .registry import NotBatchable as NotBatchable
from .registry import batch_rule as batch_rule
from .registry import rule_for as rule_for
from .sort import dynamic_shape_error as dynamic_shape_error
