"""``torch.utils.data.datapipes``: datasets that are made of one another, with methods that libraries register."""

from .datapipe import IterDataPipe, MapDataPipe, functional_datapipe

__all__ = ["IterDataPipe", "MapDataPipe", "functional_datapipe"]
