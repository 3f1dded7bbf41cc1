"""Programs with a fault each in further styles: closures, optimizers in lists, schedules, training by hand."""

from __future__ import annotations

import copy

import pullback as torch
from pullback import nn

from .programs_faulty import fault, mlp
from .programs_styles import Mlp

F = nn.functional


def steps_of(loss_of, optimizers, count=5, schedulers=()):
    """Train by a closure, with optimizers in a list."""
    for _ in range(count):
        for o in optimizers:
            o.zero_grad()
        loss_of().backward()
        for o in (*optimizers, *schedulers):
            o.step()


@fault("nan", "NaN", "`z`")
def a_feature_that_is_constant_is_standardized():
    x = torch.randn(20, 3)
    x[:, 1] = 4.0
    z = (x - x.mean(0)) / x.std(0)
    net = mlp(3, 8, 1)
    steps_of(lambda: F.mse_loss(net(z), x[:, :1]), [torch.optim.Adam(net.parameters())])


@fault("nan", "first in pow", "exponent = 0.5")
def a_root_of_negative_numbers():
    x, net = torch.randn(16, 3), mlp(3, 8, 1)
    steps_of(lambda: (net(x) ** 0.5).mean(), [torch.optim.SGD(net.parameters(), lr=0.1)])


@fault("nan", "log")
def log_of_what_may_be_negative():
    x, net = torch.randn(16, 3), mlp(3, 8, 1)
    steps_of(lambda: -torch.log(net(x)).mean(), [torch.optim.SGD(net.parameters(), lr=0.1)])


@fault("nan", "acos")
def angle_between_equal_vectors():
    a, net = torch.randn(6, 4), nn.Linear(4, 4, bias=False)
    with torch.no_grad():
        net.weight.copy_(torch.eye(4))

    def loss():
        u, v = F.normalize(a, dim=1), F.normalize(net(a), dim=1)
        return torch.acos((u * v).sum(1) * 1.0001).mean()

    steps_of(loss, [torch.optim.SGD(net.parameters(), lr=0.1)])


@fault("nan", "bias")
def a_projection_that_divides_by_nothing():
    x, y, net = torch.randn(16, 3), torch.randn(16, 1), mlp(3, 8, 1)
    with torch.no_grad():
        net[2].bias.zero_()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        with torch.no_grad():
            net[2].bias /= net[2].bias.norm()
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        net[2].bias.grad.zero_()
        optimizer.step()


@fault("accumulated", "zero_grad")
def only_the_first_optimizer_is_zeroed():
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    trunk, head = mlp(3, 8, 8), nn.Linear(8, 1)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.01) for m in (trunk, head)]
    for _ in range(5):
        optimizers[0].zero_grad()
        F.mse_loss(head(trunk(x)), y).backward()
        for o in optimizers:
            o.step()


@fault("no-gradient", "detach")
def a_generator_whose_samples_are_detached_in_its_own_step():
    generator, judge = mlp(2, 8, 3), mlp(3, 8, 1)
    of_generator, of_judge = (torch.optim.Adam(m.parameters(), lr=1e-3) for m in (generator, judge))
    ones, zeros = torch.ones(12, 1), torch.zeros(12, 1)
    for _ in range(4):
        fake = generator(torch.randn(12, 2)).detach()
        of_judge.zero_grad()
        bce = F.binary_cross_entropy_with_logits
        (bce(judge(torch.randn(12, 3)), ones) + bce(judge(fake), zeros)).backward()
        of_judge.step()
        of_generator.zero_grad()
        bce(judge(fake), ones).backward()
        of_generator.step()


@fault("no-gradient", ".data")
def features_by_data():
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    trunk, head = mlp(3, 8, 8), nn.Linear(8, 1)
    both = [*trunk.parameters(), *head.parameters()]
    steps_of(lambda: F.mse_loss(head(torch.relu(trunk(x).data)), y), [torch.optim.SGD(both, lr=0.01)])


