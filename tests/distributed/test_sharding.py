"""Sharded training, tensor parallel layers and meshes on two and four ranks give what one process gives."""

import importlib
import os
import subprocess
import sys
import tempfile

from ranks import cases_of, environment, launcher, needs_mpi, ours

outcome, test_case, test_gloo_agrees = cases_of(__file__, 4)


def module(torch, name):
    return importlib.import_module(f"{torch.distributed.__name__}.{name}")


def network(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(6, 7), torch.nn.Tanh(), torch.nn.Linear(7, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3)
    )


def batch(torch, step):
    generator = torch.Generator().manual_seed(step)
    return torch.randn(12, 6, generator=generator), torch.randn(12, 3, generator=generator)


def train(torch, dist, model, optimizer, steps=4, clip=None):
    """Losses, and those of one process with whole batches."""
    rank, size = dist.get_rank(), dist.get_world_size()
    whole = network(torch)
    other = torch.optim.AdamW(whole.parameters(), 0.05)
    for step in range(steps):
        x, y = batch(torch, step)
        optimizer.zero_grad(), other.zero_grad()
        loss = ((model(x[rank::size]) - y[rank::size]) ** 2).mean()
        loss.backward()
        expected = ((whole(x) - y) ** 2).mean()
        expected.backward()
        if clip is not None:
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
            assert torch.allclose(norm, torch.nn.utils.clip_grad_norm_(whole.parameters(), clip), rtol=1e-4)
        optimizer.step(), other.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        assert torch.allclose(total / size, expected.detach(), atol=1e-5), (step, total / size, expected)
    return whole


def same(torch, state, whole):
    for (name, value), (expected_name, expected) in zip(state.items(), whole.state_dict().items()):
        value = value.full_tensor() if hasattr(value, "full_tensor") else value
        assert name == expected_name and torch.allclose(value, expected, atol=1e-5), name


def case_zero(torch, dist):
    zero = module(torch, "optim").ZeroRedundancyOptimizer
    importlib.import_module(f"{torch.nn.__name__}.parallel")
    model = torch.nn.parallel.DistributedDataParallel(network(torch))
    optimizer = zero(model.parameters(), torch.optim.AdamW, lr=0.05)
    whole = train(torch, dist, model, optimizer)
    same(torch, model.module.state_dict(), whole)
    assert len(optimizer.optim.state) < 6
    optimizer.consolidate_state_dict(to=1)
    if dist.get_rank() == 1:
        state = optimizer.state_dict()
        assert sorted(state["state"]) == list(range(6)) and state["param_groups"][0]["lr"] == 0.05
    else:
        try:
            optimizer.state_dict()
        except RuntimeError as error:
            assert "has not been consolidated" in str(error)
        else:
            raise AssertionError("no error")
        state = None
    given = [state]
    dist.broadcast_object_list(given, 1)
    again = zero(model.parameters(), torch.optim.AdamW, lr=0.01)
    again.load_state_dict(given[0])
    for p, own in again.optim.state.items():
        assert torch.equal(own["exp_avg"], optimizer.optim.state[p]["exp_avg"])


