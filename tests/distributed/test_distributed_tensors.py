"""``DTensor``: where results lie, what they are, and what their gradients are, as PyTorch has it."""

import importlib

from ranks import cases_of, ours

outcome, test_case, test_gloo_agrees = cases_of(__file__, 2)


def names(torch):
    return importlib.import_module(f"{torch.distributed.__name__}.tensor")


def line(torch, dist):
    return importlib.import_module(f"{dist.__name__}.device_mesh").init_device_mesh("cpu", (dist.get_world_size(),))


def random(torch, *shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def lying(x):
    return ",".join(str(p) for p in x.placements)


def operations(torch, whole):
    """Operations, and where their results lie for operands cut along the first, and the last, of two dimensions."""
    f = torch.nn.functional
    return [
        ("exp", lambda t: t.exp(), "S(0)", "S(1)"),
        ("add a number", lambda t: t + 1, "S(0)", "S(1)"),
        ("add what is whole", lambda t: t + whole(random(torch, 4, 8)), "S(0)", "S(1)"),
        ("multiply by a row", lambda t: t * whole(random(torch, 8)), "S(0)", "S(1)"),
        ("where", lambda t: torch.where(t > 0, t, 0.0), "S(0)", "S(1)"),
        ("masked_fill", lambda t: t.masked_fill(t > 0, 0.0), "S(0)", "S(1)"),
        ("maximum of two", lambda t: torch.maximum(t, t * 2), "S(0)", "S(1)"),
        ("sum", lambda t: t.sum(), "P(sum)", "P(sum)"),
        ("sum of columns", lambda t: t.sum(0), "P(sum)", "S(0)"),
        ("sum of rows, kept", lambda t: t.sum(1, keepdim=True), "S(0)", "P(sum)"),
        ("sum of sums", lambda t: t.sum(0).sum(), "P(sum)", "P(sum)"),
        ("twice a sum", lambda t: t.sum(0) * 2, "P(sum)", "S(0)"),
        ("relu of a sum", lambda t: t.sum(0).relu(), "R", "S(0)"),
        ("one more than a sum", lambda t: t.sum(0) + 1, "R", "S(0)"),
        ("mean", lambda t: t.mean(), "P(avg)", "P(avg)"),
        ("largest", lambda t: t.max(), "P(max)", "P(max)"),
        ("largest of columns", lambda t: t.amax(0), "P(max)", "S(0)"),
        ("largest of rows", lambda t: t.max(1)[0], "S(0)", "R"),
        ("product", lambda t: t.prod(), "P(product)", "P(product)"),
        ("variance", lambda t: t.var(0), "R", "S(0)"),
        ("softmax", lambda t: t.softmax(1), "S(0)", "R"),
        ("cumulative sums", lambda t: t.cumsum(0), "R", "S(1)"),
        ("sorted", lambda t: t.sort(1)[0], "S(0)", "R"),
        ("layer norm", lambda t: f.layer_norm(t, (8,)), "S(0)", "R"),
        ("transposed", lambda t: t.t(), "S(1)", "S(0)"),
        ("permuted", lambda t: t.unsqueeze(0).permute(2, 0, 1), "S(2)", "S(0)"),
        ("rows split", lambda t: t.view(2, 2, 8), "S(0)", "S(2)"),
        ("columns split", lambda t: t.reshape(4, 2, 4), "S(0)", "S(1)"),
        ("stretched", lambda t: t.unsqueeze(0).expand(3, 4, 8), "S(1)", "S(2)"),
        ("squeezed", lambda t: t.unsqueeze(1).squeeze(1), "S(0)", "S(1)"),
        ("columns taken", lambda t: t[:, :4], "S(0)", "R"),
        ("a row", lambda t: t[0], "R", "S(0)"),
        ("joined", lambda t: torch.cat([t, t]), "R", "S(1)"),
        ("stacked", lambda t: torch.stack([t, t]), "S(1)", "S(2)"),
        ("chunks", lambda t: t.chunk(2, 1)[0], "S(0)", "R"),
        ("times what is whole", lambda t: t @ whole(random(torch, 8, 4)), "S(0)", "P(sum)"),
        ("linear", lambda t: f.linear(t, whole(random(torch, 3, 8))), "S(0)", "P(sum)"),
        ("einsum", lambda t: torch.einsum("ij,kj->ki", t, whole(random(torch, 3, 8))), "S(1)", "P(sum)"),
        ("addmm", lambda t: torch.addmm(whole(random(torch, 4)), t, whole(random(torch, 8, 4))), "S(0)", "P(sum)"),
        ("mean squared error", lambda t: f.mse_loss(t, whole(random(torch, 4, 8, seed=1))), "P(avg)", "P(avg)"),
        ("zeros", lambda t: t.new_zeros(4, 8), "S(0)", "S(1)"),
    ]


def case_where_results_lie(torch, dist):
    tensor, mesh = names(torch), line(torch, dist)
    x = random(torch, 4, 8)
    for dim in (0, 1):
        own = tensor.distribute_tensor(x, mesh, [tensor.Shard(dim)])
        for what, call, *expected in operations(torch, lambda t: tensor.distribute_tensor(t, mesh)):
            result = call(own)
            assert lying(result) == expected[dim], (what, dim, lying(result))
            one = call(tensor.distribute_tensor(x, mesh))
            assert torch.allclose(result.full_tensor(), one.full_tensor(), atol=1e-5), (what, dim)


def case_products_of_what_lies_otherwise(torch, dist):
    tensor, mesh = names(torch), line(torch, dist)
    x, w = random(torch, 4, 8), random(torch, 8, 4, seed=1)
    lies = {"S(0)": tensor.Shard(0), "S(1)": tensor.Shard(1), "R": tensor.Replicate()}
    for a, b, expected in [
        ("S(0)", "R", "S(0)"),
        ("R", "S(1)", "S(1)"),
        ("S(1)", "S(0)", "P(sum)"),
        ("S(0)", "S(0)", "S(0)"),
        ("S(1)", "S(1)", "S(1)"),
        ("S(0)", "S(1)", "S(0)"),
        ("S(1)", "R", "P(sum)"),
        ("R", "S(0)", "P(sum)"),
    ]:
        left = tensor.distribute_tensor(x, mesh, [lies[a]]).requires_grad_()
        right = tensor.distribute_tensor(w, mesh, [lies[b]]).requires_grad_()
        result = left @ right
        assert lying(result) == expected and torch.allclose(result.full_tensor(), x @ w, atol=1e-5), (a, b)
        loss = result.pow(2).sum()
        loss.backward()
        plain = x.clone().requires_grad_(), w.clone().requires_grad_()
        (plain[0] @ plain[1]).pow(2).sum().backward()
        assert torch.allclose(left.grad.full_tensor(), plain[0].grad, atol=1e-4), (a, b)
        assert torch.allclose(right.grad.full_tensor(), plain[1].grad, atol=1e-4), (a, b)


def case_gradients(torch, dist):
    tensor, mesh, f = names(torch), line(torch, dist), torch.nn.functional
    x = random(torch, 4, 6)
    calls = [
        lambda t: t.mean(),
        lambda t: t.var(),
        lambda t: t.max(),
        lambda t: t.softmax(1).log().mean(),
        lambda t: (t - t.mean(0)).pow(2).sum(),
        lambda t: f.gelu(t).norm(),
        lambda t: t.reshape(2, 2, 6).sum(1).pow(2).sum(),
        lambda t: torch.einsum("ij,kj->ik", t, t).sum(),
        lambda t: t.unsqueeze(1).expand(4, 3, 6).sum(),
        lambda t: (t[1] * 2).sum(),
        lambda t: torch.logsumexp(t, 1).mean(),
        lambda t: (t.sum(0) / 3).exp().sum(),
        lambda t: f.layer_norm(t, (6,)).pow(3).sum(),
        lambda t: t.flatten().sort()[0][:3].sum(),
        lambda t: t.abs().sum(1, keepdim=True).sqrt().sum(),
    ]
    for i, call in enumerate(calls):
        plain = x.clone().requires_grad_()
        expected = call(plain)
        expected.backward()
        for dim in (0, 1):
            own = tensor.distribute_tensor(x, mesh, [tensor.Shard(dim)]).requires_grad_()
            loss = call(own)
            loss.backward()
            assert torch.allclose(loss.full_tensor(), expected, atol=1e-5), (i, dim)
            assert torch.allclose(own.grad.full_tensor(), plain.grad, atol=1e-5), (i, dim)


@ours  # PyTorch's gradient of the one is too large by the number of ranks; those of the others are errors there
def case_gradients_that_pytorch_lacks(torch, dist):
    tensor, mesh = names(torch), line(torch, dist)
    x = random(torch, 4, 6)
    own = tensor.distribute_tensor(x, mesh, [tensor.Shard(0)]).requires_grad_()
    torch.nn.functional.mse_loss(own, torch.zeros_like(own)).backward()
    assert torch.allclose(own.grad.full_tensor(), x / 12)
    for call in (lambda t: t.prod(1).sum(), lambda t: t.split(3, 1)[0].pow(2).sum()):
        plain, own = x.clone().requires_grad_(), tensor.distribute_tensor(x, mesh, [tensor.Shard(0)]).requires_grad_()
        call(plain).backward(), call(own).backward()
        assert torch.allclose(own.grad.full_tensor(), plain.grad, atol=1e-5)


@ours
def case_weighted_losses(torch, dist):
    """The mean of some is divided by the sum of the weights, which the ranks have parts of."""
    tensor, mesh, f = names(torch), line(torch, dist), torch.nn.functional
    x, y, weight = random(torch, 4, 6), random(torch, 4, 6, seed=1), torch.arange(24.0).view(4, 6)
    for call in (
        lambda x, y, w: f.mse_loss(x, y, weight=w),
        lambda x, y, w: f.mse_loss(x, y, weight=w, reduction="sum"),
        lambda x, y, w: f.binary_cross_entropy_with_logits(x, y.sigmoid(), weight=w),
        lambda x, y, w: f.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=w),
    ):
        parts = [tensor.distribute_tensor(t, mesh, [tensor.Shard(0)]) for t in (x, y, weight)]
        plain, own = x.clone().requires_grad_(), parts[0].clone().detach().requires_grad_()
        expected, found = call(plain, y, weight), call(own, *parts[1:])
        expected.backward(), found.backward()
        assert torch.allclose(found.full_tensor(), expected, atol=1e-5)
        assert torch.allclose(own.grad.full_tensor(), plain.grad, atol=1e-5)