@fault("no-gradient raised", "inference_mode")
def the_trunk_in_inference_mode():
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    trunk, head = mlp(3, 8, 8), nn.Linear(8, 1)
    both = [*trunk.parameters(), *head.parameters()]

    def loss():
        with torch.inference_mode():
            h = trunk(x)
        return F.mse_loss(head(h.clone()), y)

    steps_of(loss, [torch.optim.SGD(both, lr=0.01)])


@fault("raised no-gradient", "does not require grad")
def the_loss_counts_hits():
    x, y, net = torch.randn(16, 3), torch.arange(16) % 2, mlp(3, 8, 2)
    steps_of(lambda: 1 - (net(x).argmax(1) == y).float().mean(), [torch.optim.SGD(net.parameters(), lr=0.1)])


@fault("no-gradient", "item")
def the_loss_is_wrapped_again():
    x, y, net = torch.randn(16, 3), torch.randn(16, 1), mlp(3, 8, 1)

    def loss():
        return torch.tensor(F.mse_loss(net(x), y).item(), requires_grad=True)

    steps_of(loss, [torch.optim.SGD(net.parameters(), lr=0.1)])


@fault("no-gradient constant", "argmax")
def the_best_code_is_looked_up():
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    chooser, table, head = mlp(3, 8, 5), nn.Embedding(5, 4), nn.Linear(4, 1)
    everything = [p for m in (chooser, table, head) for p in m.parameters()]

    def loss():
        code = chooser(x).argmax(1)
        return F.mse_loss(head(table(code)), y)

    steps_of(loss, [torch.optim.Adam(everything)])


@fault("target", "labels")
def labels_of_minus_one_and_one():
    x, y, net = torch.randn(16, 3), torch.arange(16).remainder(2) * 2.0 - 1, mlp(3, 8, 1)
    loss = lambda: F.binary_cross_entropy_with_logits(net(x).squeeze(1), y)  # noqa: E731
    steps_of(loss, [torch.optim.SGD(net.parameters(), lr=0.1)])


@fault("not-log", "log")
def divergence_of_probabilities():
    x, net = torch.randn(16, 3), mlp(3, 8, 4)
    goal = torch.softmax(torch.randn(16, 4), 1)
    loss = lambda: F.kl_div(net(x).softmax(1), goal, reduction="batchmean")  # noqa: E731
    steps_of(loss, [torch.optim.SGD(net.parameters(), lr=0.1)])


@fault("broadcast", "[16, 1]")
def robust_loss_of_a_column_and_a_row():
    x, y, net = torch.randn(16, 3), torch.randn(16), mlp(3, 8, 1)
    steps_of(lambda: F.smooth_l1_loss(net(x), y), [torch.optim.SGD(net.parameters(), lr=0.01)])


@fault("no-step", "as good as 0")
def a_schedule_that_is_stepped_with_each_batch():
    x, y, net = torch.randn(16, 3), torch.randn(16, 1), mlp(3, 8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.1)
    steps_of(lambda: F.mse_loss(net(x), y), [optimizer], count=25, schedulers=[schedule])


@fault("eval-mode", "train()")
def dropout_that_stays_off():
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
    best = copy.deepcopy(net).eval()
    steps_of(lambda: F.mse_loss(best(x), y), [torch.optim.Adam(best.parameters())])


@fault("sign", "sign")
def maximizing_what_should_fall():
    x, y, net = torch.randn(16, 3), torch.arange(16) % 3, mlp(3, 8, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, maximize=True)
    steps_of(lambda: F.cross_entropy(net(x), y), [optimizer])


@fault("no-step", "optimizer.step()")
def the_step_is_forgotten():
    x, y, net = torch.randn(16, 3), torch.arange(16) % 3, mlp(3, 8, 3)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()


@fault("not-optimized", "optimizer")
def a_head_that_is_made_anew_in_each_call():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk = nn.Linear(3, 8)

        def forward(self, x):
            self.head = nn.Linear(8, 1)
            return self.head(torch.relu(self.trunk(x)))

    x, y, net = torch.randn(16, 3), torch.randn(16, 1), Net()
    steps_of(lambda: F.mse_loss(net(x), y), [torch.optim.SGD(net.parameters(), lr=0.01)])


