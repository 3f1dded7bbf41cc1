"""Small programs with one known fault each, and what a diagnosis has to say.

``@fault(kind, *words)`` names the kinds of finding that are right (separated by spaces; all others are wrong), and
words that one of these findings must contain.
"""

from __future__ import annotations

import numpy as np

import pullback as torch
from pullback import nn

F = nn.functional
FAULTY = {}


def fault(kinds, *words):
    def note(program):
        FAULTY[program.__name__] = program, kinds.split(), words
        return program

    return note


def mlp(*sizes, kind=nn.ReLU):
    layers = [m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b), kind())]
    return nn.Sequential(*layers[:-1])


def train(model, loss_of, lr=0.05, steps=4, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()


# --- NaN that was there before ------------------------------------------------------------------------------------


@fault("nan", "`x`", "row 5", "NaN")
def nan_in_the_data():
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    x[5, 2] = torch.nan
    train(mlp(4, 8, 1), lambda net: F.mse_loss(net(x), y))


@fault("nan", "`x`", "infinit")
def infinity_in_the_data():
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    x[3, 1] = torch.inf
    train(mlp(4, 8, 1), lambda net: F.mse_loss(net(x), y))


@fault("nan", "`batch`", "NaN")
def nan_in_a_late_batch():
    data, net = torch.randn(40, 4), mlp(4, 8, 1)
    data[25, 0] = torch.nan
    optimizer = torch.optim.Adam(net.parameters())
    for i in range(0, 40, 8):
        batch = data[i : i + 8]
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()


@fault("nan", "`model.0.weight`", "already", "1 of 32 elements", "[3, 2]")
def nan_in_a_weight():
    model, x = mlp(4, 8, 1, kind=nn.Tanh), torch.randn(16, 4)
    with torch.no_grad():
        model[0].weight[3, 2] = torch.nan
    train(model, lambda net: net(x).square().mean())


@fault("nan", "running_var", "NaN")
def nan_in_a_buffer():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    model[1].running_var[2] = torch.nan
    model[1].eval()
    x = torch.randn(16, 4)
    train(model, lambda net: net(x).square().mean())


@fault("nan", "`target`", "NaN")
def nan_in_the_target():
    x, target, net = torch.randn(16, 4), torch.randn(16, 1), mlp(4, 8, 1)
    target[7] = torch.nan
    train(net, lambda net: ((net(x) - target) ** 2).mean())


@fault("nan", "`target`", "NaN")
def nan_in_the_target_of_a_loss():
    x, target, net = torch.randn(16, 4), torch.randn(16, 1), mlp(4, 8, 1)
    target[7] = torch.nan
    train(net, lambda net: F.l1_loss(net(x), target))


# --- NaN that the program makes -----------------------------------------------------------------------------------


@fault("nan", "log", "-inf", "0")
def log_of_zero():
    x, net = torch.randn(16, 4), mlp(4, 8, 3)
    train(net, lambda net: -torch.log(torch.relu(net(x)) * 0).mean())


@fault("nan", "sqrt", "backward")
def square_root_at_zero():
    w, x = torch.zeros(3, requires_grad=True), torch.ones(3)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        ((w * x).pow(2).sum().sqrt() - 1).pow(2).backward()
        optimizer.step()


@fault("nan", "log", "input = 0")
def the_other_branch_of_where():
    w = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        torch.where(w > 0, torch.log(w) * w, torch.zeros(3)).sum().backward()
        optimizer.step()


@fault("nan", "exp", "inf")
def exp_overflows():
    w = torch.full((4,), 100.0, requires_grad=True)
    for _ in range(2):
        w.grad = None
        (1 / (1 + torch.exp(w))).sum().backward()


@fault("nan", "exp", "float16")
def half_precision_overflows():
    w = torch.full((4,), 12.0, requires_grad=True)
    (torch.exp(w.half()) * 2).float().sum().backward()


@fault("nan", "mean", "no elements")
def mean_of_nothing():
    x, net = torch.randn(16, 4), mlp(4, 8, 1)
    chosen = x[:, 0] > 100
    train(net, lambda net: net(x)[chosen].mean(), steps=2)


@fault("nan", "ignore")
def all_labels_are_ignored():
    x, net = torch.randn(16, 4), mlp(4, 8, 3)
    y = torch.full((16,), -100)
    train(net, lambda net: F.cross_entropy(net(x), y), steps=2)


@fault("nan", "div")
def zero_over_zero():
    w = torch.zeros(3, requires_grad=True)
    (w / w.norm(1)).sum().backward()


@fault("nan", "std")
def deviation_of_one_row():
    w = torch.randn(1, 4, requires_grad=True)
    ((w - w.mean(0)) / w.std(0)).sum().backward()


@fault("nan", "softmax", "row")
def a_row_that_is_masked_out():
    scores, v = torch.randn(4, 4, requires_grad=True), torch.randn(4, 3)
    mask = torch.zeros(4, 4).bool()
    mask[2] = True
    (scores.masked_fill(mask, -torch.inf).softmax(-1) @ v).sum().backward()


# --- the seed and the sum -----------------------------------------------------------------------------------------


@fault("seed", "zero")
def seed_of_zeros():
    x, net = torch.randn(8, 4), mlp(4, 8, 3)
    y = net(x)
    y.backward(gradient=torch.zeros_like(y))


@fault("seed", "NaN")
def seed_with_nan():
    x, net = torch.randn(8, 4), mlp(4, 8, 3)
    y, v = net(x), torch.ones(8, 3)
    v[2] = torch.nan
    y.backward(gradient=v)


@fault("accumulated", "zero_grad() is missing")
def zero_grad_is_missing():
    x, y, net = torch.randn(16, 4), torch.randn(16, 1), mlp(4, 8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(4):
        F.mse_loss(net(x), y).backward()
        optimizer.step()


@fault("accumulated", "`w`", "missing")
def by_hand_without_zeroing():
    w, x, y = torch.randn(4, 1, requires_grad=True), torch.randn(16, 4), torch.randn(16, 1)
    for _ in range(4):
        ((x @ w - y) ** 2).mean().backward()
        with torch.no_grad():
            w -= 0.01 * w.grad


@fault("accumulated", "`w`", "missing")
def by_hand_through_data_without_zeroing():
    w, x, y = torch.randn(4, 1, requires_grad=True), torch.randn(16, 4), torch.randn(16, 1)
    for _ in range(4):
        ((x @ w - y) ** 2).mean().backward()
        w.data -= 0.01 * w.grad


@fault("zeroed", "zero_grad()", "before")
def zero_grad_before_the_step():
    x, y, net = torch.randn(16, 4), torch.randn(16, 1), mlp(4, 8, 1)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(4):
        F.mse_loss(net(x), y).backward()
        optimizer.zero_grad()
        optimizer.step()


@fault("clipped", "clip")
def clipped_to_nothing():
    x, y, net = torch.randn(16, 4), torch.randn(16, 1), mlp(4, 8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.0)
        optimizer.step()


# --- parameters that do not learn ---------------------------------------------------------------------------------


class TwoParts(nn.Module):
    def __init__(self, between=lambda h: h):
        super().__init__()
        self.encoder, self.head, self.between = nn.Linear(4, 8), nn.Linear(8, 1), between

    def forward(self, x):
        return self.head(self.between(self.encoder(x)))


@fault("no-gradient", "encoder.weight`", "detach")
def a_detached_branch():
    x, net = torch.randn(16, 4), TwoParts(lambda h: h.detach())
    train(net, lambda net: net(x).square().mean())


@fault("no-gradient", "encoder", "no_grad")
def no_grad_around_a_part():
    x, net = torch.randn(16, 4), TwoParts()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        with torch.no_grad():
            h = net.encoder(x)
        optimizer.zero_grad()
        net.head(h).square().mean().backward()
        optimizer.step()


@fault("raised", "does not require grad", "no_grad() in line")
def no_grad_around_the_model():
    x, net = torch.randn(16, 4), mlp(4, 8, 1)
    with torch.no_grad():
        loss = net(x).square().mean()
    loss.backward()


@fault("raised", "does not require grad", "argmax() in line")
def argmax_in_the_loss():
    x, y, net = torch.randn(16, 4), torch.arange(16) % 3, mlp(4, 8, 3)
    loss = (net(x).argmax(1) == y).float().mean()
    loss.backward()


@fault("no-gradient", "encoder", "long")
def cast_to_integers():
    x, table = torch.randn(16, 4).abs(), nn.Embedding(8, 8)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.table, self.head = nn.Linear(4, 1), table, nn.Linear(8, 1)

        def forward(self, x):
            level = self.encoder(x).sigmoid() * 7
            return self.head(self.table(level.long()[:, 0]))

    train(Net(), lambda net: net(x).square().mean())


@fault("no-gradient", "encoder", "item")
def item_in_the_path():
    class Net(TwoParts):
        def forward(self, x):
            h = self.encoder(x)
            rows = [[v.item() for v in row] for row in h]
            return self.head(torch.tensor(rows))

    x = torch.randn(16, 4)
    train(Net(), lambda net: net(x).square().mean())


@fault("rounded", "round", "zero")
def rounding_in_the_path():
    x = torch.randn(16, 4)
    train(TwoParts(lambda h: h.round()), lambda net: net(x).square().mean())


@fault("frozen", "encoder")
def frozen_by_mistake():
    x, net = torch.randn(16, 4), TwoParts()
    net.encoder.requires_grad_(False)
    train(net, lambda net: net(x).square().mean())


@fault("not-optimized", "head.weight`", "optimizer")
def optimizer_without_the_head():
    x, net = torch.randn(16, 4), TwoParts()
    optimizer = torch.optim.SGD(net.encoder.parameters(), lr=0.1)
    for _ in range(3):
        net.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()


@fault("not-optimized", "layers[0].weight", "ModuleList")
def layers_in_a_list():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(4, 8), nn.Linear(8, 8)]
            self.head = nn.Linear(8, 1)

        def forward(self, x):
            for layer in self.layers:
                x = torch.relu(layer(x))
            return self.head(x)

    x, net = torch.randn(16, 4), Net()
    train(net, lambda net: net(x).square().mean())


@fault("not-optimized", "1.weight`", "optimizer")
def a_layer_replaced_after_the_optimizer_was_made():
    x, net = torch.randn(16, 4), nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(net.parameters())
    net[1] = nn.Linear(8, 1)
    train(net, lambda net: net(x).square().mean(), optimizer=optimizer)


@fault("no-update not-optimized", "optimizer")
def optimizer_of_another_copy():
    x, net = torch.randn(16, 4), mlp(4, 8, 1)
    optimizer = torch.optim.Adam(mlp(4, 8, 1).parameters())
    train(net, lambda net: net(x).square().mean(), optimizer=optimizer)


@fault("no-gradient", "spare.weight`", "not called")
def a_module_that_is_never_called():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.spare, self.head = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)

        def forward(self, x):
            return self.head(torch.relu(self.first(x)))

    x, net = torch.randn(16, 4), Net()
    train(net, lambda net: net(x).square().mean())