def case_meshes(torch, dist):
    init = module(torch, "device_mesh").init_device_mesh
    rank = dist.get_rank()
    mesh = init("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    assert mesh.ndim == 2 and mesh.size() == 4 and mesh.size(1) == 2 and tuple(mesh.shape) == (2, 2)
    assert tuple(mesh.get_coordinate()) == (rank // 2, rank % 2) and mesh.get_local_rank("tp") == rank % 2
    assert dist.get_process_group_ranks(mesh["dp"].get_group()) == [rank % 2, rank % 2 + 2]
    x = torch.ones(1) * rank
    dist.all_reduce(x, group=mesh.get_group("tp"))
    assert x.item() == (1 if rank < 2 else 5)
    try:
        init("cpu", (5,))
    except (RuntimeError, ValueError):
        return
    raise AssertionError("no error")


def case_distributed_tensors(torch, dist):
    tensor, mesh_of = module(torch, "tensor"), module(torch, "device_mesh").init_device_mesh
    Shard, Replicate, Partial, DTensor = tensor.Shard, tensor.Replicate, tensor.Partial, tensor.DTensor
    rank = dist.get_rank()
    mesh = mesh_of("cpu", (4,))
    whole = torch.arange(18.0).reshape(6, 3)
    x = tensor.distribute_tensor(whole, mesh, [Shard(0)])
    assert x.shape == (6, 3) and x.to_local().shape == ((2, 3) if rank < 3 else (0, 3)) and x.numel() == 18
    assert torch.equal(x.full_tensor(), whole)
    assert torch.equal((x * 2 + x.exp().log()).full_tensor(), (whole * 2 + whole.exp().log()))
    y = x.redistribute(placements=[Shard(1)])
    assert y.to_local().shape[0] == 6 and torch.equal(y.full_tensor(), whole)
    terms = DTensor.from_local(torch.ones(3) * rank, mesh, [Partial()])
    assert terms.redistribute(placements=[Replicate()]).to_local().tolist() == [6, 6, 6]
    p = torch.nn.Parameter(x)
    assert isinstance(p, torch.nn.Parameter) and isinstance(p, DTensor) and p.is_leaf
    v = torch.ones(6)
    (p.full_tensor().T @ v).pow(2).sum().backward()
    assert p.grad.placements == (Shard(0),)
    expected = torch.outer(v, 2 * whole.sum(0))
    assert torch.allclose(p.grad.full_tensor(), expected)
    torch.optim.SGD([p], 0.5).step()
    assert torch.allclose(p.detach().full_tensor(), whole - 0.5 * expected)
    grid = mesh_of("cpu", (2, 2))
    z = tensor.distribute_tensor(whole, grid, [Shard(0), Shard(1)])
    assert torch.equal(z.full_tensor(), whole) and torch.equal((z @ z.T).full_tensor(), whole @ whole.T)
    z = z.redistribute(placements=[Replicate(), Shard(0)])
    assert z.to_local().shape == (3, 3) and torch.equal(z.full_tensor(), whole)
    assert tensor.zeros(4, 2, device_mesh=mesh, placements=[Shard(0)]).to_local().shape == (1, 2)


def case_fully_shard(torch, dist):
    fsdp = module(torch, "fsdp")
    for options in ({}, {"reshard_after_forward": False}):
        model = network(torch)
        for layer in model:
            if isinstance(layer, torch.nn.Linear):
                fsdp.fully_shard(layer, **options)
        fsdp.fully_shard(model, **options)
        assert isinstance(model, fsdp.FSDPModule) and isinstance(model, torch.nn.Sequential)
        assert model[0].weight.to_local().shape[0] == (2 if dist.get_rank() < 3 else 1)
        optimizer = torch.optim.AdamW(model.parameters(), 0.05)
        whole = train(torch, dist, model, optimizer, clip=0.1)
        same(torch, model.state_dict(), whole)
        model.load_state_dict(model.state_dict())
        with torch.no_grad():
            x, _ = batch(torch, 0)
            assert torch.allclose(model(x), whole(x), atol=1e-5)


def case_fully_shard_accumulates(torch, dist):
    fsdp = module(torch, "fsdp")
    rank = dist.get_rank()
    model, whole = network(torch), network(torch)
    fsdp.fully_shard(model[0]), fsdp.fully_shard(model)
    x, _ = batch(torch, 0)
    for step in range(2):
        model.set_requires_gradient_sync(step == 1)
        model(x[rank::4] * (step + 1)).pow(2).sum().backward()
        whole(x * (step + 1)).pow(2).sum().div(4).backward()
    for p, q in zip(model.parameters(), whole.parameters()):
        assert torch.allclose(p.grad.full_tensor(), q.grad, rtol=1e-4, atol=1e-5)


def case_replicas_of_shards(torch, dist):
    fsdp = module(torch, "fsdp")
    mesh = module(torch, "device_mesh").init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    model = network(torch)
    fsdp.fully_shard(model, mesh=mesh)
    train(torch, dist, model, torch.optim.AdamW(model.parameters(), 0.05))


def case_mixed_precision(torch, dist):
    fsdp = module(torch, "fsdp")
    policy = fsdp.MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = network(torch)
    fsdp.fully_shard(model, mp_policy=policy)
    x, _ = batch(torch, 0)
    y = model(x)
    assert y.dtype == torch.bfloat16 and torch.allclose(y.float(), network(torch)(x), atol=0.1)
    y.sum().backward()
    assert model[0].weight.grad.dtype == torch.float32


@ours  # gloo needs a device for the wrapper
def case_wrapper(torch, dist):
    fsdp, wrap = module(torch, "fsdp"), module(torch, "fsdp.wrap")
    model = fsdp.FullyShardedDataParallel(network(torch), auto_wrap_policy=wrap.ModuleWrapPolicy({torch.nn.Linear}))
    whole = train(torch, dist, model, torch.optim.AdamW(model.parameters(), 0.05))
    state = model.state_dict()
    same(torch, state, whole)
    model.load_state_dict(state)
    assert [name for name, _ in model.named_parameters()] == list(whole.state_dict())
    with fsdp.FullyShardedDataParallel.summon_full_params(model):
        assert model.module[0].module.weight.shape == (7, 6)
    kind = fsdp.StateDictType.SHARDED_STATE_DICT
    with fsdp.FullyShardedDataParallel.state_dict_type(model, kind):
        assert hasattr(model.state_dict()["0.weight"], "full_tensor")
    assert model.clip_grad_norm_(0.1) > 0


@ours
def case_wholes_go(torch, dist):
    """After forward, and after backward, only parts are there."""
    fsdp = module(torch, "fsdp")
    model = network(torch)
    for layer in (model[0], model[2], model[4]):
        fsdp.fully_shard(layer)
    fsdp.fully_shard(model)
    for step in range(2):
        y = model(batch(torch, step)[0])
        there = [layer._shards.flat is not None for layer in (model[0], model[2], model[4])]
        assert there == [False, False, False]
        y.sum().backward()
        assert not any(m._shards.flat is not None for m in model.modules() if isinstance(m, fsdp.FSDPModule))


class Transformerish:
    """A model with an embedding, a norm and a block, by the module of PyTorch's name that is handed in."""

    @staticmethod
    def make(torch):
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.emb, self.norm = torch.nn.Embedding(10, 8), torch.nn.LayerNorm(8)
                self.up, self.down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)
                self.out = torch.nn.Linear(8, 12)

            def forward(self, x):
                return self.out(self.down(torch.relu(self.up(self.norm(self.emb(x))))))

        torch.manual_seed(0)
        return Net()


def case_tensor_parallel(torch, dist):
    parallel, tensor = module(torch, "tensor.parallel"), module(torch, "tensor")
    mesh = module(torch, "device_mesh").init_device_mesh("cpu", (4,))
    Col, Row, Shard, Replicate = parallel.ColwiseParallel, parallel.RowwiseParallel, tensor.Shard, tensor.Replicate
    plans = [
        {"up": Col(), "down": Row(), "out": Col(output_layouts=Replicate())},
        {
            "emb": Row(input_layouts=Replicate(), output_layouts=Shard(1)),
            "norm": parallel.SequenceParallel(),
            "up": Col(input_layouts=Shard(1)),
            "down": Row(output_layouts=Shard(1)),
            "out": Col(input_layouts=Shard(1), output_layouts=Replicate()),
        },
    ]
    for plan in plans:
        whole = Transformerish.make(torch)
        model = parallel.parallelize_module(Transformerish.make(torch), mesh, plan)
        ours = torch.optim.SGD(model.parameters(), 0.1, foreach=False)
        theirs = torch.optim.SGD(whole.parameters(), 0.1)
        generator = torch.Generator().manual_seed(1)
        for _ in range(3):
            x = torch.randint(0, 10, (3, 4), generator=generator)
            y = torch.randint(0, 12, (3, 4), generator=generator)
            ours.zero_grad(), theirs.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
            expected = torch.nn.functional.cross_entropy(whole(x).flatten(0, 1), y.flatten())
            loss.backward(), expected.backward()
            for (name, p), q in zip(model.named_parameters(), whole.named_parameters()):
                grad = p.grad.full_tensor() if hasattr(p.grad, "full_tensor") else p.grad
                assert torch.allclose(grad, q[1].grad, atol=1e-5), name
            ours.step(), theirs.step()
            assert torch.allclose(loss, expected, atol=1e-5)


def case_functional_collectives(torch, dist):
    F = module(torch, "_functional_collectives")
    rank, group = dist.get_rank(), dist.group.WORLD
    x = torch.ones(2, 4) * rank
    assert F.all_reduce(x, "sum", group).mean() == 6
    assert F.all_gather_tensor(x, 1, group)[0].tolist() == [float(i) for i in range(4) for _ in range(4)]
    assert F.reduce_scatter_tensor(x, "sum", 1, group).tolist() == [[6.0], [6.0]]


def case_pipeline(torch, dist):
    pipelining = module(torch, "pipelining")
    rank = dist.get_rank()

    def layers():
        torch.manual_seed(0)
        return [torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Tanh()) for _ in range(4)]

    x, y = torch.randn(8, 6), torch.randn(8, 6)
    whole = torch.nn.Sequential(*layers())
    expected = torch.nn.functional.mse_loss(whole(x), y)
    expected.backward()
    for kind in (pipelining.ScheduleGPipe, pipelining.Schedule1F1B):
        stage = pipelining.PipelineStage(layers()[rank], rank, 4, torch.device("cpu"))
        schedule = kind(stage, 4, loss_fn=torch.nn.functional.mse_loss)
        losses = []
        if rank == 0:
            out = schedule.step(x)
        elif rank == 3:
            out = schedule.step(target=y, losses=losses)
        else:
            out = schedule.step()
        if rank == 3:
            assert torch.allclose(out, whole(x), atol=1e-6)
            assert torch.allclose(torch.stack(losses).mean(), expected)
        for p, q in zip(stage.submod.parameters(), whole[rank].parameters()):
            assert torch.allclose(p.grad, q.grad, atol=1e-6)


