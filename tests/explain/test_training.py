"""`watch` and `summary`."""

from __future__ import annotations

import json
import math
import warnings

import pytest

import pullback as torch
from pullback import nn
from pullback.engine import hooks
from pullback.explain.summary import Summary
from pullback.optim import optimizer as optimizers

F = nn.functional


def train(net, steps, lr=0.05, scale=lambda k: 1.0):
    torch.manual_seed(1)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for k in range(steps):
        optimizer.zero_grad()
        ((net(x) - y) ** 2).mean().mul(scale(k)).backward()
        optimizer.step()


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def test_records():
    net = network()
    with torch.watch(net, every=2) as w:
        train(net, 5)
    assert [r.step for r in w.records] == [1, 3, 5] and w.steps == 5
    last = w.records[-1]
    norm = math.sqrt(sum(float(p.grad.square().sum()) for p in net[0].parameters()))
    assert last.gradients["0"] == pytest.approx(norm) and last.updates["0"] == pytest.approx(0.05 * norm, rel=1e-3)
    assert set(last.values) == {"0", "2"}
    assert not optimizers._global_optimizer_pre_hooks and not optimizers._global_optimizer_post_hooks
    train(net, 1)
    assert w.steps == 5
    assert "update / value" in str(w) and json.dumps(w.to_dict())


def test_other_optimizers_are_not_counted():
    net, other = network(), network()
    with torch.watch(net) as w:
        train(other, 3)
    assert w.steps == 0 and w.records == []


def test_findings_as_they_appear():
    net, found = network(), []
    with torch.watch(net, every=1, on_finding=found.append) as w:
        train(net, 25, lr=1e-4, scale=lambda k: 1e6 if k == 20 else 1.0)
    assert {f.kind for f in found} == {"exploding"} and "at step 21" in found[0].text and found == w.findings


def test_nan_stalled_and_unused_layers():
    net = network()
    net.add_module("spare", nn.Identity())
    net.spare.weight = nn.Parameter(torch.ones(3))
    with torch.watch(net, every=1, on_finding=lambda f: None) as w:
        train(net, 12, lr=1e-12)
        train(net, 1, scale=lambda k: math.nan)
    kinds = {(f.kind, name) for f in w.findings for name in f.leaves}
    assert {("no-gradient", "spare"), ("stalled", "0"), ("nan", "0"), ("nan", "2")} <= kinds


def test_what_is_no_finding():
    """Frozen layers, and a minimum, where gradients are as good as nothing."""
    net = network()
    for p in net[0].parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    x = torch.randn(16, 4)
    with torch.watch(net, every=10) as w:
        for _ in range(1000):
            optimizer.zero_grad()
            (net(x) ** 2).mean().backward()
            optimizer.step()
    assert w.records[-1].gradients["2"] < 1e-3 * w.records[0].gradients["2"]
    assert w.findings == []


def test_optimizers_that_take_turns():
    net = network()
    first, second = (torch.optim.SGD(net[i].parameters(), lr=0.05) for i in (0, 2))
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    with torch.watch(net, every=1) as w:
        for k in range(40):
            optimizer = (first, second)[k % 2]
            net.zero_grad()
            ((net(x) - y) ** 2).mean().backward()
            optimizer.step()
    assert w.findings == [] and [set(r.updates) for r in w.records[:2]] == [{"0"}, {"2"}]
    assert str(w).count("\n") >= 4 and json.dumps(w.to_dict()) and w.to_html()


def test_findings_are_warnings_by_default():
    net = network()
    with pytest.warns(UserWarning, match="not finite at step 1"), torch.watch(net, every=1):
        train(net, 1, scale=lambda k: math.inf)


def test_a_writer_is_told():
    told = []

    class Writer:
        def add_scalar(self, tag, value, step):
            told.append((tag, step))

    net = network()
    with torch.watch(net, every=1, writer=Writer()):
        train(net, 1)
    assert told == [("gradients/0", 1), ("gradients/2", 1), ("updates/0", 1), ("updates/2", 1)]


