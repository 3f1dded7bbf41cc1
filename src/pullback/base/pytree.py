"""``torch.utils._pytree``: flatten nested lists, tuples, named tuples and dicts to their leaves, and rebuild them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .shape import Size

__all__ = [
    "GetAttrKey",
    "LeafSpec",
    "MappingKey",
    "PyTree",
    "SUPPORTED_NODES",
    "SequenceKey",
    "TreeSpec",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Context = Any


class TreeSpec(NamedTuple):
    """The structure of a pytree: its type, the context to rebuild it (the keys of a dict), and its children's specs."""

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
        children = separator.join([c.text(indent + 2) for c in self.children])
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __new__(cls) -> LeafSpec:
        return super().__new__(cls, None, None, ())


class NodeDef(NamedTuple):
    """How a type of pytree node is flattened and unflattened."""

    type: Any
    flatten_fn: Callable
    unflatten_fn: Callable
    flatten_with_keys_fn: Callable | None = None


LEAF = LeafSpec()


class MappingKey(NamedTuple):
    """A step of a path: into a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


class SequenceKey(NamedTuple):
    """A step of a path: into a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


class GetAttrKey(NamedTuple):
    """A step of a path: to an attribute, such as a field of a named tuple."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


def register_pytree_node(
    cls: type,
    flatten_fn: Callable,
    unflatten_fn: Callable,
    *,
    flatten_with_keys_fn: Callable | None = None,
    **kwargs: Any,
) -> None:
    """Register a class as a pytree node.

    Args:
        flatten_fn: gives (children, context).
        unflatten_fn: rebuilds, from children and context.
        flatten_with_keys_fn: gives (pairs of key and child, context), for :func:`tree_flatten_with_path`.
    """
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def _mapping_node_def(cls: Any) -> NodeDef:
    return NodeDef(cls, lambda m: (list(m.values()), list(m)), lambda values, keys: cls(zip(keys, values)))


def _sequence_node_def(cls: Any) -> NodeDef:
    return NodeDef(cls, lambda s: (list(s), None), lambda parts, _: cls(parts))


SUPPORTED_NODES: dict[Any, NodeDef] = {cls: _sequence_node_def(cls) for cls in (list, tuple, deque)}
SUPPORTED_NODES[Size] = NodeDef(Size, lambda size: (list(size), None), lambda parts, _: tuple(parts))
SUPPORTED_NODES |= {cls: _mapping_node_def(cls) for cls in (dict, OrderedDict)}
SUPPORTED_NODES[defaultdict] = NodeDef(
    defaultdict,
    lambda m: (list(m.values()), (m.default_factory, list(m))),
    lambda values, context: defaultdict(context[0], zip(context[1], values)),
)
_register_pytree_node = register_pytree_node  # its first name
_list_flatten, _list_unflatten = SUPPORTED_NODES[list][1:3]
_tuple_flatten, _tuple_unflatten = SUPPORTED_NODES[tuple][1:3]
_dict_flatten, _dict_unflatten = SUPPORTED_NODES[dict][1:3]
_odict_flatten, _odict_unflatten = SUPPORTED_NODES[OrderedDict][1:3]
SUPPORTED_NODES[namedtuple] = NodeDef(namedtuple, lambda t: (list(t), type(t)), lambda parts, cls: cls(*parts))


def _get_node_type(tree: Any) -> Any:
    """The registered type of a node (``namedtuple`` for all named tuples), or of a leaf its class."""
    cls = type(tree)
    if cls in SUPPORTED_NODES or not isinstance(tree, tuple):
        return cls
    return namedtuple if hasattr(tree, "_fields") and not isinstance(tree, TreeSpec) else cls


def _children(tree: Any) -> tuple[list[Any], Any] | None:
    kind = SUPPORTED_NODES.get(_get_node_type(tree))
    if kind is None:
        return None
    children, context = kind.flatten_fn(tree)
    return list(children), context


def _dict_flatten_with_keys(mapping: Any) -> tuple[list[tuple[MappingKey, Any]], list[Any]]:
    return [(MappingKey(key), value) for key, value in mapping.items()], list(mapping)


def _list_flatten_with_keys(items: list[Any]) -> tuple[list[tuple[SequenceKey, Any]], None]:
    return [(SequenceKey(i), item) for i, item in enumerate(items)], None


_tuple_flatten_with_keys = _list_flatten_with_keys


def _child_keys(tree: Any, children: list[Any]) -> list[Any]:
    """The keys of a node's children."""
    cls = _get_node_type(tree)
    if (with_keys := SUPPORTED_NODES[cls].flatten_with_keys_fn) is not None:
        return [key for key, _ in with_keys(tree)[0]]
    if cls is namedtuple:
        return [*map(GetAttrKey, tree._fields)]
    if cls in (dict, OrderedDict, defaultdict):
        return [*map(MappingKey, tree)]
    if cls in (list, tuple, deque):
        return [*map(SequenceKey, range(len(children)))]
    raise ValueError(
        f"Did not find a flatten_with_keys_fn for type: {cls}. Please pass a flatten_with_keys_fn argument to "
        "register_pytree_node."
    )


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether something has no children.

    >>> tree_is_leaf(1), tree_is_leaf([1])
    (True, False)
    """
    return is_leaf is not None and is_leaf(tree) or _children(tree) is None


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves, in order, and the structure.

    >>> tree_flatten({"a": 1, "b": (2, 3)})[0]
    [1, 2, 3]
    """
    leaves: list[Any] = []
    return leaves, _walk(tree, is_leaf, leaves)


