"""Samples of what ``torch`` has beside ``torch.nn.functional``: kernels' argument orders, single steps, norms of
slices.
"""

from math import inf

import numpy as np

from .samples import ints, refuse, sample

# --- norms of slices, distances
for p in (1, 2, 2.5, inf):
    sample("renorm", (3, 4), p, 0, 1.5, inplace=True)
    sample("renorm", (2, 3, 4), p, -1, 3.0, inplace=True)
sample("renorm", (3, 4), 2, 1, 1.0, complex=True)
sample("renorm", (0, 4), 2, 1, 1.0)
refuse("renorm", (3,), 2, 0, 1.0, match="renorm: input needs at least 2 dimensions, got 1 dimensions")
refuse("renorm", (3, 4), 0, 0, 1.0, match="renorm: non-positive-norm not supported")
refuse("renorm", (3, 4), 2, 0, -1.0, match="renorm: expected maxnorm to be >= 0 but got -1")
refuse("renorm", (3, 4), 2, 2, 1.0, match="Dimension out of range", error=IndexError)
for dim in (-1, 0, 1):
    sample("norm_except_dim", (3, 4), 2, dim)
sample("norm_except_dim", (4,), low=0.5)
for p in (0.5, 1, 2, 3.0, inf):
    sample("pdist", (4, 3), p)
    sample("nn.functional.pdist", (2, 3), p)
sample("pdist", (4, 3), 0, second=False)
sample("pdist", (1, 3))
refuse("pdist", (3,), match="pdist only supports 2D tensors, got: 1D")
refuse("pdist", (3, 2), -1.0, match="pdist only supports non-negative p values")
refuse("lstm_cell", (2, 2, 3), [(2, 4), (2, 4)], (16, 3), (16, 4), match="input has inconsistent input_size")
refuse("rnn_tanh_cell", (2, 3), (1, 4), (4, 3), (4, 4), match="Input batch size 2 doesn't match hidden0 batch size 1")
refuse("gru_cell", (2, 3), (2, 1), (12, 3), (12, 4), match="hidden0 has inconsistent hidden_size: got 1, expected 4")
refuse(
    "rnn_relu_cell", (2, 3), (2, 4), (1, 3), (4, 4), match="weight_ih first dim must be 1 . hidden_size = 4, but got 1"
)

# --- sums to a shape, fingerprints
for size in ([4], [1], [3, 1], [2, 3, 4], [1, 3, 4], []):
    sample("Tensor.sum_to_size", (2, 3, 4), size, complex=True)
refuse("Tensor.sum_to_size", (2, 3), [2], match=r"size \{\[2\]\} is not expandable to size \{\[2, 3\]\}")
refuse("Tensor.sum_to_size", (2, 3), [1, 2, 3], match="is not expandable")
for kind in (np.float64, np.float32, np.int64, np.int8, np.uint8, np.bool_):
    sample("hash_tensor", ints(5, 3, 4).astype(kind))
    sample("hash_tensor", ints(5, 3, 4).astype(kind), 1, keepdim=True)
sample("hash_tensor", ints(5, 3, 4).astype(np.float64), [0, 1])
refuse("hash_tensor", ints(5, 3), mode=1, match="Unknown hash_tensor mode: 1")

# --- in the order of the kernels
sample("batch_norm", (4, 3, 2), (3,), (3,), None, None, True, 0.1, 1e-5, False)
sample("batch_norm", (4, 3), (3,), (3,), np.zeros(3), np.ones(3), False, 0.1, 1e-5, False)
sample("instance_norm", (2, 3, 5), (3,), (3,), None, None, True, 0.1, 1e-5, False)
sample("embedding", (4, 3), ints(4, 2, 2))

# --- steps of recurrent layers
for name, gates in (("rnn_tanh_cell", 1), ("rnn_relu_cell", 1), ("gru_cell", 3)):
    sample(name, (2, 3), (2, 4), (4 * gates, 3), (4 * gates, 4), (4 * gates,), (4 * gates,))
    sample(name, (2, 3), (2, 4), (4 * gates, 3), (4 * gates, 4))
sample("lstm_cell", (2, 3), [(2, 4), (2, 4)], (16, 3), (16, 4), (16,), (16,))