CHECKPOINT = """
import sys
import pullback as torch, pullback.distributed as dist
import pullback.distributed.checkpoint as dcp
from pullback.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from pullback.distributed.fsdp import fully_shard

folder, how = sys.argv[1:]
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(6, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))
fully_shard(model[0]), fully_shard(model)
optimizer = torch.optim.Adam(model.parameters(), 0.05)

class State:
    def state_dict(self):
        model_state, optimizer_state = get_state_dict(model, optimizer)
        return {"model": model_state, "optimizer": optimizer_state}
    def load_state_dict(self, state):
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])

state = {"training": State(), "step": 0}
if how == "load":
    dcp.load(state, checkpoint_id=folder)
if how == "killed":
    import os, signal
    import pullback.distributed.checkpoint.save_load as module
    module.os.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)
for step in range(state["step"], 4):
    generator = torch.Generator().manual_seed(step)
    x, y = torch.randn(12, 6, generator=generator), torch.randn(12, 3, generator=generator)
    optimizer.zero_grad()
    loss = ((model(x[rank::size]) - y[rank::size]) ** 2).mean()
    loss.backward()
    optimizer.step()
    loss = loss.detach()
    dist.all_reduce(loss)
    if rank == 0:
        print(step, round(loss.item() / size, 5), flush=True)
    if how != "load" and step == 1 or how == "killed":
        state["step"] = step + 1
        dcp.save(state, checkpoint_id=folder)
dist.destroy_process_group()
"""


