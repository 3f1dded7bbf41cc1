"""``torch.distributed.checkpoint``: state dicts of models and optimizers by names; ``torch.save`` writes files."""

from . import state_dict as state_dict
