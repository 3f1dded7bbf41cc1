"""PyTorch's address of the profiler's events."""

from .profiler import EventList, FunctionEvent, FunctionEventAvg, Interval, _format_time

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "_format_time"]
