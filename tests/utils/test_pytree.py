"""Nests and their leaves, with the paths to them."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from pullback.utils import _pytree as pytree

Pair = namedtuple("Pair", "a b")
NEST = {"a": [1, (2, 3)], "n": Pair(4, deque([5])), "d": defaultdict(list, {"k": 6}), "o": OrderedDict(z=7)}


def test_leaves_and_back():
    leaves, structure = pytree.tree_flatten(NEST)
    assert leaves == [1, 2, 3, 4, 5, 6, 7] and structure.num_leaves == 7
    again = pytree.tree_unflatten(leaves, structure)
    assert (
        again == NEST
        and type(again["n"]) is Pair
        and again["d"].default_factory is list
        and type(again["o"]) is OrderedDict
    )


def test_paths():
    paths = [pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(NEST)[0]]
    assert paths == ["['a'][0]", "['a'][1][0]", "['a'][1][1]", "['n'].a", "['n'].b[0]", "['d']['k']", "['o']['z']"]
    assert pytree.tree_map_with_path(lambda path, x, y: (len(path), x + y), [1, (2,)], [10, (20,)]) == [
        (1, 11),
        ((2, 22),),
    ]
    for path, leaf in pytree.tree_flatten_with_path(NEST)[0]:
        place = NEST
        for step in path:
            place = step.get(place)
        assert place == leaf


def test_registered_kinds():
    class Box:
        def __init__(self, x):
            self.x = x

    pytree.register_pytree_node(Box, lambda b: ([b.x], None), lambda parts, _: Box(*parts))
    assert pytree.tree_map(lambda x: x + 1, Box([1])).x == [2]
    with pytest.raises(ValueError, match="flatten_with_keys_fn"):
        pytree.tree_flatten_with_path(Box(1))
    pytree.register_pytree_node(
        Box,
        lambda b: ([b.x], None),
        lambda parts, _: Box(*parts),
        flatten_with_keys_fn=lambda b: ([(pytree.GetAttrKey("x"), b.x)], None),
    )
    assert pytree.keystr(pytree.tree_flatten_with_path([Box(1)])[0][0][0]) == "[0].x"
    del pytree.SUPPORTED_NODES[Box]
