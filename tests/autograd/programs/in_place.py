"""Writes in place: through tensors, views and bases, and by index."""

from __future__ import annotations

from typing import Any

from .declare import program, refused

# --- in place ---------------------------------------------------------------------------------------------------


@program
def in_place_moves_history(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    same = y.mul_(3)
    say(same is y, y.grad_fn.name())
    y += x
    y -= 1
    y.sum().backward()
    say(y, x.grad)


@program
def in_place_on_leaves(torch: Any, say: Any) -> None:
    x = torch.ones(4, requires_grad=True)
    say(refused(lambda: x.add_(1), 90), refused(lambda: x[:2].add_(1), 90))
    say(refused(lambda: x.__setitem__(0, 1.0), 90))
    with torch.no_grad():
        x.add_(1)
        x[0] = 7
    say(x)


@program
def in_place_makes_a_constant_differentiable(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.zeros(2)
    y.add_(x * 3)
    say(y.requires_grad, y.is_leaf)
    (y * y).sum().backward()
    say(x.grad)


@program
def in_place_needs_its_old_value(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    y = x * 1
    y.mul_(w)
    y.sum().backward()
    say(x.grad, w.grad)


@program
def in_place_refuses_shapes_and_types(torch: Any, say: Any) -> None:
    x = torch.ones(2)
    say(refused(lambda: x.add_(torch.ones(3, 2)), 70), refused(lambda: torch.ones(2, dtype=torch.int64).add_(1.5), 80))
    say(x)


@program
def writes_through_views(torch: Any, say: Any) -> None:
    x = torch.arange(6.0, requires_grad=True)
    y = x * 2
    v = y.view(2, 3)
    v[0].mul_(10)
    y[4:].add_(x[:2])
    say(y, v.grad_fn is not None)
    (y * torch.arange(6.0)).sum().backward()
    say(x.grad)


@program
def views_follow_their_base(torch: Any, say: Any) -> None:
    x = torch.arange(4.0, requires_grad=True)
    y = x * 1
    a, b = y[:2], y[1:3]
    y.mul_(3)
    (a.sum() + 2 * b.sum()).backward()
    say(a, b, x.grad)


@program
def views_of_views(torch: Any, say: Any) -> None:
    x = torch.arange(8.0, requires_grad=True)
    y = x * 1
    a = y.view(2, 4)
    b = a.t()
    c = b[1:3]
    c.mul_(5)
    a.add_(1)
    (y * y).sum().backward()
    say(y, a._base is y, c._base is y, x.grad)


@program
def constant_base_takes_gradients_through_a_view(torch: Any, say: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    base = torch.zeros(2, 2)
    row = base[1]
    row.copy_(x * 3)
    other = base[0]
    say(base.requires_grad, row.requires_grad)
    base.sum().backward()
    say(x.grad, other)


@program
def assignment_by_index(torch: Any, say: Any) -> None:
    x = torch.arange(4.0, requires_grad=True)
    y = x * 2
    y[1] = x[0] * 5
    y[2:] = 1.0
    say(y)
    y.sum().backward()
    say(x.grad)


@program
def assignment_by_mask_and_list(torch: Any, say: Any) -> None:
    x = torch.arange(4.0, requires_grad=True)
    v = torch.tensor([10.0, 20.0], requires_grad=True)
    y = x * 2
    y[torch.tensor([True, False, False, True])] = v
    y[[1]] = 3.0
    (y * torch.arange(1.0, 5.0)).sum().backward()
    say(y, x.grad, v.grad)


@program
def several_views_refuse_writes(torch: Any, say: Any) -> None:
    x = torch.ones(4, requires_grad=True)
    a, b = (x * 2).chunk(2)
    say(refused(lambda: a.add_(1), 90))
    with torch.no_grad():
        v = (x * 2).detach()[:2]
    v.add_(1)
    y = x * 2
    with torch.no_grad():
        w = y[:2]
    say(refused(lambda: w.add_(1), 90))


@program
def detached_tensors_share_memory(torch: Any, say: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    d = y.detach()
    d.zero_()
    say(y, refused(lambda: y.sum().backward(), 100))
