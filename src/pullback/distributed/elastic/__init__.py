"""``torch.distributed.elastic``: what programs started by ``torchrun`` import of it."""
