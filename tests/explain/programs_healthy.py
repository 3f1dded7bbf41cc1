"""Small programs that are right, each close to one that is not: no finding may be raised for any of them."""

from __future__ import annotations

import copy

import pullback as torch
from pullback import nn

from .programs_faulty import TwoParts, mlp, train

F = nn.functional
HEALTHY = {}


def healthy(program):
    HEALTHY[program.__name__] = program
    return program


def regression(rows=32):
    x = torch.randn(rows, 4)
    return x, x @ torch.randn(4, 1) + 0.1 * torch.randn(rows, 1)


def classification(rows=30, classes=3):
    return torch.randn(rows, 4), torch.arange(rows) % classes


@healthy
def mlp_with_sgd():
    x, y = regression()
    train(mlp(4, 16, 1), lambda net: F.mse_loss(net(x), y), steps=10)


@healthy
def classifier_with_adam():
    x, y = classification()
    net = mlp(4, 32, 3)
    train(net, lambda net: F.cross_entropy(net(x), y), optimizer=torch.optim.Adam(net.parameters(), lr=0.01), steps=10)


@healthy
def gradients_accumulate_over_micro_batches():
    x, y = regression()
    net = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(8):
        (F.mse_loss(net(x[i * 4 : i * 4 + 4]), y[i * 4 : i * 4 + 4]) / 4).backward()
        if i % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


@healthy
def accumulation_that_has_not_stepped_yet():
    x, y = regression()
    net = mlp(4, 8, 1)
    for i in range(3):
        (F.mse_loss(net(x[i * 8 : i * 8 + 8]), y[i * 8 : i * 8 + 8]) / 4).backward()


@healthy
def two_backwards_a_step():
    x, y = regression()
    net = mlp(4, 8, 1)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        out = net(x)
        F.mse_loss(out, y).backward(retain_graph=True)
        (0.01 * out.abs().mean()).backward()
        optimizer.step()


@healthy
def gan():
    maker, judge = mlp(2, 16, 4), nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    opt_maker, opt_judge = (torch.optim.Adam(m.parameters(), lr=2e-4) for m in (maker, judge))
    for _ in range(3):
        real, fake = torch.randn(16, 4) + 1, maker(torch.randn(16, 2))
        opt_judge.zero_grad()
        loss = F.binary_cross_entropy_with_logits(judge(real), torch.ones(16, 1))
        loss = loss + F.binary_cross_entropy_with_logits(judge(fake.detach()), torch.zeros(16, 1))
        loss.backward()
        opt_judge.step()
        opt_maker.zero_grad()
        F.binary_cross_entropy_with_logits(judge(fake), torch.ones(16, 1)).backward()
        opt_maker.step()


@healthy
def gan_with_two_backwards_for_the_judge():
    maker, judge = mlp(2, 16, 4), nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    opt_maker, opt_judge = (torch.optim.SGD(m.parameters(), lr=0.01) for m in (maker, judge))
    for _ in range(3):
        judge.zero_grad()
        F.binary_cross_entropy_with_logits(judge(torch.randn(16, 4)), torch.ones(16, 1)).backward()
        fake = maker(torch.randn(16, 2))
        F.binary_cross_entropy_with_logits(judge(fake.detach()), torch.zeros(16, 1)).backward()
        opt_judge.step()
        maker.zero_grad()
        (-F.logsigmoid(judge(fake)).mean()).backward()
        opt_maker.step()