def _walk(node: Any, is_leaf: Callable[[Any], bool] | None, leaves: list[Any]) -> TreeSpec:
    cls = type(node)
    if cls not in SUPPORTED_NODES and isinstance(node, tuple):
        cls = _get_node_type(node)
    kind = None if is_leaf is not None and is_leaf(node) else SUPPORTED_NODES.get(cls)
    if kind is None:
        leaves.append(node)
        return LEAF
    children, context = kind.flatten_fn(node)
    specs: list[TreeSpec] = []
    for c in children:
        # most children are leaves
        if is_leaf is None and type(c) not in SUPPORTED_NODES and not isinstance(c, tuple):
            leaves.append(c)
            specs.append(LEAF)
        else:
            specs.append(_walk(c, is_leaf, leaves))
    return TreeSpec(cls, context, tuple(specs))


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """Pairs of the path to a leaf and the leaf, in order, and the structure.

    >>> [(keystr(path), leaf) for path, leaf in tree_flatten_with_path({"a": 1, "b": (2, 3)})[0]]
    [("['a']", 1), ("['b'][0]", 2), ("['b'][1]", 3)]
    """
    return list(_paths(tree, is_leaf, ())), tree_structure(tree, is_leaf)


def _paths(
    node: Any, is_leaf: Callable[[Any], bool] | None, path: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    found = None if is_leaf is not None and is_leaf(node) else _children(node)
    if found is None:
        yield path, node
        return
    for step, child in zip(_child_keys(node, found[0]), found[0]):
        yield from _paths(child, is_leaf, (*path, step))


def tree_map_with_path(fn: Callable, tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """:func:`tree_map` with the path to the leaf as the first argument of ``fn``."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [tree_leaves(r, is_leaf) for r in rests]
    return tree_unflatten(
        [fn(path, *xs) for (path, leaf), *rest in zip(pairs, *others) for xs in [(leaf, *rest)]], spec
    )


def keystr(path: tuple[Any, ...]) -> str:
    """A path as Python would write it."""
    return "".join(map(str, path))


def tree_unflatten(leaves: Any, spec: Any) -> Any:
    """The pytree of that structure with these leaves."""
    if not isinstance(spec, TreeSpec):  # some versions of PyTorch have the arguments in the other order
        leaves, spec = spec, leaves
    return _rebuild(spec, iter(leaves))


def _rebuild(spec: TreeSpec, leaves: Iterator[Any]) -> Any:
    if spec.type is None:
        return next(leaves)
    children = [next(leaves) if c is LEAF else _rebuild(c, leaves) for c in spec.children]
    return SUPPORTED_NODES[spec.type].unflatten_fn(children, spec.context)


def tree_map(fn: Callable, tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The same pytree with ``fn`` applied to each leaf (and to the corresponding leaves of ``rests``)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_flatten(r, is_leaf)[0] for r in rests]
    return tree_unflatten([fn(*xs) for xs in zip(leaves, *others)], spec)


def tree_map_(fn: Callable, tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """``fn`` called on each leaf; returns the pytree itself."""
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
    """The structure of a pytree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_all(pred: Callable, tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether ``pred`` holds for every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable, tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether ``pred`` holds for any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))
