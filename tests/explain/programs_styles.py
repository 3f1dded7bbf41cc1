"""Still further programs of both kinds, in other styles: loaders, classes that train, several heads, schedules."""

from __future__ import annotations

import pullback as torch
from pullback import nn
from pullback.utils.data import DataLoader, TensorDataset

from .programs_faulty import fault
from .programs_healthy import healthy

F = nn.functional


def fit(model, batches, crit, opt):
    for xb, yb in batches:
        opt.zero_grad()
        out = model(xb)
        l = crit(out, yb)
        l.backward()
        opt.step()


class Mlp(nn.Module):
    def __init__(s, a, h, b, act=nn.ReLU):
        super().__init__()
        s.net = nn.Sequential(nn.Linear(a, h), act(), nn.Linear(h, b))

    def forward(s, x):
        return s.net(x)


@fault("nan", "NaN", "`xb`")
def loader_with_a_nan_row():
    X = torch.randn(40, 6)
    X[33, 2] = float("nan")
    Y = torch.randn(40, 1)
    m = Mlp(6, 8, 1)
    fit(m, DataLoader(TensorDataset(X, Y), batch_size=8), nn.MSELoss(), torch.optim.Adam(m.parameters()))


@fault("nan", "NaN", "embedding.weight")
def nan_row_in_an_embedding():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.embedding = nn.Embedding(10, 4)
            s.out = nn.Linear(4, 2)

        def forward(s, i):
            return s.out(torch.tanh(s.embedding(i)))

    m = M()
    m.embedding.weight.data[3] = float("nan")
    i = torch.arange(10)
    t = i % 2
    fit(m, [(i, t)] * 3, nn.CrossEntropyLoss(), torch.optim.SGD(m.parameters(), lr=0.1))


@fault("nan", "sqrt")
def distance_of_equal_points():
    p = nn.Parameter(torch.zeros(3, 2))
    opt = torch.optim.Adam([p], lr=0.1)
    for _ in range(4):
        d = ((p[:, None] - p[None]) ** 2).sum(-1).sqrt()
        opt.zero_grad()
        (d - 1).pow(2).mean().backward()
        opt.step()


@fault("nan", "div")
def accuracy_weighted_by_empty_mask():
    m = nn.Linear(4, 1)
    x = torch.randn(6, 4)
    mask = torch.zeros(6, 1)
    opt = torch.optim.SGD(m.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        ((m(x) ** 2 * mask).sum() / mask.sum()).backward()
        opt.step()


@fault("nan", "log", "0")
def kl_of_zero_probabilities():
    p = nn.Parameter(torch.tensor([0.5, 0.5, 0.0]))
    q = torch.tensor([0.3, 0.3, 0.4])
    (q * (q.log() - p.log())).sum().backward()


@fault("divergence", "too large")
def adam_with_rate_ten():
    torch.manual_seed(0)
    m = Mlp(6, 16, 1)
    x, y = torch.randn(32, 6), torch.randn(32, 1)
    opt = torch.optim.Adam(m.parameters(), lr=10.0)
    for _ in range(30):
        opt.zero_grad()
        F.mse_loss(m(x), y).backward()
        opt.step()


@fault("accumulated", "missing")
def zero_grad_of_another_module():
    enc, dec = Mlp(4, 8, 3), Mlp(3, 8, 4)
    opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.01)
    x = torch.randn(16, 4)
    for _ in range(4):
        enc.zero_grad()
        F.mse_loss(dec(enc(x)), x).backward()
        opt.step()


@fault("not-optimized", "heads", "ModuleList")
def heads_in_a_dict():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.trunk = nn.Linear(4, 8)
            s.heads = {"a": nn.Linear(8, 1), "b": nn.Linear(8, 1)}

        def forward(s, x):
            h = F.relu(s.trunk(x))
            return s.heads["a"](h) + s.heads["b"](h)

    m = M()
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    fit(m, [(x, y)] * 3, F.mse_loss, torch.optim.Adam(m.parameters()))


@fault("frozen", "net.0")
def unfreezing_was_forgotten():
    m = Mlp(4, 8, 1)
    for p in m.net[0].parameters():
        p.requires_grad = False
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    fit(m, [(x, y)] * 3, F.mse_loss, torch.optim.Adam(m.parameters()))


