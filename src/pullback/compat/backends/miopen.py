"""``torch.backends.miopen``: AMD's library for layers, which is not used. Its switch is accepted."""

from . import flags as _flags

immediate = False
set_flags, flags = _flags.of(globals(), "immediate")
