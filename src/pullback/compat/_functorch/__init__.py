"""``torch._functorch``: where PyTorch keeps what ``torch.func`` is made of; private names that programs use anyway."""
