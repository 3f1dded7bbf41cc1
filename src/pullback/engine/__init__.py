"""The backward pass: ``backward`` and ``grad``, the engine, hooks, saved tensors, anomaly mode."""
