"""The base class of modules, containers and layers."""

from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .module import Module

__all__ = ["Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