def case_terms(torch, dist):
    tensor, mesh = names(torch), line(torch, dist)
    p = tensor.DTensor.from_local(torch.ones(4, 4), mesh, [tensor.Partial()])
    whole = tensor.ones(4, 4, device_mesh=mesh)
    for result, expected in [
        (p + p, "P(sum)"),
        (p * 2, "P(sum)"),
        (-p, "P(sum)"),
        (p / 2, "P(sum)"),
        (p.t(), "P(sum)"),
        (p.view(16), "P(sum)"),
        (p @ whole, "P(sum)"),
        (p - 1, "R"),
        (p.relu(), "R"),
        (p.redistribute(mesh, [tensor.Shard(1)]), "S(1)"),
    ]:
        assert lying(result) == expected
    assert (p - 1).full_tensor().eq(dist.get_world_size() - 1).all()
    assert str(p.placements[0]) == "P(sum)" and repr(p.placements[0]) == "Partial(sum)"
    assert repr(tensor.Shard(1)) == "Shard(dim=1)" and str(tensor.Replicate()) == "R"


def case_parts_of_different_sizes(torch, dist):
    tensor, mesh = names(torch), line(torch, dist)
    x = torch.arange(15.0).view(5, 3)
    d = tensor.distribute_tensor(x, mesh, [tensor.Shard(0)])
    for call in (
        lambda t: t.sum(0),
        lambda t: t.mean(),
        lambda t: t.mean(0),
        lambda t: t.t(),
        lambda t: t * 2 + 1,
        lambda t: t.max(),
        lambda t: t.softmax(1),
        lambda t: t.unsqueeze(1).squeeze(),
    ):
        assert torch.allclose(call(d).full_tensor(), call(x))
    d.mul_(2).add_(d)
    assert torch.equal(d.full_tensor(), x * 4) and lying(d) == "S(0)"


