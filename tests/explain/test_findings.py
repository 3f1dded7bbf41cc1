"""Every finding, found where it is and not found where it is not."""

from __future__ import annotations

import sys

import pytest

import pullback as torch
from pullback import nn

F = nn.functional


def kinds(e):
    return [f.kind for f in e.findings]


def here():
    return sys._getframe(1).f_lineno


def test_a_sound_network_has_none():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    with torch.explain() as e:
        F.cross_entropy(net(torch.randn(32, 8)), torch.arange(32) % 3).backward()
    assert e.findings == []


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head, self.spare, self.quiet = (
            nn.Linear(3, 4),
            nn.Linear(4, 1),
            nn.Linear(2, 2),
            nn.Linear(3, 4),
        )
        self.detach_line = 0

    def forward(self, x):
        h = self.encoder(x).detach()
        self.detach_line = here() - 1
        with torch.no_grad():
            q = self.quiet(x)
        return self.head(h + q)


def test_parameters_without_gradient_and_why():
    net = Net()
    with torch.explain() as e:
        net(torch.randn(5, 3)).sum().backward()
    cut, spare, quiet = [f for f in e.findings if f.kind == "no-gradient"]
    assert cut.leaves == ["net.encoder.weight", "net.encoder.bias"] and cut.severity == "error"
    assert "cut by .detach()" in cut.text and (cut.file, cut.line) == (__file__, net.detach_line)
    assert spare.leaves == ["net.spare.weight", "net.spare.bias"] and "not called" in spare.text
    assert quiet.leaves == ["net.quiet.weight", "net.quiet.bias"] and "no_grad()" in quiet.text
    del cut, spare, quiet
    (found,) = net(torch.randn(5, 3)).sum().explain().findings  # without the forward pass nobody knows why
    assert len(found.leaves) == 6 and "does not depend on it" in found.text


class Spare(nn.Module):
    """Cuts its encoder off in some way, and looks at a parameter that it does not use."""

    def __init__(self, cut):
        super().__init__()
        self.encoder, self.head, self.spare, self.cut = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(2, 2), cut

    def forward(self, x):
        self.norm = self.spare.weight.detach().norm(), self.encoder.bias.data.norm()
        return self.head(self.cut(self.encoder(x)))


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        (lambda h: h.data, "cut by .data at"),
        (lambda h: h.detach_(), "cut by .detach_() at"),
        (lambda h: torch.zeros(5, 4), "nothing that the output depends on came of it"),
    ],
)
def test_how_a_branch_was_cut(cut, said):
    net = Spare(cut)
    with torch.explain() as e:
        net(torch.randn(5, 3)).sum().backward()
    encoder, spare = sorted((f for f in e.findings if f.kind == "no-gradient"), key=lambda f: f.leaves)
    assert said in encoder.text and "its module was not called" in spare.text


def test_detach_for_a_log_is_no_cut():
    net = nn.Linear(2, 1)
    with torch.explain() as e:
        loss = net(torch.ones(3, 2)).sum()
        loss.detach()
        loss.backward()
    assert e.findings == []


def test_frozen_parameters_and_other_models_are_no_finding():
    net, other = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)), nn.Linear(2, 2)
    net[0].requires_grad_(False)
    with torch.explain() as e:
        net(torch.ones(3, 2)).sum().backward()
    assert e.findings == [] and other.weight.grad is None


def test_vanishing():
    torch.manual_seed(0)
    deep = nn.Sequential(*[m for _ in range(10) for m in (nn.Linear(8, 8), nn.Sigmoid())])
    (found,) = deep(torch.randn(4, 8)).sum().explain().findings
    assert found.kind == "vanishing" and "over 10 layers" in found.text and len(found.steps) == 10


def test_exploding():
    torch.manual_seed(0)
    deep = nn.Sequential(*[nn.Linear(8, 8, bias=False) for _ in range(8)])
    for layer in deep:
        layer.weight.data *= 20
    assert kinds(deep(torch.randn(4, 8)).sum().explain()) == ["exploding"]


@pytest.mark.parametrize(
    "kin", [torch.relu, F.relu6, F.hardtanh, lambda x: x.clamp(min=0), lambda x: F.threshold(x, 0.0, 0.0)]
)
@pytest.mark.parametrize("bias", [-100, 100])
def test_dead_relus(kin, bias):
    torch.manual_seed(0)
    first, last = nn.Linear(4, 8), nn.Linear(8, 1)
    with torch.no_grad():
        first.bias[:5] = bias
    found = last(kin(first(torch.randn(32, 4)))).sum().explain().findings
    if bias < 0 or kin.__name__ in ("relu6", "hardtanh"):
        assert found[0].kind == "dead-relu" and "5 of 8 units are cut off for all 32 rows" in found[0].text
    else:
        assert not found


def test_dead_channels():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU())
    with torch.no_grad():
        net[0].bias[:3] = -100
    assert "3 of 4 channels" in net(torch.randn(2, 1, 8, 8)).sum().explain().findings[0].text