@fault("dead-relu", "4 of 4 channels")
def convolutions_with_a_large_negative_bias():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))
    with torch.no_grad():
        net[0].bias.fill_(-20)
    x, y = torch.randn(8, 1, 8, 8), torch.arange(8) % 2
    steps_of(lambda: F.cross_entropy(net(x), y), [torch.optim.Adam(net.parameters())])


@fault("saturated", "tanh")
def weights_that_are_far_too_large():
    x, y, net = torch.randn(16, 6), torch.randn(16, 1), mlp(6, 8, 1, kind=nn.Tanh)
    with torch.no_grad():
        net[0].weight.mul_(500)
    steps_of(lambda: F.mse_loss(net(x), y), [torch.optim.SGD(net.parameters(), lr=0.01)])


@fault("divergence", "lr=3")
def momentum_and_a_large_rate_in_a_list():
    x, net = torch.randn(32, 4), Mlp(4, 16, 1)
    y = x.sum(1, keepdim=True)
    steps_of(lambda: F.mse_loss(net(x), y), [torch.optim.SGD(net.parameters(), lr=3.0, momentum=0.9)], count=8)


@fault("frozen", "requires_grad")
def only_the_scales_are_left():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    for p in net.parameters():
        p.requires_grad = False
    net[2].bias.requires_grad = True
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    steps_of(lambda: F.mse_loss(net(x), y), [torch.optim.SGD(net.parameters(), lr=0.1)])


@fault("constant", "`weights`")
def weights_of_examples_that_are_all_zero():
    x, y, net = torch.randn(16, 3), torch.randn(16, 1), mlp(3, 8, 1)
    weights = torch.zeros(16, 1)
    steps_of(lambda: (weights * (net(x) - y) ** 2).mean(), [torch.optim.SGD(net.parameters(), lr=0.1)])


@fault("accumulated", "zero")
def by_hand_in_a_list_without_zeroing():
    w1, w2 = torch.randn(3, 8, requires_grad=True), torch.randn(8, 1, requires_grad=True)
    x, y, params = torch.randn(16, 3), torch.randn(16, 1), [w1, w2]
    for _ in range(5):
        loss = F.mse_loss(torch.tanh(x @ params[0]) @ params[1], y)
        loss.backward()
        with torch.no_grad():
            for p in params:
                p -= 0.01 * p.grad


@fault("raised", "second time")
def a_hidden_state_that_keeps_its_history():
    cell, h = nn.GRUCell(3, 4), torch.zeros(2, 4)
    optimizer = torch.optim.Adam(cell.parameters())
    for _ in range(3):
        h = cell(torch.randn(2, 3), h)
        optimizer.zero_grad()
        h.square().mean().backward()
        optimizer.step()


@fault("no-gradient", "`second.weight`")
def backward_of_the_first_loss_only():
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    first, second = nn.Linear(3, 1), nn.Linear(3, 1)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()])
    for _ in range(4):
        optimizer.zero_grad()
        one, two = F.mse_loss(first(x), y), F.mse_loss(second(x), -y)
        one.backward()
        optimizer.step()
        assert two.item() >= 0


@fault("no-gradient", "no_grad")
def a_loss_made_to_require_grad():
    x, y, net = torch.randn(16, 3), torch.randn(16, 1), mlp(3, 8, 1)

    def loss():
        with torch.no_grad():
            value = F.mse_loss(net(x), y)
        return value.requires_grad_()

    steps_of(loss, [torch.optim.SGD(net.parameters(), lr=0.1)])


@fault("not-optimized", "`table.weight`")
def an_embedding_that_was_left_out():
    table, head = nn.Embedding(12, 6), nn.Linear(6, 3)
    words, y = torch.arange(12), torch.arange(12) % 3
    steps_of(lambda: F.cross_entropy(head(table(words)), y), [torch.optim.Adam(head.parameters(), lr=0.01)])


