"""``torch.utils.data._utils``: programs import ``default_collate`` from here."""

from . import collate, worker

__all__ = ["collate", "worker"]
