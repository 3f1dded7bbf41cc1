"""Collectives of all kinds, on two and three ranks; those that gloo has, too, give the same there."""

import importlib

from ranks import cases_of, ours

outcome, test_case, test_gloo_agrees = cases_of(__file__, 3)


def values_of(torch, rank, dtype):
    """Small numbers, another few on each rank; a matrix that is not contiguous."""
    return (torch.arange(6).reshape(2, 3) * (rank + 2) % 5).to(dtype).T


def everyones(torch, dist, dtype):
    return [values_of(torch, rank, dtype) for rank in range(dist.get_world_size())]


TYPES = "bool uint8 int8 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


def reduced(torch, name, rows):
    """What the ranks' values become, computed in one process."""
    rows = torch.stack([row if row.is_complex() else row.double() if row.is_floating_point() else row for row in rows])
    dtype = rows.dtype
    if name in ("SUM", "AVG"):
        total = rows.sum(0)
        return total / len(rows) if name == "AVG" else total if dtype != torch.bool else total > 0
    if name == "PRODUCT":
        return rows.prod(0).to(dtype)
    if name in ("MIN", "MAX"):
        return (rows.amin(0) if name == "MIN" else rows.amax(0)).to(dtype)
    total = rows[0]
    for row in rows[1:]:
        total = {"BAND": total & row, "BOR": total | row, "BXOR": total ^ row}[name]
    return total


def ops_of(torch, dtype):
    if dtype.is_complex:
        return ["SUM", "AVG"]
    if dtype.is_floating_point:
        return ["SUM", "AVG", "PRODUCT", "MIN", "MAX"]
    return ["SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"]


def case_all_reduce(torch, dist):
    for dtype in [getattr(torch, name) for name in TYPES]:
        for name in ops_of(torch, dtype):
            x = values_of(torch, dist.get_rank(), dtype)
            assert dist.all_reduce(x, getattr(dist.ReduceOp, name)) is None
            expected = reduced(torch, name, everyones(torch, dist, dtype)).to(dtype)
            assert (
                torch.allclose(x, expected, 1e-2)
                if dtype.is_floating_point or dtype.is_complex
                else torch.equal(x, expected)
            ), (dtype, name)


@ours
def case_types_that_gloo_lacks(torch, dist):
    for dtype in (torch.int16, torch.uint16, torch.uint32):
        x = torch.full((3,), dist.get_rank() + 1, dtype=dtype)
        dist.all_reduce(x)
        assert x.tolist() == [6, 6, 6]


def case_reductions_that_are_refused(torch, dist):
    for dtype, op, error in [
        (torch.float32, "BAND", RuntimeError),
        (torch.int64, "AVG", RuntimeError),
        (torch.complex64, "MAX", ValueError),
    ]:
        try:
            dist.all_reduce(torch.ones(2, dtype=dtype), getattr(dist.ReduceOp, op))
        except error:
            continue
        raise AssertionError((dtype, op))


def case_arguments_that_are_refused(torch, dist):
    for call in (
        lambda: dist.all_reduce([1]),
        lambda: dist.broadcast(None, 0),
        lambda: dist.all_gather(torch.ones(1), torch.ones(1)),
        lambda: dist.send(3, (dist.get_rank() + 1) % 3),
    ):
        try:
            call()
        except TypeError as error:
            assert "Invalid function argument" in str(error)
            continue
        raise AssertionError("not refused")


def case_all_ranks_have_the_same_bits(torch, dist):
    torch.manual_seed(dist.get_rank())
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = torch.randn(10_007).to(dtype)
        dist.all_reduce(x)
        copies = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(copies, x)
        assert all(torch.equal(copy, x) for copy in copies)


def case_reduce_and_broadcast(torch, dist):
    rank = dist.get_rank()
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        x = values_of(torch, rank, dtype)
        dist.reduce(x, 1)
        if rank == 1:
            assert torch.equal(x, reduced(torch, "SUM", everyones(torch, dist, dtype)).to(dtype))
        y = values_of(torch, rank, dtype)
        dist.broadcast(y, src=2)
        assert torch.equal(y, values_of(torch, 2, dtype))


