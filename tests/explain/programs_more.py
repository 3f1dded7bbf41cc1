"""Further programs of both kinds, which the findings were not made with."""

from __future__ import annotations

import pullback as torch
from pullback import nn

from .programs_faulty import fault
from .programs_healthy import healthy

F = nn.functional


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 16)
        self.rnn = nn.GRU(16, 24, batch_first=True)
        self.out = nn.Linear(24, 20)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


# faults
@fault("nan", "`feats`", "NaN")
def nan_multiplied_by_a_mask():
    feats = torch.randn(8, 5)
    feats[2, 1] = torch.nan
    mask = torch.isfinite(feats).float()
    m = nn.Linear(5, 2)
    opt = torch.optim.SGD(m.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        loss = m(feats * mask).pow(2).mean()
        loss.backward()
        opt.step()


@fault("nan", "acos")
def acos_at_one():
    a = torch.nn.Parameter(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    b = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    opt = torch.optim.Adam([a])
    for _ in range(3):
        opt.zero_grad()
        ang = torch.acos(F.cosine_similarity(a, b))
        ang.mean().backward()
        opt.step()


@fault("nan", "log")
def entropy_of_hard_probabilities():
    logits = torch.nn.Parameter(torch.tensor([[200.0, 0.0, 0.0]]))
    p = torch.softmax(logits, 1)
    (-(p * p.log()).sum()).backward()


@fault("accumulated", "missing")
def zero_grad_outside_of_the_loop():
    m = LM()
    opt = torch.optim.Adam(m.parameters(), lr=1e-3)
    x = torch.randint(0, 20, (4, 7))
    opt.zero_grad()
    for _ in range(4):
        loss = F.cross_entropy(m(x[:, :-1]).reshape(-1, 20), x[:, 1:].reshape(-1))
        loss.backward()
        opt.step()


@fault("no-gradient", "critic")
def actor_critic_with_numpy_baseline():
    class AC(nn.Module):
        def __init__(s):
            super().__init__()
            s.body = nn.Linear(4, 8)
            s.actor = nn.Linear(8, 2)
            s.critic = nn.Linear(8, 1)

        def forward(s, x):
            h = torch.tanh(s.body(x))
            return s.actor(h), s.critic(h)

    net = AC()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(3):
        logits, v = net(torch.randn(16, 4))
        adv = torch.randn(16) - v.detach()[:, 0]
        loss = -(F.log_softmax(logits, 1)[:, 0] * adv).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@fault("not-optimized", "decoder")
def only_the_encoder_is_optimized():
    class AE(nn.Module):
        def __init__(s):
            super().__init__()
            s.encoder = nn.Sequential(nn.Linear(6, 3), nn.ReLU())
            s.decoder = nn.Linear(3, 6)

        def forward(s, x):
            return s.decoder(s.encoder(x))

    ae = AE()
    optim = torch.optim.RMSprop(ae.encoder.parameters(), lr=1e-3)
    x = torch.randn(10, 6)
    for _ in range(3):
        ae.zero_grad()
        F.mse_loss(ae(x), x).backward()
        optim.step()


@fault("divergence", "too large")
def momentum_that_runs_away():
    torch.manual_seed(3)
    w = torch.nn.Parameter(torch.randn(6, 1))
    X = torch.randn(40, 6) * 3
    y = torch.randn(40, 1)
    opt = torch.optim.SGD([w], lr=0.3, momentum=0.9)
    for _ in range(15):
        opt.zero_grad()
        ((X @ w - y) ** 2).mean().backward()
        opt.step()


@fault("sign", "bound", "sign")
def negated_by_hand():
    lin = nn.Linear(3, 1)
    X = torch.randn(20, 3)
    y = torch.randn(20, 1)
    opt = torch.optim.SGD(lin.parameters(), lr=0.1)
    for _ in range(40):
        opt.zero_grad()
        loss = -((lin(X) - y) ** 2).mean()
        loss.backward()
        opt.step()


@fault("broadcast", "[12, 12]")
def l1_of_row_and_column():
    net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
    X = torch.randn(12, 3)
    y = torch.randn(12)
    opt = torch.optim.Adam(net.parameters())
    for _ in range(2):
        opt.zero_grad()
        (net(X) - y).abs().mean().backward()
        opt.step()


@fault("softmax-twice", "softmax")
def softmax_in_forward_and_ce():
    class C(nn.Module):
        def __init__(s):
            super().__init__()
            s.a = nn.Linear(5, 9)
            s.b = nn.Linear(9, 4)

        def forward(s, x):
            return F.softmax(s.b(F.gelu(s.a(x))), dim=-1)

    net = C()
    crit = nn.CrossEntropyLoss()
    opt = torch.optim.AdamW(net.parameters())
    x = torch.randn(12, 5)
    t = torch.arange(12) % 4
    for _ in range(3):
        opt.zero_grad()
        crit(net(x), t).backward()
        opt.step()


@fault("eval-mode", "BatchNorm")
def forgot_train_after_validation():
    net = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.randn(16, 5)
    t = torch.arange(16) % 2
    for _ in range(3):
        for _ in range(2):
            opt.zero_grad()
            F.cross_entropy(net(x), t).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            net(x)


@fault("dead-relu", "cut off")
def a_step_killed_the_units():
    net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
    x = torch.rand(32, 5)
    with torch.no_grad():
        net[0].weight.copy_(-net[0].weight.abs())
        net[0].bias.fill_(-0.1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        F.mse_loss(net(x), torch.ones(32, 1)).backward()
        opt.step()


@fault("raised", "does not require grad", "item")
def loss_made_of_items():
    net = nn.Linear(3, 1)
    X = torch.randn(6, 3)
    total = 0.0
    for i in range(6):
        total += net(X[i]).item() ** 2
    loss = torch.tensor(total)
    loss.backward()


@fault("kept-graph", "`losses`")
def losses_in_a_list():
    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    losses = []
    for _ in range(6):
        opt.zero_grad()
        l = net(torch.randn(5, 3)).pow(2).mean()
        l.backward()
        opt.step()
        losses.append(l)


@fault("symmetric", "equal")
def constant_initialization_of_a_conv():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))
    nn.init.constant_(net[0].weight, 0.05)
    nn.init.zeros_(net[0].bias)
    nn.init.constant_(net[3].weight, 0.01)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.rand(6, 1, 8, 8)
    t = torch.arange(6) % 3
    for _ in range(2):
        opt.zero_grad()
        F.cross_entropy(net(x), t).backward()
        opt.step()


# healthy
@healthy
def language_model():
    m = LM()
    opt = torch.optim.AdamW(m.parameters(), lr=3e-3)
    x = torch.randint(0, 20, (8, 10))
    for _ in range(6):
        loss = F.cross_entropy(m(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 0.5)
        opt.step()


@healthy
def residual_network_on_positive_images():
    class B(nn.Module):
        def __init__(s):
            super().__init__()
            s.c1 = nn.Conv2d(8, 8, 3, padding=1)
            s.n1 = nn.BatchNorm2d(8)
            s.c2 = nn.Conv2d(8, 8, 3, padding=1)
            s.n2 = nn.BatchNorm2d(8)

        def forward(s, x):
            return F.relu(x + s.n2(s.c2(F.relu(s.n1(s.c1(x))))))

    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), B(), B(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    x = torch.rand(10, 3, 12, 12)
    t = torch.arange(10) % 5
    for _ in range(4):
        opt.zero_grad()
        F.cross_entropy(net(x), t, label_smoothing=0.1).backward()
        opt.step()


@healthy
def positive_inputs_to_an_mlp():
    net = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 10))
    x = torch.rand(32, 64)
    t = torch.arange(32) % 10
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(5):
        opt.zero_grad()
        F.cross_entropy(net(x), t).backward()
        opt.step()


