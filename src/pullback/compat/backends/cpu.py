"""``torch.backends.cpu``."""


def get_cpu_capability() -> str:
    """``"DEFAULT"``: what the processor can do is left to NumPy and to the compiler of kernels."""
    return "DEFAULT"
