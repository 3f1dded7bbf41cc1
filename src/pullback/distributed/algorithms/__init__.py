"""``torch.distributed.algorithms``: what is built on collectives."""