def test_which_steps_are_recorded_depends_on_their_numbers_alone():
    seen = []
    for _ in range(2):
        net = network()
        with torch.watch(net) as w:
            train(net, 2500, lr=0.01)
        seen.append([r.step for r in w.records])
    assert seen[0] == seen[1] == [*range(1, 101), *range(120, 2101, 20), *seen[0][200:]]
    assert len(seen[0]) < 220 and max(b - a for a, b in zip(seen[0], seen[0][1:])) == 24
    assert all(r.loss is not None and r.loss > 0 for r in w.records) and w.records[-1].loss < w.records[0].loss


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_norms_of_small_large_sparse_and_absent_gradients(dtype):
    torch.manual_seed(0)
    net = nn.ModuleDict({"words": nn.Embedding(5, 3, sparse=True), "wide": nn.Linear(3, 600), "spare": nn.Linear(2, 2)})
    net.to(dtype)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    with torch.watch(net, every=1) as w:
        for size in (600, 7):  # parameters may change their shape on the way
            net["wide"].weight.data, net["wide"].bias.data = torch.randn(size, 3).to(dtype), torch.zeros(size).to(dtype)
            before = {name: p.detach().clone() for name, p in net.named_parameters()}
            optimizer.zero_grad()
            net["wide"](net["words"](torch.tensor([1, 1, 4]))).square().mean().backward()
            optimizer.step()
            record = w.records[-1]
            for layer in net:
                of = {n: p for n, p in net.named_parameters() if n.startswith(layer)}
                total = lambda tensors: math.sqrt(sum(float(t.to_dense().square().sum()) for t in tensors))  # noqa: E731
                gradients = [p.grad for p in of.values() if p.grad is not None]
                assert record.gradients[layer] == pytest.approx(total(gradients), rel=1e-5)
                assert record.updates[layer] == pytest.approx(total(p - before[n] for n, p in of.items()), rel=1e-4)
                assert record.values[layer] == pytest.approx(total(before[n] for n in of), rel=1e-5)


def test_watching_leaves_backward_on_its_fast_path():
    with torch.watch(network(), every=1):
        assert not hooks.observers and not hooks.begin_observers and len(hooks.beginnings) == 1
    assert not hooks.beginnings


def test_layers_that_share_a_fault_are_one_finding_at_the_programs_line():
    net = network()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.watch(net, every=1) as w:
            train(net, 1, scale=lambda k: math.nan)
    (finding,) = w.findings
    assert finding.leaves == ["0", "2"] and "Likewise `2`" in finding.text
    assert [c.filename for c in caught] == [__file__] and caught[0].lineno == finding.line


def test_the_page_and_the_notebook():
    net = network()
    with torch.watch(net) as w:
        train(net, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "<svg" not in w.to_html() and w._repr_html_().startswith("<iframe")


# --- summary


def test_layers_parameters_and_operations():
    net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 5))
    s = torch.summary(net, torch.zeros(2, 2, 6, 6))
    rows = {r.path: r for r in s.rows}
    assert rows["0"].outputs == [(2, 3, 4, 4)] and rows[""].outputs == [(2, 5)]
    assert (rows["0"].parameters, rows["3"].parameters, s.parameters) == (57, 245, 302)
    # of the input no gradient is wanted
    assert rows["0"].forward == 2 * (2 * 3 * 9) * (2 * 4 * 4) and rows["0"].backward == rows["0"].forward
    assert rows["1"].forward == 96 and rows["2"].forward == 0
    assert rows["3"].forward == 2 * 2 * 48 * 5 + 10
    assert rows["1"].kept == 96 * 4
    assert isinstance(s, Summary) and "Conv2d" in str(s) and max(map(len, str(s).splitlines())) <= 80


