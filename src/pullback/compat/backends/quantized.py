"""``torch.backends.quantized``: there are no quantized tensors."""

engine = "none"
supported_engines: list[str] = ["none"]
