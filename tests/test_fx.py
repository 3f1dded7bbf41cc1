"""``torch.fx``: tracing, changing and running graphs."""

import operator
import pickle

import pytest

import pullback as torch
import pullback.nn as nn
from pullback import fx


@fx.wrap
def helper(x, n):
    return x * n if n > 1 else x


fx.wrap("len")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.scale = nn.Parameter(torch.full((4, 1, 1), 2.0))
        self.register_buffer("shift", torch.ones(1))
        self.seq = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def forward(self, x, divisor=2.0):
        y = torch.relu(self.conv(x)) * self.scale + self.shift
        a, b = torch.chunk(y, 2, 1)
        z = self.seq(torch.cat([a, b], dim=1)).view(x.size(0), -1)
        return helper(z, 3) / divisor - z[:, 0:1].sum(dim=1, keepdim=True)


CODE = """\
def forward(self, x, divisor = 2.0):
    conv = self.conv(x)
    relu = torch.relu(conv);  conv = None
    scale = self.scale
    mul = relu * scale;  relu = scale = None
    shift = self.shift
    add = mul + shift;  mul = shift = None
    chunk = torch.chunk(add, 2, 1);  add = None
    getitem = chunk[0]
    getitem_1 = chunk[1];  chunk = None
    cat = torch.cat([getitem, getitem_1], dim = 1);  getitem = getitem_1 = None
    seq_0 = getattr(self.seq, "0")(cat);  cat = None
    seq_1 = getattr(self.seq, "1")(seq_0);  seq_0 = None
    size = x.size(0);  x = None
    view = seq_1.view(size, -1);  seq_1 = size = None
    helper = {helper}(view, 3)
    truediv = helper / divisor;  helper = divisor = None
    getitem_2 = view[(slice(None, None, None), slice(0, 1, None))];  view = None
    sum_1 = getitem_2.sum(dim = 1, keepdim = True);  getitem_2 = None
    sub = truediv - sum_1;  truediv = sum_1 = None
    return sub
"""


def test_a_traced_module_does_the_same():
    torch.manual_seed(0)
    net = Net()
    traced = fx.symbolic_trace(net)
    x = torch.randn(2, 3, 8, 8)
    assert torch.equal(traced(x), net(x)) and torch.equal(traced(x, 4.0), net(x, divisor=4.0))
    assert traced.code.strip() + "\n" == CODE.format(helper=f"{__name__}_helper".replace(".", "_"))
    assert [name for name, _ in traced.named_parameters()] == [name for name, _ in net.named_parameters()]
    traced(x).sum().backward()
    assert net.conv.weight.grad is not None  # the parts are shared
    traced.graph.lint()


def test_the_text_of_a_graph():
    traced = fx.symbolic_trace(lambda x, y=3: torch.add(x, y).relu())
    assert str(traced.graph).splitlines() == [
        "graph():",
        "    %x : [num_users=1] = placeholder[target=x]",
        "    %y : [num_users=1] = placeholder[target=y](default=3)",
        "    %add : [num_users=1] = call_function[target=torch.add](args = (%x, %y), kwargs = {})",
        "    %relu : [num_users=1] = call_method[target=relu](args = (%add,), kwargs = {})",
        "    return relu",
    ]
    assert traced(torch.tensor([-5.0, 1.0])).tolist() == [0, 4]


def test_changing_a_graph():
    traced = fx.symbolic_trace(lambda x: torch.sigmoid(x + 1))
    add = traced.graph.find_nodes(op="call_function", target=operator.add)[0]
    add.target = torch.mul
    with traced.graph.inserting_after(add):
        extra = traced.graph.call_method("neg", (add,))
    add.replace_all_uses_with(extra, lambda user: user is not extra)
    unused = traced.graph.call_function(torch.exp, (extra,))
    traced.graph.output_node().prepend(unused)
    assert traced.graph.eliminate_dead_code() and not traced.graph.eliminate_dead_code()
    traced.recompile()
    x = torch.tensor([2.0])
    assert torch.equal(traced(x), torch.sigmoid(-x))
    with pytest.raises(RuntimeError, match="still had 1 users"):
        traced.graph.erase_node(add)


def test_a_graph_made_by_hand():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    y = torch.relu(x.neg()) + 1
    graph.output((y.node, [x.node]))
    first, (second,) = fx.GraphModule(nn.Module(), graph)(torch.tensor([-3.0]))
    assert (first.item(), second.item()) == (4.0, -3.0)


def test_interpreter_and_transformer():
    traced = fx.symbolic_trace(Net())
    seen = []

    class Noting(fx.Interpreter):
        def run_node(self, node):
            seen.append(node.name)
            return super().run_node(node)

    class Softer(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(torch.tanh if target is torch.relu else target, args, kwargs)

    x = torch.randn(1, 3, 8, 8)
    assert torch.equal(Noting(traced).run(x), traced(x)) and seen == [node.name for node in traced.graph.nodes]
    softer = Softer(traced).transform()
    assert "torch.tanh(" in softer.code and "torch.relu(" not in softer.code and softer(x).shape == traced(x).shape


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x if x.sum() > 0 else -x,
        lambda x: sum(row for row in x),
        lambda *x: x[0],
    ],
)
def test_what_cannot_be_traced(program):
    with pytest.raises(fx.TraceError):
        fx.symbolic_trace(program)