class Block:
    """A layer of a pipeline, the same wherever it is made."""

    def __new__(cls, torch, i):
        torch.manual_seed(i)
        return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())


def pipeline_data(torch):
    return [torch.randn(8, 4, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1)]


@ours  # gloo may take very long
def case_pipelines_of_several_stages_a_rank(torch, dist):
    pipelining = module(torch, "pipelining")
    rank, size = dist.get_rank(), dist.get_world_size()
    x, y = pipeline_data(torch)
    whole = torch.nn.Sequential(*[Block(torch, i) for i in range(2 * size)])
    expected = torch.nn.functional.mse_loss(whole(x), y)
    expected.backward()
    for kind in (pipelining.ScheduleInterleaved1F1B, pipelining.ScheduleLoopedBFS):
        numbers = [rank, rank + size]
        stages = [pipelining.PipelineStage(Block(torch, i), i, 2 * size, torch.device("cpu")) for i in numbers]
        schedule, losses = kind(stages, n_microbatches=4, loss_fn=torch.nn.functional.mse_loss), []
        last = {"target": y, "losses": losses} if rank == size - 1 else {}
        output = schedule.step(*([x] if rank == 0 else []), **last)
        if last:
            assert torch.allclose(output, whole(x), atol=1e-6)
            assert torch.allclose(sum(losses) / 4, expected, atol=1e-6)
        for i, stage in zip(numbers, stages):
            assert torch.allclose(stage.submod[0].weight.grad, whole[i][0].weight.grad, atol=1e-6)
    assert pipelining.get_schedule_class("interleaved1f1b") is pipelining.ScheduleInterleaved1F1B


