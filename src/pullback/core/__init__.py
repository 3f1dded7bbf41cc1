"""A tensor, the graph node that recorded it, and how an operation is called: fast path, slow path, in place."""