def test_modules_that_are_recorded_whole():
    class Whole(fx.Tracer):
        def is_leaf_module(self, m, name):
            return isinstance(m, nn.Sequential) or super().is_leaf_module(m, name)

    graph = Whole().trace(Net())
    assert "seq" in [node.target for node in graph.nodes if node.op == "call_module"]
    assert fx.symbolic_trace(lambda x, flag: x + 1 if flag else x, {"flag": True})(torch.zeros(1)).item() == 1


def test_tracing_leaves_nothing_behind():
    before = nn.Module.__call__, torch.chunk, helper, globals()["helper"]
    fx.symbolic_trace(Net())
    assert (nn.Module.__call__, torch.chunk, helper, globals()["helper"]) == before


@pytest.mark.torch
def test_code_is_pytorchs():
    reference = pytest.importorskip("torch")
    import torch.fx  # noqa: F401

    def program(x, y):
        a, b = x.split(2, dim=1)
        return (a @ b.transpose(0, 1)).softmax(-1) * 2 - y.shape[0] ** 2, {"b": ~(b > 0)}

    ours, theirs = fx.symbolic_trace(program), reference.fx.symbolic_trace(program)
    assert ours.code == theirs.code and str(ours.graph) == str(theirs.graph)
    assert [(n.op, n.name) for n in ours.graph.nodes] == [(n.op, n.name) for n in theirs.graph.nodes]


def test_a_place_for_new_nodes_holds_without_with():
    traced = fx.symbolic_trace(lambda x: torch.relu(x))
    graph = traced.graph
    (relu,) = graph.find_nodes(op="call_function")

    def names():
        return [node.name for node in graph.nodes]

    graph.inserting_after(relu)
    graph.call_function(torch.tanh, (relu,))
    graph.call_function(torch.exp, (relu,))
    assert names() == ["x", "relu", "exp", "tanh", "output"]
    graph.inserting_before(relu)
    with graph.inserting_before(graph.output_node()):
        graph.call_function(torch.cos, (relu,))
    graph.call_function(torch.sin, relu.args)
    graph.call_function(torch.abs, relu.args)
    assert names() == ["x", "sin", "abs_1", "relu", "exp", "tanh", "cos", "output"]


def by_hand():
    graph = fx.Graph()
    return graph, fx.Proxy(graph.placeholder("x"))


FUNCTIONS = {
    "cat": lambda x: torch.cat([x, x]),
    "stack": lambda x: torch.stack([x, x]),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "einsum of a list": lambda x: torch.einsum("ij,jk->ik", [x, x]),
    "where": lambda x: torch.where(x, 1, 0),
    "max": lambda x: torch.max(x, 0),
    "split": lambda x: torch.split(x, 2),
    "broadcast_tensors": lambda x: torch.broadcast_tensors(x, x),
    "relu": lambda x: torch.relu(x),
    "softmax": lambda x: torch.softmax(x, 0),
    "zeros_like": lambda x: torch.zeros_like(x),
    "sum": lambda x: torch.sum(input=x),
    "norm": lambda x: torch.norm(x),
    "unique": lambda x: torch.unique(x),
    "add": lambda x: torch.add(1, x),
    "dropout": lambda x: nn.functional.dropout(x, 0.5),
    "conv2d": lambda x: nn.functional.conv2d(x, x),
    "interpolate": lambda x: nn.functional.interpolate(x, scale_factor=2),
    "fft_fft": lambda x: torch.fft.fft(x),
    "linalg_inv": lambda x: torch.linalg.inv(x),
    "_assert": lambda x: torch._assert(x, "message"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_record_what_is_done_to_a_proxy_outside_of_traces(name):
    graph, x = by_hand()
    result = FUNCTIONS[name](x)
    assert isinstance(result, fx.Proxy)
    ((call,)) = [node for node in graph.nodes if node.op != "placeholder"]
    assert call.op == "call_function" and call.target.__name__ == name.partition(" ")[0]
    if name.startswith("einsum"):
        assert call.args == ("ij,jk->ik", *[node for node in graph.nodes if node.op == "placeholder"] * 2)


def test_an_assertion_asserts():
    torch._assert(True, "holds")
    with pytest.raises(AssertionError, match="does not"):
        torch._assert(torch.tensor(False), "does not")


def test_graph_modules_are_pickled():
    traced = fx.symbolic_trace(Net().eval())
    x = torch.ones(1, 3, 8, 8)
    again = pickle.loads(pickle.dumps(traced))
    assert not again.training
    assert torch.equal(again(x)[0], traced(x)[0]) if isinstance(traced(x), tuple) else torch.equal(again(x), traced(x))
    assert again.code == traced.code
    assert type(fx.GraphModule({}, by_hand()[0], "Mine")).__name__ == "Mine"
