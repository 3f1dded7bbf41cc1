"""Containers: the programs of ``golden/record_containers.py``."""

import pytest
from record_containers import programs, sized, sizes
from recorded import Recorded

import pullback
from programs import lin
from pullback import nn


class TestPrograms(Recorded):
    tables = (programs,)


def test_inserting_into_a_named_sequential_renumbers_it():
    """PyTorch raises KeyError here."""
    s = nn.Sequential(*sized(pullback, 1, 2))
    s._modules = {"a": s[0], "b": s[1]}
    s.insert(1, lin(pullback, 3, 1))
    assert sizes(s) == [["0", 1], ["1", 3], ["2", 2]]


def test_inserting_behind_the_end_of_a_list_appends():
    """PyTorch leaves a hole in the numbers here."""
    l = nn.ModuleList(sized(pullback, 1))
    l.insert(7, lin(pullback, 2, 1))
    l.insert(-1, lin(pullback, 3, 1))
    assert sizes(l) == [["0", 1], ["1", 3], ["2", 2]]


def test_a_refused_key_leaves_a_parameter_dict_as_it_was():
    d = nn.ParameterDict({"a": pullback.ones(1)})
    with pytest.raises(TypeError, match="cannot be used as a key"):
        d[3] = pullback.ones(1)
    assert list(d) == ["a"]


def test_extending_a_container_by_itself_ends():
    s = nn.Sequential(*sized(pullback, 1, 2))
    assert len(s.extend(s)) == 4
    l = nn.ParameterList([pullback.ones(1)])
    assert len(l.extend(l)) == 2