@fault("nan", "log")
def entropy_of_what_may_be_zero():
    logits = torch.tensor([200.0, 0.0, -200.0], requires_grad=True)

    def loss():
        p = logits.softmax(0)
        return (p * p.log()).sum()

    steps_of(loss, [torch.optim.SGD([logits], lr=0.1)])


@fault("nan", "cosh")
def a_loss_that_overflows():
    x, net = torch.randn(16, 3), mlp(3, 8, 1)
    y = 200 * torch.randn(16, 1)
    steps_of(lambda: torch.log(torch.cosh(net(x) - y)).mean(), [torch.optim.SGD(net.parameters(), lr=0.1)])


@fault("nan", "NaN", "running_var")
def statistics_that_were_spoiled_before():
    net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    net[1].running_var[2] = float("nan")
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    net[1].eval()
    steps_of(lambda: F.mse_loss(net(x), y), [torch.optim.SGD(net.parameters(), lr=0.1)])


@fault("nan", "NaN", "`y`")
def one_missing_target_of_several_outputs():
    x, y, net = torch.randn(16, 3), torch.randn(16, 4), mlp(3, 8, 4)
    y[3, 2] = float("nan")
    steps_of(lambda: F.l1_loss(net(x), y), [torch.optim.Adam(net.parameters())])


@fault("raised no-gradient", "long")
def features_are_cast_to_integers():
    x, y, trunk, head = torch.randn(16, 3), torch.randn(16, 1), nn.Linear(3, 8), nn.Linear(8, 1)
    both = [*trunk.parameters(), *head.parameters()]
    steps_of(lambda: F.mse_loss(head(trunk(x).long().float()), y), [torch.optim.SGD(both, lr=0.1)])


@fault("zeroed", "zero_grad")
def zeroed_by_a_helper_before_the_step():
    x, y, net = torch.randn(16, 3), torch.randn(16, 1), mlp(3, 8, 1)
    optimizers = [torch.optim.Adam(net.parameters())]

    def update():
        for o in optimizers:
            o.zero_grad()
            o.step()

    for _ in range(4):
        F.mse_loss(net(x), y).backward()
        update()


@fault("dead-relu", "cut off")
def outputs_clamped_away_from_all_targets():
    x, net = torch.randn(32, 3), nn.Sequential(nn.Linear(3, 8), nn.ReLU6(), nn.Linear(8, 1))
    y = x.sum(1, keepdim=True)
    with torch.no_grad():
        net[0].bias.fill_(50)
    steps_of(lambda: F.mse_loss(net(x), y), [torch.optim.Adam(net.parameters())])


@fault("softmax-dim", "dim=-1")
def log_softmax_over_the_rows():
    x, y, net = torch.randn(16, 3), torch.arange(16) % 3, mlp(3, 8, 3)
    loss = lambda: F.nll_loss(F.log_softmax(net(x), dim=0), y)  # noqa: E731
    steps_of(loss, [torch.optim.Adam(net.parameters())])


@fault("softmax-twice", "logits")
def a_softmax_layer_and_its_cross_entropy():
    x, y = torch.randn(16, 3), torch.arange(16) % 3
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3), nn.Softmax(dim=1))
    steps_of(lambda: nn.CrossEntropyLoss()(net(x), y), [torch.optim.Adam(net.parameters())])


@fault("raised", "out of")
def a_class_too_many():
    x, y, net = torch.randn(16, 3), torch.arange(16) % 4, mlp(3, 8, 3)
    steps_of(lambda: F.cross_entropy(net(x), y), [torch.optim.Adam(net.parameters())])


@fault("kept-graph", "`history`")
def losses_kept_in_a_dict_with_their_graphs():
    x, y, net = torch.randn(16, 3), torch.randn(16, 1), mlp(3, 8, 1)
    optimizer, history = torch.optim.Adam(net.parameters()), {}
    for k in range(6):
        optimizer.zero_grad()
        loss = history[k] = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
