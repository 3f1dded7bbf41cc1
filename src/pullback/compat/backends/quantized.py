"""``torch.backends.quantized``: quantized tensors, unavailable."""

engine = "none"
supported_engines: list[str] = ["none"]