@pytest.mark.parametrize("f", [torch.sigmoid, torch.tanh, lambda x: torch.softmax(x, 1)])
def test_saturated(f):
    x = (torch.arange(20.0).reshape(4, 5) - 10).requires_grad_()
    assert kinds((f(x * 50)).sum().explain()) == ["saturated"]
    assert kinds((f(x * 0.01)).sum().explain()) == []


def test_nan_in_a_loss_that_no_variable_holds():
    x = torch.tensor([1.0, -1.0], requires_grad=True)
    with torch.explain() as e:
        torch.log(x).sum().backward()
    assert "makes nan first in log" in e.findings[0].text and "input = -1" in e.findings[0].text
    with torch.explain() as e:
        (x + torch.tensor([1.0, float("nan")])).sum().backward()
    assert e.findings[0].kind == "nan" and "nan is first seen in sum" in e.findings[0].text
    grads = []
    with torch.explain() as e:
        grads += torch.autograd.grad(torch.log(x).sum(), x)
    assert kinds(e) == ["nan"]


def test_nan_made_by_the_backward_pass():
    x = torch.tensor([4.0, 0.0], requires_grad=True)
    with torch.explain() as e:
        y = torch.sqrt(x)
        line = here() - 1
        y.backward(torch.tensor([1.0, 0.0]))
    (found,) = e.findings
    assert (found.kind, found.severity, found.line) == ("nan", "error", line)
    assert (
        "makes nan first in sqrt" in found.text and "in element [1] of" in found.text and "g = 0, out = 0" in found.text
    )


def test_infinity_made_by_the_forward_pass():
    x = torch.tensor([1.0, 0.0], requires_grad=True)
    with torch.explain() as e:
        h = torch.log(x)
        line = here() - 1
        (h * x).sum().backward()
    (found,) = e.findings
    assert "forward pass makes -inf first in log" in found.text and "input = 0" in found.text and found.line == line


def test_a_result_that_nothing_kept_is_computed_again():
    """The derivative of log is finite at -1, and its result is kept nowhere."""
    x = torch.tensor([1.0, -1.0], requires_grad=True)
    with torch.explain() as e:
        loss = torch.log(x).sum()
        loss.backward()
    assert x.grad.tolist() == [1.0, -1.0]
    for found in (e.findings, torch.log(x).sum().explain().findings):
        assert (
            [f.kind for f in found] == ["nan"]
            and "makes nan first in log" in found[0].text
            and "input = -1" in found[0].text
        )
    x.grad = None
    with torch.explain() as e:
        loss = torch.log(x + 2).sum()
        loss.backward()
    assert e.findings == []


def test_overflow():
    w = torch.full((3,), 1e38, requires_grad=True)
    with torch.explain() as e:
        loss = (w * w).sum()
        loss.backward()
    assert "makes inf first in mul" in e.findings[0].text and "input = 1e+38, other = 1e+38" in e.findings[0].text


@pytest.mark.parametrize("f", [lambda s: s.softmax(-1), lambda s: s.log_softmax(-1).exp()])
def test_infinities_that_are_meant(f):
    scores = torch.zeros(4, 4, requires_grad=True)
    with torch.explain() as e:
        masked = scores.masked_fill(torch.ones(4, 4).triu(1).bool(), -torch.inf)
        (f(masked) * torch.arange(4.0)).sum().backward()
    assert torch.isfinite(scores.grad).all() and [x for x in e.findings if x.kind == "nan"] == []


def test_nan_in_what_comes_in():
    net = nn.Linear(3, 2)
    with torch.explain() as e:
        net(torch.tensor([[torch.nan, 1.0, 2.0]])).sum().backward()
    assert e.findings[0].kind == "nan" and "was given nan in `input`" in e.findings[0].text


@pytest.mark.parametrize("layer,size", [(nn.Conv1d(1, 8, 3), (4, 1, 10)), (nn.Conv3d(1, 8, 3), (4, 1, 5, 5, 5))])
def test_dead_channels_in_any_number_of_dimensions(layer, size):
    torch.manual_seed(0)
    with torch.no_grad():
        layer.bias[:4] = -100
    (found,) = torch.relu(layer(torch.randn(size))).sum().explain().findings
    assert "4 of 8 channels" in found.text
    with torch.no_grad():
        layer.bias[:] = 1
    assert torch.relu(layer(torch.randn(size))).sum().explain().findings == []


def test_broadcast_inside_of_a_loss():
    pred, target = torch.ones(6, 1, requires_grad=True), torch.ones(6)
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss):
        with pytest.warns(UserWarning, match="target size"):
            (found,) = loss(pred, target).explain().findings
        assert found.kind == "broadcast" and "[6, 1] to [6, 6]" in found.text
        assert loss(pred, target[:, None]).explain().findings == []


def test_dimensions_that_were_written_down_are_meant():
    x, q, k = (
        torch.randn(6, 4, requires_grad=True),
        torch.randn(5, 1, requires_grad=True),
        torch.randn(1, 5, requires_grad=True),
    )
    y = torch.randn(6, requires_grad=True)
    for z in (x[:, None] - x[None], q * k, y.unsqueeze(1) - y, x[:, :1].expand(6, 6) + x.sum(1)):
        assert z.square().sum().explain().findings == []


