"""``torch.backends.miopen``: AMD's library, unavailable; its switch is accepted."""

from . import flags as _flags

immediate = False
set_flags, flags = _flags.of(globals(), "immediate")