@ours  # PyTorch refuses to
def case_parts_of_different_sizes_are_reshaped(torch, dist):
    tensor, mesh = names(torch), line(torch, dist)
    x = torch.arange(15.0).view(5, 3)
    d = tensor.distribute_tensor(x, mesh, [tensor.Shard(0)])
    assert torch.equal(d.reshape(15).full_tensor(), x.reshape(15))


def case_optimizers_and_norms(torch, dist):
    tensor, mesh = names(torch), line(torch, dist)
    x, w = torch.ones(2, 3), random(torch, 3, 4)
    plain = torch.nn.Parameter(w.clone())
    own = torch.nn.Parameter(tensor.distribute_tensor(w, mesh, [tensor.Shard(1)]))
    for kind in (torch.optim.SGD, torch.optim.AdamW, torch.optim.Adagrad):
        first, second = kind([plain], lr=0.1), kind([own], lr=0.1)
        for _ in range(2):
            first.zero_grad(), second.zero_grad()
            (x @ plain).relu().pow(2).mean().backward()
            (tensor.distribute_tensor(x, mesh) @ own).relu().pow(2).mean().backward()
            norm = torch.nn.utils.clip_grad_norm_([own], 0.5)
            assert torch.allclose(norm.full_tensor(), torch.nn.utils.clip_grad_norm_([plain], 0.5))
            first.step(), second.step()
            assert torch.allclose(own.full_tensor(), plain.detach(), atol=1e-5)