def case_a_model_is_cut_into_a_pipeline(torch, dist):
    pipelining = module(torch, "pipelining")
    rank, size = dist.get_rank(), dist.get_world_size()
    x, _ = pipeline_data(torch)
    whole = torch.nn.Sequential(*[Block(torch, i) for i in range(size)])
    spec = {str(i): pipelining.SplitPoint.BEGINNING for i in range(1, size)}
    pipe = pipelining.pipeline(whole, mb_args=(x[:2],), split_spec=spec)
    names = sorted(name for name, _ in pipe.get_stage_module(rank).named_parameters())
    assert pipe.num_stages == size and names == [f"{rank}.0.bias", f"{rank}.0.weight"]
    schedule = pipelining.ScheduleGPipe(pipe.build_stage(rank, torch.device("cpu")), 4)
    output = schedule.step(x) if rank == 0 else schedule.step()
    assert output is None if rank < size - 1 else torch.allclose(output, whole(x), atol=1e-6)


def case_a_model_that_says_where_it_is_cut(torch, dist):
    pipelining = module(torch, "pipelining")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

        def forward(self, x, y):
            h = self.a(x)
            pipelining.pipe_split()
            return self.b(h) + y

    torch.manual_seed(0)
    net, (x, y) = Net(), pipeline_data(torch)
    pipe = pipelining.pipeline(net, mb_args=(x, y))
    assert pipe.num_stages == 2
    assert [sorted(n for n, _ in pipe.get_stage_module(i).named_parameters()) for i in range(2)] == [
        ["a.bias", "a.weight"],
        ["b.bias", "b.weight"],
    ]
    result = pipe(x, y)
    assert torch.allclose(result[0] if isinstance(result, tuple) else result, net(x, y), atol=1e-6)