@healthy
def wasserstein_with_penalty():
    maker, critic = mlp(2, 16, 4), mlp(4, 16, 1, kind=nn.Tanh)
    opt_maker, opt_critic = (torch.optim.Adam(m.parameters(), lr=1e-3) for m in (maker, critic))
    for _ in range(3):
        real, fake = torch.randn(16, 4), maker(torch.randn(16, 2))
        between = (0.5 * (real + fake.detach())).requires_grad_()
        (g,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        opt_critic.zero_grad()
        (critic(fake.detach()).mean() - critic(real).mean() + 10 * ((g.norm(dim=1) - 1) ** 2).mean()).backward()
        opt_critic.step()
        opt_maker.zero_grad()
        (-critic(fake).mean()).backward()
        opt_maker.step()


@healthy
def a_frozen_trunk():
    x, y = regression()
    net = TwoParts(torch.relu)
    net.encoder.requires_grad_(False)
    train(net, lambda net: F.mse_loss(net(x), y), optimizer=torch.optim.SGD(net.head.parameters(), lr=0.05))


@healthy
def a_trunk_under_no_grad_that_no_optimizer_holds():
    x, y = regression()
    net = TwoParts()
    optimizer = torch.optim.SGD(net.head.parameters(), lr=0.05)
    for _ in range(3):
        with torch.no_grad():
            h = net.encoder(x)
        optimizer.zero_grad()
        F.mse_loss(net.head(h), y).backward()
        optimizer.step()


@healthy
def experts_that_are_routed_to():
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
            self.head = nn.Linear(4, 1)

        def forward(self, x, chosen):
            return self.head(torch.tanh(self.experts[chosen](x)))

    x, y = regression()
    net = Experts()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(3):
        optimizer.zero_grad()
        F.mse_loss(net(x, step % 2), y).backward()
        optimizer.step()


@healthy
def masked_attention():
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    mask = torch.ones(6, 6).triu(1).bool()
    x, y = torch.randn(4, 6, 16), torch.randn(4, 6, 16)
    train(layer, lambda net: F.mse_loss(net(x, src_mask=mask), y), lr=0.01)


@healthy
def hand_written_masked_attention():
    q, k = nn.Linear(8, 8), nn.Linear(8, 8)
    x, y = torch.randn(4, 6, 8), torch.randn(4, 6, 8)
    mask = torch.ones(6, 6).triu(1).bool()
    optimizer = torch.optim.SGD([*q.parameters(), *k.parameters()], lr=0.1)
    for _ in range(3):
        scores = (q(x) @ k(x).transpose(1, 2) / 8**0.5).masked_fill(mask, -torch.inf)
        optimizer.zero_grad()
        F.mse_loss(scores.softmax(-1) @ x, y).backward()
        optimizer.step()


@healthy
def attention_pooling_over_the_rows():
    x, y = torch.randn(12, 4), torch.randn(4)
    net = nn.Linear(4, 1)
    train(net, lambda net: F.mse_loss((torch.softmax(net(x), 0) * x).sum(0), y))


@healthy
def lstm():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.head = nn.LSTM(3, 16, batch_first=True), nn.Linear(16, 1)

        def forward(self, x):
            return self.head(self.rnn(x)[0][:, -1])

    x, y = torch.randn(16, 12, 3), torch.randn(16, 1)
    train(Net(), lambda net: F.mse_loss(net(x), y))


@healthy
def lstm_cell_by_hand():
    cell, head = nn.LSTMCell(3, 8), nn.Linear(8, 1)
    x, y = torch.randn(10, 16, 3), torch.randn(16, 1)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        h = c = torch.zeros(16, 8)
        for t in range(10):
            h, c = cell(x[t], (h, c))
        optimizer.zero_grad()
        F.mse_loss(head(h), y).backward()
        optimizer.step()


@healthy
def truncated_backpropagation():
    cell, head = nn.GRUCell(3, 8), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.05)
    h = torch.zeros(8, 8)
    for _ in range(4):
        h = h.detach()
        loss = 0
        for _ in range(3):
            h = cell(torch.randn(8, 3), h)
            loss = loss + head(h).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@healthy
def convolutional_network():
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.2),
        nn.Flatten(),
        nn.Linear(72, 3),
    )
    x, y = torch.randn(12, 1, 8, 8), torch.arange(12) % 3
    train(net, lambda net: F.cross_entropy(net(x), y))