@fault("dead-relu", "cut off")
def dead_units():
    x, net = torch.randn(32, 4), mlp(4, 16, 1)
    with torch.no_grad():
        net[0].bias[:12] = -100
    train(net, lambda net: net(x).square().mean())


@fault("saturated", "sigmoid")
def saturated_sigmoid():
    x, net = torch.randn(32, 4), nn.Sequential(nn.Linear(4, 16), nn.Sigmoid(), nn.Linear(16, 1))
    with torch.no_grad():
        net[0].weight *= 200
    train(net, lambda net: net(x).square().mean())


@fault("saturated", "tanh")
def inputs_that_are_not_scaled():
    x, net = torch.randn(32, 4) * 5000, nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    train(net, lambda net: net(x).square().mean())


@fault("symmetric", "equal")
def equal_weights():
    x, y, net = torch.randn(16, 4), torch.randn(16, 1), mlp(4, 8, 1, kind=nn.Tanh)
    for p in net.parameters():
        nn.init.constant_(p, 0.1)
    train(net, lambda net: F.mse_loss(net(x), y))


@fault("symmetric", "zero")
def weights_of_zero():
    x, y, net = torch.randn(16, 4), torch.randn(16, 1), mlp(4, 8, 1, kind=nn.Tanh)
    for p in net.parameters():
        nn.init.zeros_(p)
    train(net, lambda net: F.mse_loss(net(x), y))


