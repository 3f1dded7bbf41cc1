"""Nests of lists, tuples, named tuples and dicts as a flat list of their leaves, and back."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

__all__ = ["PyTree", "TreeSpec", "tree_all", "tree_any", "tree_flatten", "tree_iter", "tree_leaves", "tree_map", "tree_map_", "tree_map_only",
           "tree_structure", "tree_unflatten", "register_pytree_node"]  # fmt: skip

PyTree = Any


class TreeSpec(NamedTuple):
    """The structure of a nest: its type, what is needed to rebuild it (the keys of a dict), and its children's structures."""

    type: Any
    context: Any
    children: tuple[TreeSpec, ...]

    @property
    def num_leaves(self) -> int:
        return 1 if self.type is None else sum(c.num_leaves for c in self.children)

    def is_leaf(self) -> bool:
        return self.type is None

    def __repr__(self) -> str:
        return self.text(0)

    def text(self, indent: int) -> str:
        if self.type is None:
            return "*"
        separator = ",\n" + " " * (indent + 2)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{separator.join([c.text(indent + 2) for c in self.children])}])"


LEAF = TreeSpec(None, None, ())
_registered: dict[type, tuple[Callable, Callable]] = {}


def register_pytree_node(cls: type, flatten_fn: Callable, unflatten_fn: Callable, **kwargs: Any) -> None:
    """Make a class a kind of nest: ``flatten_fn(x)`` gives (children, context), ``unflatten_fn(children, context)`` rebuilds."""
    _registered[cls] = flatten_fn, unflatten_fn


def _children(tree: Any) -> tuple[list[Any], Any] | None:
    cls = type(tree)
    if cls in (list, tuple, deque):
        return list(tree), None
    if cls in (dict, OrderedDict):
        return list(tree.values()), list(tree.keys())
    if cls is defaultdict:
        return list(tree.values()), (tree.default_factory, list(tree.keys()))
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return list(tree), None
    if cls in _registered:
        children, context = _registered[cls][0](tree)
        return list(children), context
    return None


def _rebuilt(spec: TreeSpec, children: list[Any]) -> Any:
    cls = spec.type
    if cls in (dict, OrderedDict):
        return cls(zip(spec.context, children))
    if cls is defaultdict:
        return defaultdict(spec.context[0], zip(spec.context[1], children))
    if cls in _registered:
        return _registered[cls][1](children, spec.context)
    return cls(*children) if hasattr(cls, "_fields") else cls(children)


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves, in order, and the structure.

    >>> tree_flatten({"a": 1, "b": (2, 3)})[0]
    [1, 2, 3]
    """
    leaves: list[Any] = []
    return leaves, _walk(tree, is_leaf, leaves)


def _walk(node: Any, is_leaf: Callable[[Any], bool] | None, leaves: list[Any]) -> TreeSpec:
    found = None if is_leaf is not None and is_leaf(node) else _children(node)
    if found is None:
        leaves.append(node)
        return LEAF
    return TreeSpec(type(node), found[1], tuple([_walk(c, is_leaf, leaves) for c in found[0]]))


def tree_unflatten(leaves: Any, spec: Any) -> Any:
    """The nest of that structure with these leaves."""
    if not isinstance(spec, TreeSpec):  # some versions take them the other way round
        leaves, spec = spec, leaves
    return _built(spec, iter(leaves))


def _built(spec: TreeSpec, leaves: Iterator[Any]) -> Any:
    return next(leaves) if spec.type is None else _rebuilt(spec, [_built(c, leaves) for c in spec.children])


def tree_map(fn: Callable, tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The same nest with ``fn`` of each leaf (and of the leaves of ``rests`` at its place)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_flatten(r, is_leaf)[0] for r in rests]
    return tree_unflatten([fn(*xs) for xs in zip(leaves, *others)], spec)


def tree_map_(fn: Callable, tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """``fn`` called on each leaf; returns the nest itself."""
    tree_map(fn, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(kind: Any, fn: Callable, tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """:func:`tree_map` on the leaves of one type, or of those for which ``kind`` is true."""
    wanted = kind if callable(kind) and not isinstance(kind, type) else lambda x: isinstance(x, kind)
    return tree_map(lambda x: fn(x) if wanted(x) else x, tree, is_leaf=is_leaf)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves, in order."""
    return tree_flatten(tree, is_leaf)[0]


tree_iter = tree_leaves


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure alone."""
    return tree_flatten(tree, is_leaf)[1]


def tree_all(pred: Callable, tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether ``pred`` holds for every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable, tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether ``pred`` holds for any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))