@healthy
def maml():
    net = nn.Linear(1, 1)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(3):
        meta = 0
        for _ in range(2):
            a = torch.randn(())
            x = torch.randn(8, 1)
            params = dict(net.named_parameters())
            l = F.mse_loss(torch.func.functional_call(net, params, (x,)), a * x)
            g = torch.autograd.grad(l, list(params.values()), create_graph=True)
            fast = {k: p - 0.1 * gg for (k, p), gg in zip(params.items(), g)}
            meta = meta + F.mse_loss(torch.func.functional_call(net, fast, (x,)), a * x)
        opt.zero_grad()
        meta.backward()
        opt.step()


@healthy
def ppo_clip():
    pi = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
    v = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam([*pi.parameters(), *v.parameters()], lr=3e-4)
    s = torch.randn(32, 4)
    a = torch.randint(0, 3, (32,))
    adv = torch.randn(32)
    ret = torch.randn(32)
    with torch.no_grad():
        old = torch.distributions.Categorical(logits=pi(s)).log_prob(a)
    for _ in range(4):
        d = torch.distributions.Categorical(logits=pi(s))
        r = (d.log_prob(a) - old).exp()
        loss = (
            -torch.min(r * adv, r.clamp(0.8, 1.2) * adv).mean()
            + 0.5 * F.mse_loss(v(s)[:, 0], ret)
            - 0.01 * d.entropy().mean()
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


@healthy
def knowledge_distillation():
    teacher = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
    student = nn.Linear(6, 4)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    x = torch.randn(20, 6)
    t = torch.arange(20) % 4
    for _ in range(3):
        with torch.no_grad():
            soft = F.softmax(teacher(x) / 2, 1)
        out = student(x)
        loss = F.kl_div(F.log_softmax(out / 2, 1), soft, reduction="batchmean") * 4 + F.cross_entropy(out, t)
        opt.zero_grad()
        loss.backward()
        opt.step()


@healthy
def style_transfer_with_an_unfrozen_net():
    vgg = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1)).eval()
    img = torch.rand(1, 3, 10, 10).requires_grad_()
    goal = vgg(torch.rand(1, 3, 10, 10)).detach()
    opt = torch.optim.LBFGS([img], max_iter=3)

    def closure():
        opt.zero_grad()
        l = F.mse_loss(vgg(img), goal)
        l.backward()
        return l

    opt.step(closure)


