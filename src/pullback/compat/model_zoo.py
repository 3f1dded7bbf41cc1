"""``torch.utils.model_zoo``: the older address of :func:`torch.hub.load_state_dict_from_url`."""

from .hub import load_state_dict_from_url

__all__ = ["load_url"]

load_url = load_state_dict_from_url
