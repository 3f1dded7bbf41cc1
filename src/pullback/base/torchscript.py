"""Classes of TorchScript, of which there are no instances here: programs ask whether something is one."""

from __future__ import annotations


class Graph:
    """A graph of TorchScript."""

    def __init__(self) -> None:
        raise RuntimeError("torch._C.Graph: there is no TorchScript here")


class ScriptObject:
    """An object of a class in TorchScript."""

    def __init__(self) -> None:
        raise RuntimeError("torch.ScriptObject: there is no TorchScript here")
