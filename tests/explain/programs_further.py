"""Programs of both kinds in further styles: closures, optimizers in lists, schedules, training by hand, odd losses."""

from __future__ import annotations

import copy

import pullback as torch
from pullback import nn

from .programs_faulty import fault, mlp, train
from .programs_healthy import healthy
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


# --- faults ---------------------------------------------------------------------------------------------------------


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


# --- no faults ------------------------------------------------------------------------------------------------------


@healthy
def decay_for_weights_only():
    x, y, net = torch.randn(32, 4), torch.randn(32, 1), mlp(4, 16, 1)
    groups = [
        {"params": [p for p in net.parameters() if p.ndim > 1], "weight_decay": 0.1},
        {"params": [p for p in net.parameters() if p.ndim == 1], "weight_decay": 0.0},
    ]
    steps_of(lambda: F.mse_loss(net(x), y), [torch.optim.AdamW(groups, lr=1e-3)])


@healthy
def warmed_up_from_zero():
    x, y, net = torch.randn(32, 4), torch.randn(32, 1), mlp(4, 16, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: min(1, k / 4))
    steps_of(lambda: F.mse_loss(net(x), y), [optimizer], count=8, schedulers=[schedule])


@healthy
def averaged_weights():
    x, y, net = torch.randn(32, 4), torch.randn(32, 1), mlp(4, 16, 1)
    average = copy.deepcopy(net).requires_grad_(False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(6):
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), net.parameters()):
                slow.lerp_(fast, 0.1)
            F.mse_loss(average(x), y)


@healthy
def sharpness_aware():
    x, y, net = torch.randn(32, 4), torch.randn(32, 1), mlp(4, 16, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(4):
        F.mse_loss(net(x), y).backward()
        moves = []
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
            for p in net.parameters():
                moves.append(0.05 * p.grad / norm)
                p.add_(moves[-1])
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        with torch.no_grad():
            for p, move in zip(net.parameters(), moves):
                p.sub_(move)
        optimizer.step()
        optimizer.zero_grad()


@healthy
def much_dropout():
    x, y = torch.randn(32, 4), torch.randn(32, 1)
    net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.8), nn.Linear(32, 1))
    steps_of(lambda: F.mse_loss(net(x), y), [torch.optim.Adam(net.parameters(), lr=1e-3)])


@healthy
def two_views_and_a_slow_target():
    online, predictor = mlp(4, 16, 8), mlp(8, 16, 8)
    target = copy.deepcopy(online)
    optimizer = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=1e-3)
    for _ in range(5):
        x = torch.randn(16, 4)
        one, two = x + 0.1 * torch.randn(16, 4), x + 0.1 * torch.randn(16, 4)
        with torch.no_grad():
            goal = F.normalize(target(two), dim=-1)
        loss = (2 - 2 * (F.normalize(predictor(online(one)), dim=-1) * goal).sum(-1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), online.parameters()):
                slow.mul_(0.99).add_(0.01 * fast)


@healthy
def a_flow_whose_loss_is_a_negative_log_likelihood():
    x = 0.05 * torch.randn(64, 2)
    shift, log_scale = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2))

    def loss():
        z = (x - shift) * torch.exp(-log_scale)
        return (0.5 * z.square() + log_scale).sum(1).mean()

    steps_of(loss, [torch.optim.Adam([shift, log_scale], lr=0.3)], count=12)


@healthy
def an_ordinary_differential_equation():
    field, x = mlp(2, 16, 2, kind=nn.Tanh), torch.randn(16, 2)

    def loss():
        h = x
        for _ in range(20):
            h = h + 0.05 * field(h)
        return (h - x.flip(1)).square().mean()

    steps_of(loss, [torch.optim.Adam(field.parameters(), lr=1e-2)])