@healthy
def variational_autoencoder():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = nn.Linear(4, 4), mlp(2, 8, 4)

        def forward(self, x):
            mean, log_var = self.encoder(x).chunk(2, 1)
            z = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)
            divergence = -0.5 * (1 + log_var - mean**2 - log_var.exp()).sum(1).mean()
            return self.decoder(z), divergence

    def loss(net):
        out, divergence = net(x)
        return F.mse_loss(out, x) + 0.0 * divergence

    x = torch.randn(32, 4)
    train(Model(), loss)


@healthy
def straight_through_rounding():
    x, y = regression()
    net = TwoParts(lambda h: h + (h.round() - h).detach())
    train(net, lambda net: F.mse_loss(net(x), y))


@healthy
def vector_quantization():
    x = torch.randn(16, 4)
    encoder, decoder, codes = nn.Linear(4, 2), nn.Linear(2, 4), nn.Embedding(8, 2)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), *codes.parameters()], lr=0.01)
    for _ in range(3):
        z = encoder(x)
        chosen = codes(torch.cdist(z, codes.weight).argmin(1))
        loss = F.mse_loss(decoder(z + (chosen - z).detach()), x)
        loss = loss + F.mse_loss(chosen, z.detach()) + 0.25 * F.mse_loss(z, chosen.detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@healthy
def target_network():
    net = mlp(4, 16, 2)
    target = copy.deepcopy(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(4):
        state, reward, after = torch.randn(16, 4), torch.randn(16), torch.randn(16, 4)
        action = torch.randint(0, 2, (16, 1))
        with torch.no_grad():
            goal = reward + 0.9 * target(after).max(1).values
        optimizer.zero_grad()
        F.smooth_l1_loss(net(state).gather(1, action)[:, 0], goal).backward()
        optimizer.step()
        with torch.no_grad():
            for p, q in zip(target.parameters(), net.parameters()):
                p.mul_(0.9).add_(0.1 * q)


@healthy
def policy_gradient():
    net = mlp(4, 16, 2, kind=nn.Tanh)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(4):
        policy = torch.distributions.Categorical(logits=net(torch.randn(16, 4)))
        action = policy.sample()
        optimizer.zero_grad()
        (-(policy.log_prob(action) * torch.randn(16)).mean() - 0.01 * policy.entropy().mean()).backward()
        optimizer.step()


@healthy
def contrastive_loss():
    net, other = mlp(4, 16, 8), mlp(4, 16, 8)
    optimizer = torch.optim.Adam([*net.parameters(), *other.parameters()], lr=1e-3)
    x = torch.randn(16, 4)
    for _ in range(3):
        a, b = F.normalize(net(x), dim=1), F.normalize(other(x + 0.1), dim=1)
        logits, labels = a @ b.T / 0.5, torch.arange(16)
        optimizer.zero_grad()
        ((F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2).backward()
        optimizer.step()


@healthy
def all_pairs():
    v = nn.Parameter(torch.randn(12, 2))
    optimizer = torch.optim.SGD([v], lr=0.01)
    goal = torch.rand(12, 12)
    for _ in range(3):
        optimizer.zero_grad()
        (((v[:, None] - v[None]).square().sum(-1) + 1e-6).sqrt() - goal).square().mean().backward()
        optimizer.step()


@healthy
def low_rank_adapter():
    x, y = regression()
    base = nn.Linear(4, 8).requires_grad_(False)
    head = nn.Linear(8, 1).requires_grad_(False)
    down, up = nn.Parameter(torch.randn(4, 2) * 0.1), nn.Parameter(torch.zeros(2, 8))
    optimizer = torch.optim.Adam([down, up], lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        F.mse_loss(head(torch.tanh(base(x) + x @ down @ up)), y).backward()
        optimizer.step()


@healthy
def a_last_layer_that_begins_at_zero():
    x, y = classification()
    net = mlp(4, 16, 3)
    nn.init.zeros_(net[2].weight)
    nn.init.zeros_(net[2].bias)
    train(net, lambda net: F.cross_entropy(net(x), y))


@healthy
def linear_regression_from_zero():
    x, y = regression()
    w, b = torch.zeros(4, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
    for _ in range(5):
        loss = F.mse_loss(x @ w + b, y)
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p -= 0.1 * p.grad
                p.grad = None


@healthy
def by_hand_zeroed_in_place():
    x, y = regression()
    w = torch.randn(4, 1, requires_grad=True)
    for _ in range(5):
        ((x @ w - y) ** 2).mean().backward()
        w.data -= 0.05 * w.grad
        w.grad.zero_()


@healthy
def clipped_at_one_and_warmed_up():
    x, y = regression()
    net = mlp(4, 16, 1)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: min(k / 4, 1.0))
    for _ in range(6):
        optimizer.zero_grad()
        (1e4 * F.mse_loss(net(x), y)).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()


@healthy
def cosine_to_zero():
    x, y = regression()
    net = mlp(4, 16, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 6)
    for _ in range(7):
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()
        schedule.step()


@healthy
def lbfgs():
    x, y = regression()
    net = nn.Linear(4, 1)
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)


@healthy
def a_picture_is_optimized():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(144, 3)).eval()
    image = torch.rand(1, 1, 8, 8, requires_grad=True)
    optimizer = torch.optim.Adam([image], lr=0.05)
    for _ in range(3):
        optimizer.zero_grad()
        (-net(image)[0, 1]).backward()
        optimizer.step()


@healthy
def adversarial_example():
    net = mlp(4, 16, 3).eval()
    x, y = classification()
    x.requires_grad_()
    F.cross_entropy(net(x), y).backward()
    (x + 0.1 * x.grad.sign()).detach()


@healthy
def saliency_by_grad():
    net = mlp(4, 16, 3)
    x = torch.randn(5, 4, requires_grad=True)
    (g,) = torch.autograd.grad(net(x).max(1).values.sum(), x)
    g.abs().mean()


@healthy
def ascent_with_maximize():
    x, y = classification()
    net = mlp(4, 16, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, maximize=True)
    train(net, lambda net: -F.cross_entropy(net(x), y), optimizer=optimizer)


@healthy
def gradient_reversal():
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return -g

    x, y = classification()
    trunk, head, domain = mlp(4, 16, 8), nn.Linear(8, 3), nn.Linear(8, 2)
    optimizer = torch.optim.SGD([*trunk.parameters(), *head.parameters(), *domain.parameters()], lr=0.05)
    for _ in range(3):
        h = trunk(x)
        optimizer.zero_grad()
        loss = F.cross_entropy(head(h), y) + F.cross_entropy(domain(Reverse.apply(h)), torch.arange(30) % 2)
        loss.backward()
        optimizer.step()


@healthy
def density_with_negative_loss():
    mean, log_scale = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.Adam([mean, log_scale], lr=0.05)
    x = 0.05 * torch.randn(64)
    for _ in range(8):
        optimizer.zero_grad()
        (-torch.distributions.Normal(mean, log_scale.exp()).log_prob(x).mean()).backward()
        optimizer.step()


@healthy
def margin_that_is_satisfied():
    a = nn.Embedding(6, 4)
    with torch.no_grad():
        a.weight.copy_(10 * torch.randn(6, 4))
    optimizer = torch.optim.SGD(a.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        F.triplet_margin_loss(a.weight[:2], a.weight[:2] + 0.1, a.weight[2:4], margin=0.1).backward()
        optimizer.step()


@healthy
def tied_weights():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.out = nn.Embedding(10, 8), nn.Linear(8, 10, bias=False)
            self.out.weight = self.table.weight

        def forward(self, x):
            return self.out(torch.tanh(self.table(x)))

    x = torch.randint(0, 10, (24,))
    train(Model(), lambda net: F.cross_entropy(net(x), (x + 1) % 10))


@healthy
def losses_are_noted_with_item():
    x, y = regression()
    net, losses, total = mlp(4, 8, 1), [], 0.0
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(5):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        total += loss.item()


@healthy
def losses_are_summed_within_a_step():
    x, y = regression()
    net = mlp(4, 8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(4):
        total = 0
        for i in range(4):
            total = total + F.mse_loss(net(x[i::4]), y[i::4])
        optimizer.zero_grad()
        total.backward()
        optimizer.step()


@healthy
def trained_and_evaluated_in_turns():
    x, y = classification()
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(3):
        net.train()
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        net.eval()
        with torch.no_grad():
            (net(x).argmax(1) == y).float().mean().item()


@healthy
def frozen_batch_norm_statistics():
    x, y = classification()
    net = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
    train(net, lambda net: F.cross_entropy(net(x), y), steps=2)
    net[1].eval()
    train(net, lambda net: F.cross_entropy(net(x), y), steps=2)


@healthy
def noisy_losses():
    net = mlp(4, 16, 1)
    scales = iter([1.0, 0.2, 3.0, 0.5, 4.0, 0.3, 1.0, 2.0])
    train(net, lambda net: F.mse_loss(net(next(scales) * torch.randn(8, 4)), torch.randn(8, 1)), lr=0.01, steps=8)


@healthy
def some_labels_are_ignored():
    x, y = classification()
    y[::3] = -100
    train(mlp(4, 16, 3), lambda net: F.cross_entropy(net(x), y))


@healthy
def physics_informed():
    net = mlp(1, 16, 1, kind=nn.Tanh)
    x = torch.linspace(0, 1, 20)[:, None].requires_grad_()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(3):
        u = net(x)
        (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        optimizer.zero_grad()
        ((du + u) ** 2).mean().backward()
        optimizer.step()


@healthy
def checkpointed():
    x, y = regression()
    first, last = mlp(4, 16, 16, kind=nn.Tanh), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.05)
    for _ in range(3):
        h = torch.utils.checkpoint.checkpoint(first, x, use_reentrant=False)
        optimizer.zero_grad()
        F.mse_loss(last(h), y).backward()
        optimizer.step()


@healthy
def bfloat16_autocast():
    x, y = regression()
    net = mlp(4, 16, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(3):
        with torch.autocast("cpu", torch.bfloat16):
            out = net(x)
        optimizer.zero_grad()
        F.mse_loss(out.float(), y).backward()
        optimizer.step()


@healthy
def an_attention_that_is_sharp_by_nature():
    x, y = classification()
    net = mlp(4, 16, 3)
    train(net, lambda net: F.nll_loss(F.log_softmax(net(x), dim=-1), y))


@healthy
def linear_probe_of_a_frozen_classifier():
    x, y = classification()
    trunk, head = mlp(4, 16, 8), nn.Linear(8, 3)
    for p in trunk.parameters():
        p.requires_grad = False
    train(head, lambda head: F.cross_entropy(head(torch.relu(trunk(x))), y))


@healthy
def a_nan_that_is_left_out():
    x, y = regression()
    y[3] = torch.nan
    there = ~torch.isnan(y)
    train(mlp(4, 8, 1), lambda net: F.mse_loss(net(x)[there], y[there]))


@healthy
def a_head_that_is_used_now_and_then():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.trunk, self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)

    x, y = regression()
    net = Heads()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(4):
        optimizer.zero_grad()
        head = net.a if step % 2 else net.b
        F.mse_loss(head(torch.tanh(net.trunk(x))), y).backward()
        optimizer.step()


@healthy
def the_seed_of_ones():
    x, y = regression()
    net = mlp(4, 16, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        losses = F.mse_loss(net(x), y, reduction="none")
        losses.backward(gradient=torch.full_like(losses, 1 / 32))
        optimizer.step()
