"""Programs that are right in further styles: closures, optimizers in lists, schedules, training by hand, odd losses."""

from __future__ import annotations

import copy

import pullback as torch
from pullback import nn

from .programs_faulty import mlp, train
from .programs_further_faulty import steps_of
from .programs_healthy import healthy

F = nn.functional


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
            ("d", lambda f, real=real: (F.softplus(-nets["d"](real)) + F.softplus(nets["d"](f.detach()))).mean()),
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


@healthy
def importance_of_weights_after_training():
    x, y, net = torch.randn(32, 4), torch.arange(32) % 3, mlp(4, 16, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    steps_of(lambda: F.cross_entropy(net(x), y), [optimizer])
    fisher = [torch.zeros_like(p) for p in net.parameters()]
    for row, label in zip(x[:6], y):
        net.zero_grad()
        F.cross_entropy(net(row.unsqueeze(0)), label.unsqueeze(0)).backward()
        for total, p in zip(fisher, net.parameters()):
            total += p.grad.square()


@healthy
def a_head_on_features_of_a_frozen_net_in_eval_mode():
    trunk = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 8)).eval().requires_grad_(False)
    head = nn.Sequential(nn.Dropout(0.3), nn.Linear(8, 3))
    x, y = torch.randn(32, 4), torch.arange(32) % 3
    steps_of(lambda: F.cross_entropy(head(trunk(x)), y), [torch.optim.Adam(head.parameters(), lr=1e-2)])


@healthy
def losses_scaled_by_hand():
    x, y, net = torch.randn(32, 4), torch.randn(32, 1), mlp(4, 16, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(5):
        optimizer.zero_grad()
        (F.mse_loss(net(x), y) * 1024).backward()
        for p in net.parameters():
            p.grad /= 1024
        optimizer.step()


@healthy
def gradients_with_noise():
    x, y, net = torch.randn(32, 4), torch.randn(32, 1), mlp(4, 16, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(5):
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        for p in net.parameters():
            p.grad += 0.01 * torch.randn_like(p.grad)
        optimizer.step()


@healthy
def one_cycle_to_its_end():
    x, y, net = torch.randn(32, 4), torch.randn(32, 1), mlp(4, 16, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=12)
    steps_of(lambda: F.mse_loss(net(x), y), [optimizer], count=11, schedulers=[schedule])


@healthy
def a_group_whose_rate_is_zero_on_purpose():
    x, y, trunk, head = torch.randn(32, 4), torch.arange(32) % 3, mlp(4, 16, 16), nn.Linear(16, 3)
    groups = [{"params": trunk.parameters(), "lr": 0.0}, {"params": head.parameters(), "lr": 0.05}]
    steps_of(lambda: F.cross_entropy(head(trunk(x)), y), [torch.optim.SGD(groups, lr=0.1)])


@healthy
def two_losses_of_one_graph():
    x, net = torch.randn(32, 4), mlp(4, 16, 2)
    y, z = torch.randn(32), torch.randn(32)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(5):
        optimizer.zero_grad()
        out = net(x)
        F.mse_loss(out[:, 0], y).backward(retain_graph=True)
        F.l1_loss(out[:, 1], z).backward()
        optimizer.step()


@healthy
def outputs_in_a_dict_and_a_learned_temperature():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.image, self.text = nn.Linear(6, 8), nn.Linear(5, 8)
            self.temperature = nn.Parameter(torch.tensor(2.6))

        def forward(self, image, text):
            a, b = F.normalize(self.image(image), dim=-1), F.normalize(self.text(text), dim=-1)
            return {"logits": self.temperature.exp() * a @ b.T}

    net, image, text, y = Two(), torch.randn(8, 6), torch.randn(8, 5), torch.arange(8)

    def loss():
        logits = net(image, text)["logits"]
        return (F.cross_entropy(logits, y) + F.cross_entropy(logits.T, y)) / 2

    steps_of(loss, [torch.optim.AdamW(net.parameters(), lr=1e-3)])


@healthy
def mixed_precision_with_a_scaler():
    x, y, net = torch.randn(32, 4), torch.randn(32, 1), mlp(4, 16, 1)
    optimizer, scaler = torch.optim.SGD(net.parameters(), lr=0.01), torch.amp.GradScaler("cpu")
    for _ in range(4):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@healthy
def a_reward_in_one_episode_of_three():
    policy = mlp(4, 16, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for episode in range(6):
        states = torch.randn(10, 4)
        chosen = torch.distributions.Categorical(logits=policy(states))
        actions = chosen.sample()
        rewards = torch.full((10,), float(episode % 3 == 1))
        optimizer.zero_grad()
        (-(chosen.log_prob(actions) * rewards)).mean().backward()
        optimizer.step()


@healthy
def a_weight_of_a_term_that_begins_at_zero():
    x, net = torch.randn(32, 4), mlp(4, 8, 4)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for k in range(5):
        weight = torch.tensor(k / 5)
        out = net(x)
        optimizer.zero_grad()
        (F.mse_loss(out, x) + weight * out.abs().mean()).backward()
        optimizer.step()


@healthy
def a_student_of_softened_probabilities():
    x, teacher, student = torch.randn(32, 4), mlp(4, 16, 3).requires_grad_(False), mlp(4, 8, 3)

    def loss():
        goal = F.softmax(teacher(x) / 2, dim=1)
        return F.kl_div(F.log_softmax(student(x) / 2, dim=1), goal, reduction="batchmean") * 4

    steps_of(loss, [torch.optim.Adam(student.parameters(), lr=1e-2)])