@healthy
def a_small_u_net():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.middle = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
            self.up, self.out = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Conv2d(8, 2, 1)

        def forward(self, x):
            a = F.relu(self.down(x))
            b = F.relu(self.middle(F.max_pool2d(a, 2)))
            return self.out(torch.cat([a, self.up(b)], 1))

    net, x = Net(), torch.randn(4, 1, 8, 8)
    y = (x[:, 0] > 0).long()
    steps_of(lambda: F.cross_entropy(net(x), y, label_smoothing=0.1), [torch.optim.Adam(net.parameters(), lr=1e-2)])


@healthy
def words_with_padding():
    table, head = nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 2)
    words, y = torch.randint(1, 20, (16, 6)), torch.arange(16) % 2
    words[:, 4:] = 0

    def loss():
        mask = (words != 0).unsqueeze(-1)
        return F.cross_entropy(head((table(words) * mask).sum(1) / mask.sum(1)), y)

    steps_of(loss, [torch.optim.Adam([*table.parameters(), *head.parameters()], lr=1e-2)])


@healthy
def support_vectors():
    x = torch.randn(40, 2) + 3 * (torch.arange(40) % 2 * 2.0 - 1).unsqueeze(1)
    y = torch.arange(40) % 2 * 2.0 - 1
    w, b = torch.zeros(2, requires_grad=True), torch.zeros(1, requires_grad=True)
    loss = lambda: F.relu(1 - y * (x @ w + b)).mean() + 0.01 * w.square().sum()  # noqa: E731
    steps_of(loss, [torch.optim.SGD([w, b], lr=0.1)], count=10)


@healthy
def a_closure_that_makes_steps():
    def make(net, optimizer):
        def step(x, y):
            optimizer.zero_grad(set_to_none=False)
            loss = F.huber_loss(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            return loss.detach()

        return step

    net = mlp(4, 16, 1)
    step = make(net, torch.optim.RMSprop(net.parameters(), lr=1e-3))
    total = sum(step(torch.randn(16, 4), torch.randint(0, 5, (16, 1)).float()) for _ in range(5))
    assert total > 0


@healthy
def triplets_of_which_most_are_satisfied():
    net = mlp(4, 16, 4)
    a, b = torch.randn(16, 4), torch.randn(16, 4) + 4

    def loss():
        return F.triplet_margin_loss(net(a), net(a + 0.1 * torch.randn(16, 4)), net(b), margin=0.5)

    steps_of(loss, [torch.optim.Adam(net.parameters(), lr=1e-2)], count=6)


@healthy
def recurrent_states_that_are_not_used():
    net, head = nn.LSTM(4, 8, num_layers=2, batch_first=True), nn.Linear(8, 3)
    x, y = torch.randn(6, 7, 4), torch.arange(6) % 3
    both = [*net.parameters(), *head.parameters()]
    steps_of(lambda: F.cross_entropy(head(net(x)[0][:, -1]), y), [torch.optim.Adam(both, lr=1e-2)])


@healthy
def by_hand_with_grad_of_functions():
    net, x, y = mlp(3, 8, 1), torch.randn(16, 3), torch.randn(16, 1)
    params = dict(net.named_parameters())

    def loss(params):
        return F.mse_loss(torch.func.functional_call(net, params, (x,)), y)

    for _ in range(4):
        gradients = torch.func.grad(loss)(params)
        params = {name: (p - 0.1 * gradients[name]).detach() for name, p in params.items()}
    F.mse_loss(net(x), y).backward()


@healthy
def connectionist_temporal_classification():
    net, x = nn.Linear(5, 6), torch.randn(12, 2, 5)
    targets, lengths = torch.tensor([[1, 2, 3], [2, 4, 5]]), torch.tensor([3, 3])

    def loss():
        return F.ctc_loss(net(x).log_softmax(2), targets, torch.tensor([12, 12]), lengths)

    steps_of(loss, [torch.optim.Adam(net.parameters(), lr=1e-2)])


@healthy
def masked_words_of_which_few_count():
    net, words = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 20)), torch.randint(0, 20, (4, 10))
    labels = torch.full((4, 10), -100)
    labels[:, ::4] = words[:, ::4]
    loss = lambda: F.cross_entropy(net(words).flatten(0, 1), labels.flatten(), ignore_index=-100)  # noqa: E731
    steps_of(loss, [torch.optim.AdamW(net.parameters(), lr=1e-3)])