@fault("no-gradient", "encoder", "detach")
def contrastive_with_both_sides_detached():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.encoder = Mlp(4, 8, 4)
            s.predictor = nn.Linear(4, 4)

        def forward(s, a, b):
            za, zb = s.encoder(a).detach(), s.encoder(b).detach()
            return -F.cosine_similarity(s.predictor(za), zb).mean()

    m = M()
    opt = torch.optim.SGD(m.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        m(x, x + 0.1).backward()
        opt.step()


@fault("no-gradient", "numpy")
def through_numpy():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.a = nn.Linear(4, 4)
            s.b = nn.Linear(4, 1)

        def forward(s, x):
            h = s.a(x)
            h = torch.from_numpy(h.detach().numpy() ** 2)
            return s.b(h)

    m = M()
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    fit(m, [(x, y)] * 3, F.mse_loss, torch.optim.Adam(m.parameters()))


@fault("rounded", "sign")
def sign_activation():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.a = nn.Linear(4, 4)
            s.b = nn.Linear(4, 1)

        def forward(s, x):
            return s.b(torch.sign(s.a(x)))

    m = M()
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    fit(m, [(x, y)] * 3, F.mse_loss, torch.optim.Adam(m.parameters()))


@fault("sigmoid-twice", "sigmoid")
def sigmoid_in_the_model_and_in_bce():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = nn.Linear(4, 1)

        def forward(s, x):
            return torch.sigmoid(s.l(x)).squeeze(1)

    m = M()
    x, y = torch.randn(16, 4), (torch.rand(16) > 0.5).float()
    fit(m, [(x, y)] * 3, nn.BCEWithLogitsLoss(), torch.optim.Adam(m.parameters()))


@fault("softmax-dim", "dim")
def attention_over_the_batch():
    q, k = nn.Linear(8, 8), nn.Linear(8, 8)
    x, y = torch.randn(4, 6, 8), torch.randn(4, 6, 8)
    opt = torch.optim.Adam([*q.parameters(), *k.parameters()])
    for _ in range(3):
        w = torch.softmax(q(x) @ k(x).mT / 8**0.5, dim=0)
        opt.zero_grad()
        F.mse_loss(w @ x, y).backward()
        opt.step()


@fault("zeroed", "zero_grad()")
def zero_grad_in_the_wrong_place_of_a_class():
    class T:
        def __init__(s):
            s.m = Mlp(4, 8, 1)
            s.o = torch.optim.SGD(s.m.parameters(), lr=0.1)

        def step(s, x, y):
            l = F.mse_loss(s.m(x), y)
            l.backward()
            s.m.zero_grad()
            s.o.step()
            return l.item()

    t = T()
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    for _ in range(4):
        t.step(x, y)


@fault("no-step", "lr")
def linear_schedule_that_is_too_short():
    m = Mlp(4, 8, 1)
    o = torch.optim.Adam(m.parameters(), lr=0.01)
    s = torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.0, total_iters=3)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    for _ in range(10):
        o.zero_grad()
        F.mse_loss(m(x), y).backward()
        o.step()
        s.step()


@fault("clipped", "clip")
def clipped_by_value_to_nothing():
    m = Mlp(4, 8, 1)
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    for _ in range(3):
        o.zero_grad()
        F.mse_loss(m(x), y).backward()
        nn.utils.clip_grad_value_(m.parameters(), 0.0)
        o.step()


@healthy
def class_with_loader_and_scheduler():
    X, Y = torch.randn(64, 6), torch.randint(0, 4, (64,))
    m = Mlp(6, 24, 4)
    o = torch.optim.AdamW(m.parameters(), lr=1e-3)
    s = torch.optim.lr_scheduler.OneCycleLR(o, 1e-2, total_steps=16)
    for _ in range(2):
        for xb, yb in DataLoader(TensorDataset(X, Y), batch_size=8, shuffle=True):
            o.zero_grad()
            F.cross_entropy(m(xb), yb).backward()
            o.step()
            s.step()


@healthy
def transformer_with_padding():
    m = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)
    head = nn.Linear(16, 3)
    o = torch.optim.Adam([*m.parameters(), *head.parameters()], lr=1e-3)
    x = torch.randn(6, 5, 16)
    pad = torch.zeros(6, 5, dtype=torch.bool)
    pad[2, 3:] = True
    for _ in range(3):
        o.zero_grad()
        F.cross_entropy(head(m(x, src_key_padding_mask=pad)[:, 0]), torch.arange(6) % 3).backward()
        o.step()


@healthy
def multi_task_with_weights():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.t = nn.Linear(4, 16)
            s.a = nn.Linear(16, 1)
            s.b = nn.Linear(16, 3)
            s.w = nn.Parameter(torch.zeros(2))

        def forward(s, x, y, t):
            h = F.gelu(s.t(x))
            la, lb = F.mse_loss(s.a(h)[:, 0], y), F.cross_entropy(s.b(h), t)
            return torch.exp(-s.w[0]) * la + s.w[0] + torch.exp(-s.w[1]) * lb + s.w[1]

    m = M()
    o = torch.optim.Adam(m.parameters(), lr=1e-2)
    for _ in range(5):
        o.zero_grad()
        m(torch.randn(18, 4), torch.randn(18), torch.arange(18) % 3).backward()
        o.step()


