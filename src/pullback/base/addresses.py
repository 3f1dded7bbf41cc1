"""PyTorch's module paths that differ from this package's: ``torch.cuda`` is ``pullback.compat.cuda``."""

from __future__ import annotations

# PyTorch's module path, and ours. Submodules of a package follow the package.
ADDRESSES = {
    name: f"compat.{name}"
    for name in """
        _C __config__ _custom_ops _dynamo _functorch _jit_internal _logging _ops _tensor_str _utils _vmap_internals
        accelerator backends cpu cuda export fft functional functorch futures hub jit linalg mps nested profiler
        quasirandom random signal sparse special torch_version types xpu
    """.split()
} | {
    "autograd.anomaly_mode": "engine.anomaly",
    "autograd.forward_ad": "levels.forward",
    "autograd.grad_mode": "base.thread_state",
    "nn.parallel": "distributed.parallel",
    "nn.parallel.distributed": "distributed.data_parallel",
    "nn.utils.rnn": "nn.packed_sequence",
    "ops.aten": "levels.aten",
    "ops.torchvision": "compat.torchvision_operators",
    "optim._adafactor": "optim.adafactor",
    "optim._muon": "optim.muon",
    "signal.windows": "ops.signal_windows",
    "storage": "ops.storage",
    "utils._pytree": "base.pytree",
    "utils.flop_counter": "explain.flop_counter",
    "utils.model_zoo": "compat.model_zoo",
    "utils.tensorboard.summary": "utils.tensorboard.summaries",
    "version": "base.version",
}
# Further paths of modules that are at their own, too.
FURTHER = {
    "distributed._tensor": "distributed.tensor",
    "distributed.checkpoint.api": "distributed.checkpoint.save_load",
    "distributed.checkpoint.default_planner": "distributed.checkpoint.planner",
    "distributed.checkpoint.filesystem": "distributed.checkpoint.save_load",
    "distributed.checkpoint.state_dict_loader": "distributed.checkpoint.save_load",
    "distributed.checkpoint.state_dict_saver": "distributed.checkpoint.save_load",
    "distributed.fsdp.api": "distributed.fsdp.wrapper",
    "distributed.fsdp.fully_sharded_data_parallel": "distributed.fsdp",
    "distributed.tensor.device_mesh": "distributed.device_mesh",
    "distributed.tensor.parallel.api": "distributed.tensor.parallel",
    "distributed.tensor.parallel.loss": "distributed.tensor.class_parallel",
    "distributed.tensor.parallel.style": "distributed.tensor.parallel.styles",
}
ROOT = __package__.partition(".")[0]


def home_of(address: str) -> str | None:
    """The name of the module at one of PyTorch's module paths; None if the path is the same.

    >>> home_of("pullback.cuda.amp"), home_of("pullback.utils._pytree"), home_of("pullback.nn")
    ('pullback.compat.cuda.amp', 'pullback.base.pytree', None)
    """
    head, tail = address.removeprefix(f"{ROOT}."), ""
    known = ADDRESSES | FURTHER
    while head not in known:
        head, dot, last = head.rpartition(".")
        if not dot:
            return None
        tail = f".{last}{tail}"
    return f"{ROOT}.{known[head]}{tail}"


def address_of(module: str) -> str:
    """PyTorch's path of a module, given its name; the name itself if the path is the same."""
    return _ADDRESS.get(module) or module.replace(f"{ROOT}.compat.", f"{ROOT}.", 1)


_ADDRESS = {f"{ROOT}.{home}": f"{ROOT}.{address}" for address, home in ADDRESSES.items()}
