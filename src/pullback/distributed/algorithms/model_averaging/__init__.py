"""``torch.distributed.algorithms.model_averaging``: averages of parameters now and then, instead of gradients."""
