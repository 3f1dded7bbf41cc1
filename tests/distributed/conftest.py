collect_ignore = ["programs"]  # programs, not modules: they import torch