def case_scores_that_are_cut_along_classes(torch, dist):
    tensor, mesh = names(torch), line(torch, dist)
    parallel = importlib.import_module(f"{tensor.__name__}.parallel")
    x, labels = random(torch, 4, 7), torch.tensor([0, 3, -100, 6])
    for reduction in ("mean", "sum", "none"):
        plain = x.clone().requires_grad_()
        expected = torch.nn.functional.cross_entropy(plain, labels, reduction=reduction)
        expected.sum().backward()
        with parallel.loss_parallel():
            own = tensor.distribute_tensor(x, mesh, [tensor.Shard(1)]).requires_grad_()
            loss = torch.nn.functional.cross_entropy(own, labels, reduction=reduction)
            loss.sum().backward()
        assert lying(loss) == "R" and torch.allclose(loss.full_tensor(), expected, atol=1e-5)
        assert torch.allclose(own.grad.full_tensor(), plain.grad, atol=1e-5)


def case_plain_tensors_among_distributed_ones(torch, dist):
    tensor, mesh = names(torch), line(torch, dist)
    experimental = importlib.import_module(f"{tensor.__name__}.experimental")
    a = tensor.ones(4, 4, device_mesh=mesh, placements=[tensor.Shard(0)])
    try:
        a + torch.ones(4, 4)
    except RuntimeError as error:
        assert "got mixed torch.Tensor and DTensor" in str(error)
    else:
        raise AssertionError("not refused")
    with experimental.implicit_replication():
        assert (a + torch.ones(4, 4)).full_tensor().eq(2).all()
    product = experimental.local_map(
        lambda x, y: x @ y, [tensor.Shard(0)], ([tensor.Shard(0)], [tensor.Replicate()]), device_mesh=mesh
    )
    result = product(a, tensor.ones(4, 4, device_mesh=mesh))
    assert lying(result) == "S(0)" and result.full_tensor().eq(4).all()


def case_hooks_see_the_tensor_itself(torch, dist):
    tensor, mesh = names(torch), line(torch, dist)
    w = torch.nn.Parameter(tensor.distribute_tensor(torch.ones(4), mesh, [tensor.Shard(0)]))
    seen = []
    w.register_post_accumulate_grad_hook(lambda p: seen.append(p is w))
    (w * 2).sum().backward()
    assert seen == [True] and w.grad.full_tensor().tolist() == [2.0] * 4