def case_shards_of_tensor_parallel_layers(torch, dist):
    parallel = module(torch, "tensor.parallel")
    fully_shard = module(torch, "fsdp").fully_shard
    mesh = module(torch, "device_mesh").init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))

    def make():
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))

    whole, model = make(), make()
    plan = {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()}
    parallel.parallelize_module(model, mesh["tp"], plan)
    fully_shard(model, mesh=mesh["dp"])
    assert [",".join(str(p) for p in w.placements) for w in model.parameters()] == [
        "_S(0, 2),S(0)",
        "_S(0, 2),S(0)",
        "S(0),S(1)",
        "S(0),R",
    ]
    first, second = (torch.optim.SGD(m.parameters(), 0.1) for m in (whole, model))
    for step in range(2):
        x = torch.randn(8, 8, generator=torch.Generator().manual_seed(step))
        first.zero_grad(), second.zero_grad()
        whole(x).pow(2).mean().backward()
        model(x[mesh["dp"].get_local_rank() :: 2]).pow(2).mean().backward()
        first.step(), second.step()
    same(torch, model.state_dict(), whole)


def case_a_model_without_values_is_sharded_first(torch, dist):
    fully_shard = module(torch, "fsdp").fully_shard
    with torch.device("meta"):
        model = torch.nn.Sequential(torch.nn.Linear(6, 7), torch.nn.Linear(7, 3))
    fully_shard(model)
    model.to_empty(device="cpu")
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(1.0)
    assert model(torch.ones(2, 6)).eq(50).all()
    try:
        fully_shard(model)
    except AssertionError as error:
        assert "has already been applied to the following module" in str(error)
    else:
        raise AssertionError("not refused")


def case_checkpoints_to_files_and_in_part(torch, dist):
    dcp = module(torch, "checkpoint")
    convert = module(torch, "checkpoint.format_utils")
    tensor = module(torch, "tensor")
    mesh = module(torch, "device_mesh").init_device_mesh("cpu", (dist.get_world_size(),))
    folder = [tempfile.mkdtemp()]
    dist.broadcast_object_list(folder, 0)
    x = torch.arange(20.0).view(5, 4)
    state = {"a": tensor.distribute_tensor(x, mesh, [tensor.Shard(0)]), "c": {"n": 5, "l": [1, torch.zeros(2)]}}
    dcp.save(state, checkpoint_id=f"{folder[0]}/1")
    index = dcp.FileSystemReader(f"{folder[0]}/1").read_metadata().state_dict_metadata
    assert sorted(index) == ["a", "c.l.0", "c.l.1", "c.n"] and index["a"].size == torch.Size([5, 4])
    if dist.get_rank() == 0:
        convert.dcp_to_torch_save(f"{folder[0]}/1", f"{folder[0]}/file.pt")
        found = torch.load(f"{folder[0]}/file.pt", weights_only=False)
        assert torch.equal(found["a"], x) and found["c"]["n"] == 5 and found["c"]["l"][0] == 1
        convert.torch_save_to_dcp(f"{folder[0]}/file.pt", f"{folder[0]}/2")
    dist.barrier()
    part = {"a": torch.zeros(5, 4), "more": torch.ones(1)}
    dcp.load(part, checkpoint_id=f"{folder[0]}/2", planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
    assert torch.equal(part["a"], x) and part["more"].tolist() == [1.0]


@needs_mpi
def test_training_goes_on_from_a_checkpoint_on_another_number_of_ranks(tmp_path):
    program, folder = tmp_path / "train.py", tmp_path / "checkpoint"
    program.write_text(CHECKPOINT)

    def run(ranks, how):
        command = [launcher(), "-n", str(ranks), sys.executable, str(program), str(folder), how]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)
        assert done.returncode == (9 if how == "killed" else 0), done.stderr
        return [line for line in done.stdout.splitlines() if line[:1].isdigit()]

    losses = run(2, "save")
    assert len(losses) == 4
    run(2, "killed")  # while it saves: the checkpoint is still that of before
    for ranks in (3, 1):
        assert run(ranks, "load") == losses[2:]
    assert not any(name.endswith(".tmp") for name in os.listdir(folder)) or len(os.listdir(folder)) > 3
