"""PyTorch's private address for what a loader is made of; programs import ``default_collate`` from here."""

from . import collate, worker

__all__ = ["collate", "worker"]