@healthy
def a_gan_with_its_optimizers_in_a_dict():
    nets = {"g": mlp(2, 16, 3), "d": mlp(3, 16, 1, kind=nn.Tanh)}
    optimizers = {k: torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.5, 0.9)) for k, net in nets.items()}
    for _ in range(4):
        real, fake = torch.randn(16, 3), nets["g"](torch.randn(16, 2))
        for key, loss in (
            ("d", lambda f: (F.softplus(-nets["d"](real)) + F.softplus(nets["d"](f.detach()))).mean()),
            ("g", lambda f: F.softplus(-nets["d"](f)).mean()),
        ):
            optimizers[key].zero_grad()
            loss(fake).backward()
            optimizers[key].step()


@healthy
def penalties_added_to_a_zero():
    x, y, net = torch.randn(32, 4), torch.randn(32, 1), mlp(4, 16, 1)

    def loss():
        total = torch.tensor(0.0)
        for p in net.parameters():
            total = total + 1e-3 * p.abs().sum()
        return total + F.mse_loss(net(x), y)

    steps_of(loss, [torch.optim.SGD(net.parameters(), lr=0.05)])


@healthy
def a_stable_softmax_by_hand():
    x, y, net = torch.randn(32, 4), torch.arange(32) % 3, mlp(4, 16, 3)

    def loss():
        z = net(x)
        z = z - z.max(1, keepdim=True).values.detach()
        return (z.exp().sum(1).log() - z[torch.arange(32), y]).mean()

    steps_of(loss, [torch.optim.SGD(net.parameters(), lr=0.1)])


@healthy
def quantiles():
    x, net = torch.randn(64, 4), mlp(4, 16, 3)
    y, q = torch.randn(64, 1), torch.tensor([0.1, 0.5, 0.9])

    def loss():
        error = y - net(x)
        return torch.maximum(q * error, (q - 1) * error).mean()

    steps_of(loss, [torch.optim.Adam(net.parameters(), lr=1e-2)])


@healthy
def a_plateau_that_lowers_the_rate():
    x, y, net = torch.randn(32, 4), torch.randn(32, 1), mlp(4, 16, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, threshold=0.5)
    for _ in range(6):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        schedule.step(loss.item())


@healthy
def lagrange_multipliers_that_ascend():
    x, multiplier = torch.tensor([2.0, 1.0], requires_grad=True), torch.tensor(0.5, requires_grad=True)
    down, up = torch.optim.SGD([x], lr=0.05), torch.optim.SGD([multiplier], lr=0.05, maximize=True)
    for _ in range(8):
        down.zero_grad()
        up.zero_grad()
        (x.square().sum() + multiplier * (1 - x.sum())).backward()
        down.step()
        up.step()


@healthy
def a_state_that_is_detached_between_batches():
    cell, head, h = nn.GRUCell(3, 8), nn.Linear(8, 1), torch.zeros(4, 8)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-2)
    for _ in range(4):
        loss = 0
        for _ in range(3):
            x = torch.randn(4, 3)
            h = cell(x, h)
            loss = loss + F.mse_loss(head(h), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        h = h.detach()


@healthy
def half_of_the_layers_at_a_smaller_rate():
    x, y = torch.randn(32, 4), torch.arange(32) % 3
    trunk, head = mlp(4, 16, 16), nn.Linear(16, 3)
    groups = [{"params": trunk.parameters(), "lr": 1e-5}, {"params": head.parameters()}]
    train(
        nn.Sequential(trunk, head),
        lambda net: F.cross_entropy(net(x), y),
        optimizer=torch.optim.Adam(groups, lr=1e-2),
    )