def test_the_model_is_left_as_it_was():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    net[0].requires_grad_(False)
    before = {k: v.clone() for k, v in net.state_dict().items()}
    x = torch.randn(5, 3)
    s = torch.summary(net, x)
    assert s.trainable == 8 and s.parameters == 24 and not x.requires_grad
    assert all(p.grad is None for p in net.parameters())
    for k, v in net.state_dict().items():
        assert torch.equal(v, before[k]), k


def test_shared_modules_are_counted_by_call():
    layer = nn.Linear(4, 4, bias=False)
    s = torch.summary(nn.Sequential(layer, layer), torch.zeros(2, 4))
    row = next(r for r in s.rows if r.path == "0")
    assert row.calls == 2 and row.forward == 2 * 2 * 2 * 16 and s.parameters == 16


def test_operations_by_hand():
    class Attention(nn.Module):
        def forward(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v)

    zeros = torch.zeros
    assert torch.summary(nn.Conv2d(4, 8, 3, stride=2, padding=1, groups=2), zeros(2, 4, 9, 9)).forward == 2 * (
        2 * 8 * 25
    ) * (2 * 9)
    assert torch.summary(nn.ConvTranspose2d(4, 8, 3, stride=2), zeros(2, 4, 5, 5)).forward == 2 * (2 * 4 * 25) * (8 * 9)
    for batch in (2, 200):  # of many there is a kernel
        weights = batch * 4 * 6 * 7
        s = torch.summary(Attention(), *[zeros(batch, 4, n, d).requires_grad_() for n, d in ((6, 8), (7, 8), (7, 5))])
        assert s.forward == weights * (2 * 8 + 1 + 2 * 5) and s.backward == weights * (2 * 2 * 8 + 1 + 2 * 2 * 5)
    for layer, gates in ((nn.LSTM(3, 4), 4), (nn.GRU(3, 4), 3), (nn.RNN(3, 4), 1)):
        rows, width = 6 * 2, 4 * gates
        exactly = 2 * rows * width * (3 + 4) + rows * width + rows * width  # the products, the bias, the gates
        s = torch.summary(layer, zeros(6, 2, 3))
        assert exactly <= s.forward <= exactly + 2 * width
        # nobody asks for the gradient of the input, but for that of every hidden state
        back = 2 * rows * width * (3 + 2 * 4) + 2 * rows * width
        assert back <= s.backward <= back + 2 * width
    tokens = 2 * 6
    s = torch.summary(nn.MultiheadAttention(16, 4, batch_first=True), *[zeros(2, 6, 16)] * 3, need_weights=False)
    inner = tokens * 6 * 4  # weights of the attention: for each token and head one a token
    assert s.forward == tokens * (2 * 16 * 48 + 48) + inner * (2 * 4 + 1 + 2 * 4) + tokens * (2 * 16 * 16 + 16)
    assert s.backward == tokens * (2 * 16 * 48 + 48) + inner * (4 * 4 + 1 + 4 * 4) + tokens * (4 * 16 * 16 + 16)


def test_what_training_computes_no_gradient_for():
    net = nn.Sequential(nn.Linear(5, 7), nn.Linear(7, 2))
    first, second, biases = 2 * 3 * 35, 2 * 3 * 14, 21 + 6
    assert torch.summary(net, torch.zeros(3, 5)).backward == first + 2 * second + biases
    assert torch.summary(net, torch.zeros(3, 5, requires_grad=True)).backward == 2 * first + 2 * second + biases
    net[0].requires_grad_(False)
    s = torch.summary(net, torch.zeros(3, 5))
    assert (
        (s.forward, s.backward) == (first + second + biases, second + 6)
        and not net[0].weight.requires_grad
        and net[1].weight.requires_grad
    )


def test_what_lies_behind_a_detach_is_counted():
    class Cut(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 2)

        def forward(self, x):
            return self.b(self.a(x).detach())

    assert torch.summary(Cut(), torch.zeros(2, 3)).forward == 2 * 2 * 12 + 8 + 2 * 2 * 8 + 4