@fault("vanishing", "shrinks")
def vanishing_recurrence():
    torch.manual_seed(1)
    w, x = torch.nn.Parameter(torch.randn(8, 8) * 0.05), torch.randn(16, 8)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(2):
        h = x
        for _ in range(30):
            h = torch.tanh(h @ w)
        optimizer.zero_grad()
        (h.sum() + 0.5).square().backward()
        optimizer.step()


@fault("exploding divergence", "grow")
def exploding_recurrence():
    w, x = torch.nn.Parameter(torch.randn(8, 8)), torch.randn(16, 8)
    optimizer = torch.optim.SGD([w], lr=1e-30)
    for _ in range(2):
        h = x
        for _ in range(20):
            h = h @ w
        optimizer.zero_grad()
        h.square().mean().backward()
        optimizer.step()


@fault("vanishing", "sigmoid", "11 layers")
def deep_sigmoids():
    x, net = torch.randn(16, 8), mlp(*[8] * 11, 1, kind=nn.Sigmoid)
    train(net, lambda net: net(x).square().mean(), steps=2)


# --- shapes -------------------------------------------------------------------------------------------------------


@fault("broadcast", "[16, 1]", "[16, 16]")
def column_against_row():
    x, y, net = torch.randn(16, 4), torch.randn(16), mlp(4, 8, 1)
    train(net, lambda net: ((net(x) - y) ** 2).mean())


