"""The whole idea of Pullback in one file: PyTorch's autograd, with derivatives of any order, on nothing but NumPy.

From top to bottom: a `Tensor` is an array and the node of the graph that it comes from. A `Node` is a recorded
operation, with edges to the nodes that its arguments come from, or a leaf, where the graph ends. An `Op` is a forward
function and one formula per argument, its vjp (vector-Jacobian product): from `g`, the cotangent of the result, it
computes the cotangent of the argument. Formulas are written with the same operations as everything else, so what they
are given decides what happens: arrays are computed with, tensors are also recorded, and what is recorded can be
differentiated again. The operations follow, a line each. The engine is `pull_back`; `backward` and `grad` start it.

What is `gradient` in `y.backward(gradient)`? The seed: the cotangent of `y` itself, which says how much each element of
`y` counts. The chain rule leads from there to all that `y` was made of, but it has to begin somewhere. If `y` is one
number, it begins with dy/dy = 1, which may be left out. Otherwise only the caller can say:

>>> x = Tensor([2.0, 3.0], requires_grad=True)
>>> y = x * x
>>> y.backward()
Traceback (most recent call last):
    ...
RuntimeError: grad can be implicitly created only for scalar outputs
>>> y.backward(gradient=[1.0, 0.5])
>>> x.grad
Tensor([4., 3.])

And a second derivative is the derivative of a first one that was recorded:

>>> x = Tensor(3.0, requires_grad=True)
>>> [first] = grad([x**3], [x], create_graph=True)
>>> [second] = grad([first], [x])
>>> first, second
(Tensor(27.), Tensor(18.))
"""

from heapq import heappop, heappush
from inspect import signature
from itertools import count

import numpy as np


class Tensor:
    """An array, and the node that it comes from; a constant comes from none."""

    __array_ufunc__ = None  # so that NumPy leaves `array * tensor` to the tensor

    def __init__(self, data, requires_grad=False, node=None):
        self.array = np.asarray(data, dtype=float)
        self.node = Node(self.array.shape) if requires_grad else node

    __repr__ = lambda x: f"Tensor({np.array2string(x.array, separator=', ')})"
    shape = property(lambda x: x.array.shape)
    grad = property(lambda x: x.node and x.node.grad, lambda x, value: setattr(x.node, "grad", value))
    backward = lambda y, gradient=None: backward(y, gradient)
    __add__ = __radd__ = lambda x, y: add(x, y)
    __mul__ = __rmul__ = lambda x, y: mul(x, y)
    __neg__ = lambda x: neg(x)
    __pow__ = lambda x, n: power(x, n)
    __sub__ = lambda x, y: x + -y
    __rsub__ = lambda x, y: -x + y
    __truediv__ = lambda x, y: x * y**-1.0
    __rtruediv__ = lambda x, y: x**-1.0 * y
    __matmul__ = lambda x, y: matmul(x, y)
    __rmatmul__ = lambda x, y: matmul(y, x)
    mT = property(lambda x: transpose(x))
    reshape = lambda x, shape: reshape(x, shape)
    sum = lambda x, axis=None: total(x, axis).reshape(() if axis is None else x.shape[:axis] + x.shape[axis:][1:])


class Node:
    """A recorded operation; or a leaf, which has no operation, and keeps in `grad` what arrives there."""

    clock = count()

    def __init__(self, shape, op=None, edges=(), saved=()):
        self.shape, self.op, self.grad = shape, op, None
        self.edges = dict(edges)  # an argument's name -> the node it comes from; not the tensor, so there are no cycles
        self.saved = dict(saved)  # name -> value: what the formulas of these arguments ask for
        self.number = next(Node.clock)  # its sequence number: larger than those of all nodes that edges lead to

    def vjps(self, g):
        """From the cotangent of the result: for each edge, the node it leads to and the cotangent that goes there."""
        saved = self.saved
        if isinstance(g, Tensor):  # formulas will record: what was saved as an array needs its old place in the graph
            places = self.edges | {"out": self}
            saved = {name: Tensor(v, node=places[name]) if name in places else v for name, v in saved.items()}
        for arg, node in self.edges.items():
            yield node, self.op.formulas[arg](g, *[saved[name] for name in self.op.needs[arg]])