def case_gathers(torch, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    for dtype in (torch.float32, torch.float16, torch.int64, torch.bool):
        x, expected = values_of(torch, rank, dtype).contiguous(), everyones(torch, dist, dtype)
        rows = [torch.zeros(3, 2, dtype=dtype) for _ in range(size)]
        dist.all_gather(rows, x)
        assert all(map(torch.equal, rows, expected))
        one = torch.zeros(3 * size, 2, dtype=dtype)
        dist.all_gather_into_tensor(one, x)
        assert torch.equal(one, torch.cat(expected))
        rows = [torch.zeros(3, 2, dtype=dtype) for _ in range(size)]
        dist.gather(x, rows if rank == 1 else None, dst=1)
        if rank == 1:
            assert all(map(torch.equal, rows, expected))
        part = torch.zeros(3, 2, dtype=dtype)
        dist.scatter(part, [row.contiguous() for row in expected] if rank == 0 else None)
        assert torch.equal(part, expected[rank])


@ours
def case_views_keep_their_places(torch, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    x, expected = values_of(torch, rank, torch.float32), everyones(torch, dist, torch.float32)
    rows = [torch.zeros(2, 3).T for _ in range(size)]
    dist.gather(x, rows if rank == 1 else None, dst=1)
    assert rank != 1 or all(map(torch.equal, rows, expected))
    part = torch.zeros(2, 3).T
    dist.scatter(part, expected if rank == 0 else None)
    assert torch.equal(part, expected[rank])
    stacked = torch.zeros(size, 3, 2)
    dist.all_gather_into_tensor(stacked, x)
    assert torch.equal(stacked, torch.stack(expected))
    part = torch.zeros(3, 2)
    dist.reduce_scatter_tensor(part, torch.stack([x * (i + 1) for i in range(size)]))
    assert torch.equal(part, sum(expected) * (rank + 1))


def case_reduce_scatter(torch, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    for dtype in (torch.float32, torch.bfloat16, torch.int32):
        total = reduced(torch, "SUM", everyones(torch, dist, dtype)).to(dtype)
        x = values_of(torch, rank, dtype).contiguous()
        part = torch.zeros(3, 2, dtype=dtype)
        dist.reduce_scatter(part, [x * (i + 1) for i in range(size)])
        assert torch.equal(part, total * (rank + 1))
        dist.reduce_scatter_tensor(part, torch.cat([x * (i + 2) for i in range(size)]))
        assert torch.equal(part, total * (rank + 2))


def case_all_to_all(torch, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    inputs = [torch.full((2,), 10.0 * rank + i) for i in range(size)]
    outputs = [torch.zeros(2) for _ in range(size)]
    dist.all_to_all(outputs, inputs)
    assert [int(x[0]) for x in outputs] == [10 * i + rank for i in range(size)]
    sizes = [i + 1 for i in range(size)]
    source = torch.cat([torch.full((i + 1, 2), float(rank)) for i in range(size)])
    target = torch.zeros((rank + 1) * size, 2)
    dist.all_to_all_single(target, source, [rank + 1] * size, sizes)
    assert target[:, 0].tolist() == [float(i) for i in range(size) for _ in range(rank + 1)]


@ours
def case_all_to_all_of_different_shapes(torch, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    inputs = [torch.full((rank + 1, i + 1), float(rank)) for i in range(size)]
    outputs = [torch.zeros(i + 1, rank + 1) for i in range(size)]
    dist.all_to_all(outputs, inputs)
    assert [x.mean().item() for x in outputs] == [float(i) for i in range(size)]


def case_objects(torch, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank, "text": "x" * 1000 * rank})
    assert [one["rank"] for one in found] == list(range(size)) and len(found[2]["text"]) == 2000
    given = [rank, "a"] if rank == 1 else [None, None]
    dist.broadcast_object_list(given, src=1)
    assert given == [1, "a"]
    found = [None] * size if rank == 0 else None
    dist.gather_object((rank,), found, dst=0)
    assert rank or found == [(0,), (1,), (2,)]
    mine = [None]
    dist.scatter_object_list(mine, ["a", {"b": 1}, 3] if rank == 0 else None, src=0)
    assert mine == [["a", {"b": 1}, 3][rank]]


def case_asynchronous(torch, dist):
    rank = dist.get_rank()
    works, tensors = [], []
    for i in range(5):
        for dtype in (torch.float32, torch.bfloat16):  # which take another number of steps
            tensors.append(torch.full((100,), float(rank + i), dtype=dtype))
            works.append(dist.all_reduce(tensors[-1], async_op=True))
    for i, (work, x) in enumerate(zip(works, tensors)):
        assert work.wait() and work.is_completed()
        assert x.tolist() == [3.0 + 3 * (i // 2)] * 100
    y = torch.ones(3)
    future = dist.all_reduce(y, async_op=True).get_future().then(lambda f: f.value()[0] * 2)
    assert future.wait().tolist() == [6.0] * 3
    work = dist.barrier(async_op=True)
    work.wait()
    work = dist.broadcast(y, 0, async_op=True)
    while not work.is_completed():
        pass
    assert work.result()[0] is y or torch.equal(work.result()[0], y)


def case_messages(torch, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    after, before = (rank + 1) % size, (rank - 1) % size
    x, y = torch.arange(4.0) + rank, torch.zeros(4)
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, x, after), dist.P2POp(dist.irecv, y, before)])
    for work in works:
        work.wait()
    assert torch.equal(y, torch.arange(4.0) + before)
    if rank == 0:
        dist.send(torch.ones(2, 3, dtype=torch.bfloat16), 1)
        works = [dist.isend(torch.full((2,), tag), 2, tag=tag) for tag in (7, 8)]
        for work in works:
            work.wait()
        z = torch.zeros(2)
        assert {dist.recv(z), dist.recv(z)} == {1, 2}
    elif rank == 1:
        z = torch.zeros(2, 3, dtype=torch.bfloat16)
        assert dist.recv(z, 0) == 0 and z.sum() == 6
        dist.send(torch.ones(2), 0)
    else:
        z, w = torch.zeros(2, dtype=torch.int64), torch.zeros(2, dtype=torch.int64)
        dist.recv(w, 0, tag=8), dist.recv(z, 0, tag=7)
        assert z.tolist() == [7, 7] and w.tolist() == [8, 8]
        dist.send(torch.ones(2), 0)
    given = ["text", rank] if rank == 1 else [None, None]
    if rank == 1:
        dist.send_object_list(given, 2)
    elif rank == 2:
        dist.recv_object_list(given, 1)
    assert rank == 0 or given == ["text", 1]


def case_groups(torch, dist):
    rank = dist.get_rank()
    outer = dist.new_group([2, 0])
    single = dist.new_group([1])
    if rank == 1:
        assert outer == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(outer) == -1
        assert dist.get_world_size(single) == 1 and dist.get_rank(single) == 0
    else:
        assert dist.get_world_size(outer) == 2 and dist.get_process_group_ranks(outer) == [0, 2]
        assert dist.get_group_rank(outer, 2) == 1 and dist.get_global_rank(outer, 1) == 2
        x = torch.ones(2) * rank
        dist.all_reduce(x, group=outer)
        assert x.tolist() == [2, 2]
        dist.broadcast(x, 2, group=outer)
        rows = [torch.zeros(2) for _ in range(2)]
        dist.all_gather(rows, torch.full((2,), float(rank)), group=outer)
        assert [row[0].item() for row in rows] == [0, 2]
        dist.destroy_process_group(outer)
    own, groups = dist.new_subgroups_by_enumeration([[0, 1], [2]])
    assert len(groups) == 2 and dist.get_world_size(own) == (2 if rank < 2 else 1)
    own, groups = dist.new_subgroups(1)
    assert len(groups) == 3 and dist.get_world_size(own) == 1
    for ranks in ([7], [0, 0]):
        try:
            dist.new_group(ranks)
        except ValueError:
            continue
        raise AssertionError("not refused")


def case_coalesced(torch, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    a, b = torch.ones(2, 2) * rank, torch.ones(3)
    dist.all_reduce_coalesced([a, b])
    assert a.mean() == 3 and b.mean() == 3
    lists = [[torch.zeros(2), torch.zeros(1)] for _ in range(size)]
    dist.all_gather_coalesced(lists, [torch.full((2,), float(rank)), torch.full((1,), 10.0 + rank)])
    assert [(row[0][0].item(), row[1].item()) for row in lists] == [(0, 10), (1, 11), (2, 12)]


def case_monitored_barrier(torch, dist):
    from datetime import timedelta

    dist.monitored_barrier()
    group = dist.new_group()
    try:
        if dist.get_rank() != 2:
            dist.monitored_barrier(group, timeout=timedelta(seconds=0.5), wait_all_ranks=True)
    except RuntimeError as error:
        assert "monitoredBarrier" in str(error)
        if dist.get_rank() == 0:
            assert "2 failed to pass" in str(error).replace("anks", "").replace("  ", " ")
    else:
        assert dist.get_rank() == 2
    dist.barrier()


@ours
def case_a_rank_that_does_not_come_is_named(torch, dist):
    from datetime import timedelta

    group = dist.new_group(timeout=timedelta(seconds=0.8))
    if dist.get_rank() == 0:
        try:
            dist.all_reduce(torch.ones(1), group=group)
        except RuntimeError as error:
            notes = " ".join(error.__notes__)
            assert "Timed out" in str(error) and "test_collectives.py" in str(error)
            assert "rank 1 did not come" in notes and "rank 2 did not come: it waits in recv" not in notes
        else:
            raise AssertionError("no error")


@ours
def case_sparse_tensors_are_refused(torch, dist):
    try:
        dist.all_reduce(torch.eye(2).to_sparse())
    except RuntimeError as error:
        assert "dense" in str(error)
    else:
        raise AssertionError("not refused")


def case_sizes_and_ranks_that_are_refused(torch, dist):
    size = dist.get_world_size()
    for error, words, call in (
        (RuntimeError, "", lambda: dist.all_gather_into_tensor(torch.zeros(2), torch.zeros(2))),
        (RuntimeError, "invalid tensor size", lambda: dist.all_gather([torch.zeros(2)] * size, torch.zeros(3))),
        (RuntimeError, "invalid root rank", lambda: dist.broadcast(torch.zeros(1), size)),
        (RuntimeError, "invalid root rank", lambda: dist.reduce(torch.zeros(1), -1)),
        (ValueError, "global_rank or group_rank", lambda: dist.broadcast(torch.zeros(1))),
        (ValueError, "dtypes", lambda: dist.all_gather([torch.zeros(1)] * size, torch.zeros(1).long())),
        (TypeError, "", lambda: dist.all_reduce(torch.zeros(1), "sum")),
    ):
        try:
            call()
        except error as refusal:
            assert words in str(refusal), (words, refusal)
            continue
        raise AssertionError(words)


def case_functional_collectives_of_several(torch, dist):
    functional = importlib.import_module(f"{dist.__name__}._functional_collectives")
    rank, size, everyone = dist.get_rank(), dist.get_world_size(), dist.group.WORLD
    x = torch.ones(2, requires_grad=True)
    y = functional.all_gather_tensor_autograd(x * (rank + 1), 0, everyone)
    (y * torch.arange(2.0 * size)).sum().backward()
    assert x.grad.tolist() == [(rank + 1) * size * 2.0 * rank, (rank + 1) * size * (2.0 * rank + 1)]
    ones, ranks = functional.all_reduce_coalesced([torch.ones(2), torch.ones(3) * rank], "sum", everyone)
    assert (ones + 0).tolist() == [size] * 2 and (ranks + 0).tolist() == [size * (size - 1) / 2] * 3
    following = functional.permute_tensor(torch.ones(2) * rank, [(i + 1) % size for i in range(size)], everyone)
    assert (following + 0).tolist() == [(rank - 1) % size] * 2


def case_flat_tensors(torch, dist):
    utils = importlib.import_module(f"{torch.__name__}._utils")
    tensors = [torch.ones(2, 2) * dist.get_rank(), torch.arange(3.0)]
    flat = utils._flatten_dense_tensors(tensors)
    dist.all_reduce(flat)
    first, second = utils._unflatten_dense_tensors(flat, tensors)
    assert first.shape == (2, 2) and second.tolist() == [0.0, dist.get_world_size(), 2.0 * dist.get_world_size()]


@ours  # gloo cannot split
def case_a_group_is_split(torch, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    part = dist.split_group(split_ranks=[[0], list(range(1, size))])
    assert dist.get_process_group_ranks(part) == ([0] if rank == 0 else list(range(1, size)))
    x = torch.tensor([rank])
    dist.all_reduce(x, group=part)
    assert x.item() == sum(dist.get_process_group_ranks(part))
    if rank:  # its ranks have the numbers of the part there
        inner = dist.split_group(part, split_ranks=[[1]])
        assert (inner is None) == (rank != 2) and (inner is None or dist.get_process_group_ranks(inner) == [2])
