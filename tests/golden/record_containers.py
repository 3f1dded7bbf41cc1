"""Small programs about containers of modules, and the recorder of what PyTorch 2.13 says to them.

Run it where PyTorch is installed to write ``containers.json`` beside it; see :mod:`programs`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from programs import Programs, attempt, lin

programs = Programs("containers.json")


def sized(torch: Any, *sizes: int) -> list[Any]:
    return [lin(torch, n, 1) for n in sizes]


def sizes(container: Any) -> list[Any]:
    """The children's sizes with their names."""
    return [[name, module.weight.shape[1]] for name, module in container._modules.items()]


@programs
def sequentials(torch):
    Sequential = torch.nn.Sequential
    s = Sequential(*sized(torch, 1, 2, 3))
    yield [len(s), s[0] is s[-3], sizes(s[1:]), sizes(s[::2]), [m.weight.shape[1] for m in s]]
    yield [attempt(lambda: s[3]), attempt(lambda: s[-4]), attempt(lambda: s["0"] and None) == {}]
    s[1] = lin(torch, 9, 1)
    yield sizes(s)
    yield s.append(lin(torch, 4, 1)) is s
    yield s.extend(sized(torch, 5, 6)) is s
    yield s.insert(1, lin(torch, 7, 1)) is s
    yield sizes(s)
    s.insert(-1, lin(torch, 8, 1))
    yield sizes(s)
    yield [s.pop(0).weight.shape[1], s.pop(-1).weight.shape[1], sizes(s.pop(slice(0, 2)))]
    yield sizes(s)
    del s[1]
    yield sizes(s)
    del s[:1]
    yield sizes(s)
    t = Sequential(*sized(torch, 1, 2))
    yield sizes(s + t)
    yield [type(s + t).__name__, sizes(t * 2), sizes(2 * t)]
    t += s
    yield sizes(t)
    t *= 2
    yield sizes(t)
    yield attempt(lambda: t + [1])
    yield attempt(lambda: t.__iadd__([1]))
    yield attempt(lambda: t * 0)
    yield attempt(lambda: t * 1.5)
    yield attempt(lambda: t.insert(99, lin(torch)))
    yield attempt(lambda: Sequential(1))
    named = Sequential(OrderedDict(a=lin(torch, 1, 1), b=lin(torch, 2, 1)))
    yield [sizes(named), named.b is named[1], sizes(named[1:])]
    del named[0]
    yield sizes(named)
    yield Sequential(lin(torch, 2, 2), lin(torch, 2, 1))(torch.ones(1, 2)).tolist()
    yield Sequential()(3)


@programs
def module_lists(torch):
    ModuleList = torch.nn.ModuleList
    l = ModuleList(sized(torch, 1, 2, 3))
    yield [len(l), l[-1].weight.shape[1], sizes(l[:2]), type(l[1:]).__name__, [m.weight.shape[1] for m in l]]
    l.append(lin(torch, 4, 1)).extend(sized(torch, 5, 6))
    l += sized(torch, 7)
    l.insert(1, lin(torch, 8, 1))
    yield sizes(l)
    yield [l.pop(1).weight.shape[1], sizes(l)]
    del l[0], l[-1]
    del l[1:3]
    yield sizes(l)
    l[0] = lin(torch, 9, 1)
    yield [sizes(l), sizes(l + sized(torch, 1)), l[0] in l]
    yield [attempt(lambda: l[7]), attempt(lambda: l.extend(3)), attempt(lambda: ModuleList([3]))]
    yield attempt(lambda: l(1))
    yield list(ModuleList(sized(torch, 1)).state_dict())
    yield sizes(ModuleList(m for m in sized(torch, 1, 2)))


@programs
def module_dicts(torch):
    ModuleDict = torch.nn.ModuleDict
    d = ModuleDict({"b": lin(torch, 1, 1), "a": lin(torch, 2, 1)})
    yield [sizes(d), len(d), "a" in d, "c" in d, list(d), list(d.keys())]
    yield [len(list(d.values())), [name for name, _ in d.items()]]
    d["c"] = lin(torch, 3, 1)
    d.update([("x", lin(torch, 4, 1)), ("a", lin(torch, 5, 1))])
    d.update(ModuleDict({"y": lin(torch, 6, 1)}))
    yield sizes(d)
    yield [d.pop("a").weight.shape[1], sizes(d), d.c.weight.shape[1]]
    del d["x"]
    yield sizes(d)
    yield [attempt(lambda: d["zz"]), attempt(lambda: d.pop("zz")), attempt(lambda: d.update(3))]
    yield [attempt(lambda: d.update([3])), attempt(lambda: d.update([("a", 1, 2)]))]
    yield [attempt(lambda: d.__setitem__("q", 3)), attempt(lambda: ModuleDict({"keys": lin(torch)}))]
    d.clear()
    yield len(d)


@programs
def parameter_lists(torch):
    ParameterList, Parameter = torch.nn.ParameterList, torch.nn.Parameter
    l = ParameterList([torch.ones(1), Parameter(torch.ones(2)), 3])
    yield [len(l), [type(v).__name__ for v in l], [n for n, _ in l.named_parameters()], list(l.state_dict())]
    l.append(torch.zeros(3)).extend([torch.zeros(4)])
    l += [5]
    yield [len(l), l[-1], type(l[3]).__name__, list(l[3].shape)]
    yield [type(l[1:3]).__name__, len(l[1:3]), l[1:3][0] is l[1]]
    l[0] = torch.zeros(9)
    yield [list(l[0].shape), l[0].requires_grad]
    yield [attempt(lambda: l[10]), attempt(lambda: l.extend(3)), attempt(lambda: l.extend(torch.ones(2)))]
    yield attempt(lambda: l(1))


@programs
def parameter_dicts(torch):
    ParameterDict = torch.nn.ParameterDict
    d = ParameterDict({"b": torch.ones(1), "a": torch.ones(2), "n": 3})
    yield [list(d), len(d), "a" in d, [n for n, _ in d.named_parameters()], d["n"], d.a is d["a"]]
    d["c"] = torch.zeros(3)
    yield [type(d["c"]).__name__, d.get("zz"), d.get("zz", 4), d.setdefault("s", torch.ones(1)).requires_grad]
    yield [list(reversed(d)), d.pop("n"), d.popitem()[0], list(d.keys())]
    other = ParameterDict([("z", torch.ones(1)), ("b", torch.ones(5))])
    yield [list(d | other), list((d | other)["b"].shape), list(other.copy())]
    yield list(d.fromkeys(["p", "q"], 1).items())
    d |= other
    yield [list(d), list(d["b"].shape)]
    del d["z"]
    yield [list(d), attempt(lambda: d["z"])]
    yield [attempt(lambda: ParameterDict({3: torch.ones(1)})), attempt(d.update, 3), attempt(d.update, [3])]
    yield attempt(lambda: d(1))
    d.clear()
    yield [len(d), list(d.parameters())]


if __name__ == "__main__":
    programs.record()