@fault("broadcast", "[16, 16]")
def column_against_row_in_a_loss():
    x, y, net = torch.randn(16, 4), torch.randn(16), mlp(4, 8, 1)
    train(net, lambda net: F.mse_loss(net(x), y))


@fault("softmax-dim", "dim", "batch")
def softmax_over_the_batch():
    x, y, net = torch.randn(16, 4), torch.arange(16) % 3, mlp(4, 8, 3)
    train(net, lambda net: F.nll_loss(torch.log_softmax(net(x), 0), y))


@fault("constant", "one value")
def softmax_over_one_value():
    x, y, net = torch.randn(16, 4), torch.rand(16, 1), mlp(4, 8, 1)
    train(net, lambda net: F.mse_loss(torch.softmax(net(x), 1), y))


@fault("constant", "one value")
def layer_norm_over_one_value():
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    net = nn.Sequential(nn.Linear(4, 1), nn.LayerNorm(1))
    train(net, lambda net: F.mse_loss(net(x), y))


# --- losses -------------------------------------------------------------------------------------------------------


@fault("softmax-twice", "softmax", "cross_entropy")
def softmax_before_cross_entropy():
    x, y = torch.randn(16, 4), torch.arange(16) % 3
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.Softmax(1))
    train(net, lambda net: F.cross_entropy(net(x), y))


@fault("sigmoid-twice", "sigmoid", "logits")
def sigmoid_twice():
    x, y = torch.randn(16, 4), (torch.rand(16, 1) > 0.5).float()
    net = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    train(net, lambda net: F.binary_cross_entropy_with_logits(net(x), y))