@healthy
def diffusion_step():
    net = nn.Sequential(nn.Linear(9, 32), nn.SiLU(), nn.Linear(32, 8))
    o = torch.optim.Adam(net.parameters(), lr=1e-3)
    ema = {k: v.clone() for k, v in net.state_dict().items()}
    for _ in range(4):
        x0 = torch.randn(16, 8)
        t = torch.rand(16, 1)
        n = torch.randn_like(x0)
        xt = (1 - t).sqrt() * x0 + t.sqrt() * n
        loss = F.mse_loss(net(torch.cat([xt, t], 1)), n)
        o.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        o.step()
        for k, v in net.state_dict().items():
            ema[k] = 0.99 * ema[k] + 0.01 * v


@healthy
def deep_q_with_huber_and_clamp():
    q = Mlp(4, 32, 2)
    tq = Mlp(4, 32, 2)
    tq.load_state_dict(q.state_dict())
    o = torch.optim.RMSprop(q.parameters(), lr=1e-3)
    for i in range(5):
        s, a, r, s2 = torch.randn(16, 4), torch.randint(0, 2, (16,)), torch.randn(16).clamp(-1, 1), torch.randn(16, 4)
        with torch.no_grad():
            y = r + 0.99 * tq(s2).max(1)[0]
        l = F.huber_loss(q(s)[torch.arange(16), a], y)
        o.zero_grad()
        l.backward()
        for p in q.parameters():
            p.grad.data.clamp_(-1, 1)
        o.step()
        if i % 2 == 0:
            tq.load_state_dict(q.state_dict())


@healthy
def sparse_autoencoder_with_l1():
    e, d = nn.Linear(8, 32), nn.Linear(32, 8)
    o = torch.optim.Adam([*e.parameters(), *d.parameters()], lr=1e-3)
    x = torch.randn(64, 8)
    for _ in range(6):
        z = F.relu(e(x))
        l = F.mse_loss(d(z), x) + 1e-3 * z.abs().sum(1).mean()
        o.zero_grad()
        l.backward()
        o.step()


@healthy
def gumbel_softmax_hard():
    m = Mlp(6, 16, 5)
    dec = nn.Linear(5, 6)
    o = torch.optim.Adam([*m.parameters(), *dec.parameters()], lr=1e-3)
    x = torch.randn(20, 6)
    for _ in range(4):
        z = F.gumbel_softmax(m(x), tau=0.5, hard=True)
        o.zero_grad()
        F.mse_loss(dec(z), x).backward()
        o.step()


@healthy
def gradient_accumulation_with_leftover():
    m = Mlp(4, 8, 1)
    o = torch.optim.Adam(m.parameters())
    o.zero_grad()
    for i in range(7):
        (F.mse_loss(m(torch.randn(8, 4)), torch.randn(8, 1)) / 3).backward()
        if (i + 1) % 3 == 0:
            o.step()
            o.zero_grad()


@healthy
def bce_with_soft_labels_and_pos_weight():
    m = Mlp(4, 8, 3)
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    x, y = torch.randn(16, 4), torch.rand(16, 3)
    w = torch.tensor([1.0, 2.0, 5.0])
    for _ in range(3):
        o.zero_grad()
        F.binary_cross_entropy_with_logits(m(x), y, pos_weight=w).backward()
        o.step()


@healthy
def outer_product_features():
    w = nn.Parameter(torch.randn(5, 1))
    v = nn.Parameter(torch.randn(1, 7))
    o = torch.optim.SGD([w, v], lr=0.05)
    M = torch.randn(5, 7)
    for _ in range(4):
        o.zero_grad()
        ((w * v - M) ** 2).mean().backward()
        o.step()


@healthy
def weight_norm_and_spectral():
    m = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 8)), nn.Tanh(), nn.Linear(8, 1))
    o = torch.optim.Adam(m.parameters())
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    for _ in range(3):
        o.zero_grad()
        F.mse_loss(m(x), y).backward()
        o.step()


@healthy
def train_with_validation_loss_computed_too():
    m = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))
    o = torch.optim.Adam(m.parameters())
    x, y = torch.randn(32, 4), torch.randn(32, 1)
    hist = []
    for _ in range(4):
        m.train()
        o.zero_grad()
        l = F.mse_loss(m(x), y)
        l.backward()
        o.step()
        m.eval()
        hist.append(F.mse_loss(m(x), y).item())


@healthy
def one_hidden_unit():
    m = nn.Sequential(nn.Linear(3, 1), nn.Sigmoid(), nn.Linear(1, 1))
    o = torch.optim.SGD(m.parameters(), lr=0.5)
    x, y = torch.randn(20, 3), torch.randn(20, 1)
    for _ in range(6):
        o.zero_grad()
        F.mse_loss(m(x), y).backward()
        o.step()


@healthy
def line_search_that_tries_far_points():
    torch.manual_seed(2)
    w = nn.Parameter(torch.tensor([3.0, -2.0]))
    opt = torch.optim.LBFGS([w], lr=1.0, max_iter=8, line_search_fn="strong_wolfe")

    def closure():
        opt.zero_grad()
        loss = (w**4).sum() + 1e-3 * torch.exp(w).sum()
        loss.backward()
        return loss

    for _ in range(3):
        opt.step(closure)
