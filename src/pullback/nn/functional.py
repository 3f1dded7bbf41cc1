"""Functions of neural networks, without state: convolutions, activations, norms, pooling, losses.

Each is an operation of :mod:`pullback.ops`; the modules of :mod:`pullback.nn` call them.
"""
import importlib as _i
for _m in ("pointwise", "join", "scatter", "contract", "matmul", "activation", "normalize", "cross_entropy", "loss", "margin", "layer", "attention", "convolution", "pool", "resample"):
    try: _mod = _i.import_module("pullback.ops."+_m)
    except ModuleNotFoundError: continue
    for _n in getattr(_mod, "__all_functional__", ()):
        globals()[_n] = getattr(_mod, _n)