@fault("not-log", "log")
def probabilities_for_nll():
    x, y = torch.randn(16, 4), torch.arange(16) % 3
    net = nn.Sequential(nn.Linear(4, 3), nn.Softmax(1))
    train(net, lambda net: F.nll_loss(net(x), y))


@fault("not-log", "log")
def logits_for_nll():
    x, y, net = torch.randn(16, 4), torch.arange(16) % 3, mlp(4, 8, 3)
    train(net, lambda net: F.nll_loss(net(x), y), steps=2)


@fault("sign", "sign")
def the_wrong_sign():
    x, y, net = torch.randn(16, 4), torch.arange(16) % 3, mlp(4, 8, 3)
    train(net, lambda net: -F.cross_entropy(net(x), y))


@fault("target", "0", "1")
def labels_that_are_no_probabilities():
    x, y, net = torch.randn(16, 4), (torch.arange(16) % 2 + 1.0)[:, None], mlp(4, 8, 1)
    train(net, lambda net: F.binary_cross_entropy_with_logits(net(x), y))


@fault("raised", "out of bounds")
def labels_out_of_range():
    x, y, net = torch.randn(16, 4), torch.arange(16) % 4, mlp(4, 8, 3)
    train(net, lambda net: F.cross_entropy(net(x), y))


# --- the course of training ---------------------------------------------------------------------------------------


@fault("divergence", "the step is too large", "lr=5")
def a_step_that_is_too_large():
    x, y = torch.randn(32, 4), torch.randn(32, 1)
    train(nn.Linear(4, 1), lambda net: F.mse_loss(net(x), y), lr=5.0, steps=12)


@fault("divergence", "the step is too large")
def diverges_to_nan():
    x, y, net = torch.randn(32, 4), torch.randn(32, 1), mlp(4, 16, 1)
    train(net, lambda net: F.mse_loss(net(x), y) * 100, lr=0.5, steps=20)


@fault("no-step", "lr")
def a_rate_that_reached_zero():
    x, y, net = torch.randn(16, 4), torch.randn(16, 1), mlp(4, 8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.0)
    for _ in range(6):
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
        schedule.step()


@fault("eval-mode", "train()", "Dropout")
def eval_mode_in_training():
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
    net.eval()
    train(net, lambda net: F.mse_loss(net(x), y))


@fault("raised", "more than 1 value per channel")
def batch_norm_with_one_row():
    x, y = torch.randn(1, 4), torch.randn(1, 1)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    train(net, lambda net: F.mse_loss(net(x), y))


@fault("kept-graph", "`total`", "item()")
def a_graph_over_all_steps():
    x, y, net = torch.randn(16, 4), torch.randn(16, 1), mlp(4, 8, 1)
    optimizer, total = torch.optim.SGD(net.parameters(), lr=0.01), 0
    for _ in range(5):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        total = total + loss


@fault("raised", "inplace")
def in_place_on_a_value_that_is_needed():
    x, net = torch.randn(16, 4), mlp(4, 8, 1)
    h = torch.sigmoid(net[0](x))
    loss = net[2](h).mean()
    h += 1
    loss.backward()


@fault("raised", "second time")
def backward_twice():
    x, net = torch.randn(16, 4), mlp(4, 8, 1)
    loss = net(x).square().mean()
    loss.backward()
    loss.backward()


@fault("nan divergence", "inf")
def a_loss_of_infinity():
    x, y, net = torch.randn(16, 4), torch.randn(16, 1), mlp(4, 8, 1)
    scale = torch.tensor(np.inf)
    train(net, lambda net: F.mse_loss(net(x), y) * scale, steps=3)


@fault("nan", "lr", "step")
def a_step_that_makes_nan():
    x, y, net = torch.randn(16, 4), torch.randn(16, 1), mlp(4, 8, 1)
    train(net, lambda net: F.mse_loss(net(x), y), lr=float("inf"), steps=3)