@healthy
def node2vec_with_sparse_embeddings():
    u, v = nn.Embedding(30, 8, sparse=True), nn.Embedding(30, 8, sparse=True)
    opt = torch.optim.SparseAdam([*u.parameters(), *v.parameters()], lr=0.01)
    for _ in range(3):
        a, b, n = (torch.randint(0, 30, (12,)) for _ in range(3))
        loss = -(F.logsigmoid((u(a) * v(b)).sum(1)) + F.logsigmoid(-(u(a) * v(n)).sum(1))).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@healthy
def alternating_minimization():
    A = torch.nn.Parameter(torch.randn(6, 2))
    B = torch.nn.Parameter(torch.randn(2, 5))
    M = torch.randn(6, 5)
    oa, ob = torch.optim.SGD([A], lr=0.05), torch.optim.SGD([B], lr=0.05)
    for i in range(6):
        oa.zero_grad()
        ob.zero_grad()
        ((A @ B - M) ** 2).mean().backward()
        (oa if i % 2 else ob).step()


@healthy
def gradients_zeroed_in_the_optimizer_step_afterwards():
    net = nn.Linear(4, 2)
    opt = torch.optim.Adagrad(net.parameters(), lr=0.1)
    for _ in range(4):
        net(torch.randn(6, 4)).pow(2).mean().backward()
        opt.step()
        opt.zero_grad(set_to_none=False)


@healthy
def deep_lstm_on_long_sequences():
    m = nn.LSTM(4, 12, num_layers=2, dropout=0.1)
    head = nn.Linear(12, 1)
    opt = torch.optim.Adam([*m.parameters(), *head.parameters()], lr=1e-3)
    for _ in range(2):
        out, _ = m(torch.randn(40, 6, 4))
        loss = head(out[-1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@healthy
def losses_that_start_tiny():
    net = nn.Linear(4, 1)
    nn.init.zeros_(net.weight)
    nn.init.zeros_(net.bias)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for i in range(8):
        x = torch.randn(16, 4)
        y = torch.zeros(16, 1) if i < 2 else torch.randn(16, 1)
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        opt.step()


@healthy
def early_layers_unfrozen_later():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    for p in net[0].parameters():
        p.requires_grad = False
    x = torch.randn(16, 4)
    t = torch.arange(16) % 2
    opt = torch.optim.SGD(net[2].parameters(), lr=0.1)
    for e in range(4):
        if e == 2:
            for p in net[0].parameters():
                p.requires_grad = True
            opt.add_param_group({"params": list(net[0].parameters())})
        opt.zero_grad()
        F.cross_entropy(net(x), t).backward()
        opt.step()


@healthy
def mixture_density_network():
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 9))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    x = torch.randn(24, 1)
    y = torch.sin(x)
    for _ in range(4):
        pi, mu, ls = net(x).chunk(3, 1)
        lp = torch.distributions.Normal(mu, ls.exp()).log_prob(y)
        loss = -torch.logsumexp(F.log_softmax(pi, 1) + lp, 1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@healthy
def siamese_with_shared_trunk_and_cosine():
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    opt = torch.optim.NAdam(net.parameters(), lr=1e-2)
    a, b = torch.randn(20, 6), torch.randn(20, 6)
    t = torch.arange(20) % 2 * 2 - 1
    for _ in range(3):
        loss = F.cosine_embedding_loss(net(a), net(b), t.float())
        opt.zero_grad()
        loss.backward()
        opt.step()