def test_broadcast_of_both():
    a, b = torch.ones(6, 1, requires_grad=True), torch.ones(6, requires_grad=True)
    (found,) = (a * b).sum().explain().findings
    assert found.kind == "broadcast" and "[6, 1] and [6]" in found.text


def test_broadcast_of_a_prediction_against_targets():
    pred, target = torch.ones(6, 1, requires_grad=True), torch.ones(6)
    (found,) = ((pred - target) ** 2).mean().explain().findings
    assert found.kind == "broadcast" and "a sum of 6 terms" in found.text


def test_a_bias_is_no_such_broadcast():
    x, b, scale = (
        torch.ones(6, 4, requires_grad=True),
        torch.ones(4, requires_grad=True),
        torch.ones((), requires_grad=True),
    )
    assert ((x + b) * scale / x.sum(1, keepdim=True)).sum().explain().findings == []


def test_accumulated_gradients():
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with torch.explain() as e:
        for _ in range(2):
            net(torch.ones(2, 3)).sum().backward()
            optimizer.step()
    (found,) = e.findings
    assert found.kind == "accumulated" and found.severity == "warning" and "zero_grad() is missing" in found.text
    assert e.passes[0].findings == []
    with torch.explain() as e:
        net(torch.ones(2, 3)).sum().backward()
    assert e.findings == []  # it may be meant: no step was seen
    with torch.explain() as e:
        for _ in range(2):
            optimizer.zero_grad(set_to_none=False)
            net(torch.ones(2, 3)).sum().backward()
            optimizer.step()
    assert e.findings == []


# --- what looks alike, and is none


def layers(*sizes, kind=nn.ReLU):
    return nn.Sequential(*[m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b), kind())])


def test_gradients_spread_over_many_places_do_not_vanish():
    torch.manual_seed(0)
    convolutions = [
        m for i in range(4) for m in (nn.Conv2d(3 if i == 0 else 16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
    ]
    net = nn.Sequential(*convolutions, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))
    with torch.explain() as e:
        F.cross_entropy(net(torch.randn(4, 3, 64, 64)), torch.arange(4)).backward()
    first, last = e.steps[1], e.steps[-1]
    assert first.upstream[0].rms > 1e3 * e.steps[-1].upstream[0].rms and "conv2d" in last.title and e.findings == []


def test_a_branch_of_little_weight_is_not_behind_the_others():
    torch.manual_seed(0)
    side, net, x = layers(8, 8, 8, 8, kind=nn.Tanh), layers(8, 8, 8, 8, 8, kind=nn.Tanh), torch.randn(32, 8)
    with torch.explain() as e:
        aside = side(x).square().mean()
        (net(x).square().mean() + 1e-6 * aside).backward()
    assert e.findings == []


def test_rows_that_are_alike_say_nothing_of_dead_units():
    torch.manual_seed(0)
    net = layers(8, 64)
    for x in (torch.randn(1, 8).expand(32, 8), torch.rand(32, 8) + 3):
        e = net(x).sum().explain()
        assert (e.steps[1].downstream[0].gradient.zeros > 0.3) and e.findings == []


@pytest.mark.parametrize(
    "loss",
    [lambda x, y: F.binary_cross_entropy(torch.sigmoid(x), y), lambda x, y: -(torch.softmax(x, 1).log() * y).sum()],
)
def test_a_classifier_that_is_sure_is_not_saturated(loss):
    answers = torch.eye(10)
    assert loss((100 * answers - 50).requires_grad_(), answers).explain().findings == []


def test_networks_that_are_trained_in_turns():
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.maker, self.judge = nn.Linear(2, 4), nn.Linear(4, 1)

    pair, z = Pair(), torch.randn(8, 2)
    with torch.explain() as e:
        pair.judge(pair.maker(z).detach()).mean().backward()
    assert kinds(e) == ["no-gradient"]
    pair.zero_grad()
    with torch.explain() as e:
        pair.judge(pair.maker(z).detach()).mean().backward()
        pair.zero_grad()
        pair.judge(pair.maker(z)).mean().backward()
    assert [kinds(p) for p in e.passes] == [[], []]


def test_all_pairs_that_were_written_down():
    v = torch.randn(6, requires_grad=True)
    for column in (v.view(-1, 1), v.reshape(6, 1), v[:, None], v.unsqueeze(1)):
        assert (column - v).square().sum().explain().findings == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: (nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 4), (8, 6, 16)),
        lambda: (nn.LSTM(4, 8, num_layers=3), (30, 4, 4)),
        lambda: (
            nn.Sequential(
                nn.Conv2d(3, 8, 3),
                nn.BatchNorm2d(8),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(8, 8, 3),
                nn.BatchNorm2d(8),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(128, 5),
            ),
            (8, 3, 14, 14),
        ),
    ],
)
def test_sound_networks_of_other_kinds(make):
    torch.manual_seed(0)
    net, shape = make()
    with torch.explain() as e:
        y = net(torch.randn(shape))
        y = y[0] if isinstance(y, tuple) else y
        F.mse_loss(y, torch.randn(y.shape)).backward()
    assert e.findings == []