class Op:
    """A forward function of arrays, and a formula for each argument that can be differentiated.

    The names in a formula's signature say what it needs: `g`, then arguments, their shapes (`x_shape`), the result
    (`out`). A node saves that and no more: `exp(x)` its result and not `x`, `x * 3` nothing of `x`.
    """

    def __init__(self, forward, **formulas):
        self.forward, self.formulas = forward, formulas
        self.args = list(signature(forward).parameters)
        self.needs = {arg: list(signature(formula).parameters)[1:] for arg, formula in formulas.items()}

    def __call__(self, *args):
        known = dict(zip(self.args, args, strict=True))
        tensors = {arg: x for arg, x in known.items() if isinstance(x, Tensor)}
        known |= {arg: x.array for arg, x in tensors.items()}
        out = self.forward(**known)
        if not tensors:
            return out  # arrays alone are computed with
        edges = {arg: x.node for arg, x in tensors.items() if x.node}
        known |= {"out": out} | {f"{arg}_shape": x.shape for arg, x in tensors.items()}
        saved = {name: known[name] for arg in edges for name in self.needs[arg]}
        return Tensor(out, node=Node(np.shape(out), self, edges, saved) if edges else None)


# Operands may broadcast, and no formula has to care: the engine unbroadcasts.
add = Op(lambda x, y: x + y, x=lambda g: g, y=lambda g: g)
mul = Op(lambda x, y: x * y, x=lambda g, y: g * y, y=lambda g, x: g * x)
neg = Op(lambda x: -x, x=lambda g: -g)
power = Op(lambda x, n: x**n, x=lambda g, x, n: g * (n * x ** (n - 1 if n else 0)))  # n is a number
exp = Op(lambda x: np.exp(x), x=lambda g, out: g * out)
log = Op(lambda x: np.log(x), x=lambda g, x: g / x)
tanh = Op(lambda x: np.tanh(x), x=lambda g, out: g * (1 - out * out))
# Of matrices, or stacks of them. With its axes named, NumPy refuses vectors: their formulas would be others.
matmul = Op(lambda x, y: np.matmul(x, y, axes=[(-2, -1)] * 3), x=lambda g, y: g @ y.mT, y=lambda g, x: x.mT @ g)
transpose = Op(lambda x: np.matrix_transpose(x), x=lambda g: g.mT)
reshape = Op(lambda x, shape: np.reshape(x, shape), x=lambda g, x_shape: g.reshape(x_shape))
# What broadcasting repeats, a sum adds up: each is the other's vjp.
broadcast = Op(lambda x, shape: np.broadcast_to(x, shape), x=lambda g, x_shape: unbroadcast(g, x_shape))
total = Op(lambda x, axes: np.sum(x, axes, keepdims=True), x=lambda g, x_shape: broadcast(g, x_shape))


def unbroadcast(g, shape):
    """Sum over the axes that broadcasting put in front of `shape`, and over those that it stretched from 1."""
    axes = tuple(i for i in range(-len(g.shape), 0) if i < -len(shape) or shape[i] == 1)
    return total(g, axes).reshape(shape)


def pull_back(outputs, seeds, record):
    """The engine: from the seeds of the outputs, the cotangents of all nodes that they come from.

    Of the nodes that wait, the latest goes first. All that consumed its result is later still, and so is done: its
    cotangent is complete. That takes no recursion, no topological sort and no counting of consumers.
    """
    heap, cotangents = [], {}

    def arrive(node, g):
        if g.shape != node.shape:
            g = unbroadcast(g, node.shape)
        if node not in cotangents:
            heappush(heap, (-node.number, node))
        cotangents[node] = cotangents[node] + g if node in cotangents else g

    for y, seed in zip(outputs, seeds, strict=True):
        if y.node is None:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        if seed is None and y.array.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        seed = seed if isinstance(seed, Tensor) else Tensor(np.ones(y.shape) if seed is None else seed)
        if seed.shape != y.shape:
            raise RuntimeError(f"the seed has shape {seed.shape}, its output {y.shape}")
        arrive(y.node, seed if record else seed.array)
    while heap:
        _, node = heappop(heap)
        for source, g in node.vjps(cotangents[node]):
            arrive(source, g)
    return cotangents if record else {node: Tensor(g) for node, g in cotangents.items()}


def backward(y, gradient=None):
    """Pull the seed of `y` back to the leaves; each adds what arrives to its `grad`."""
    for node, g in pull_back([y], [gradient], record=False).items():
        if node.op is None:
            node.grad = g + (node.grad or 0)


def grad(outputs, inputs, grad_outputs=None, create_graph=False):
    """Pull the seeds of the outputs back to the inputs: what arrives at each, None where nothing does."""
    cotangents = pull_back(outputs, grad_outputs or [None] * len(outputs), record=create_graph)
    return tuple(cotangents.get(x.node) for x in inputs)
