"""Transform levels (JAX: tracers): forward mode, ``vmap`` with its batching rules, wrapper subclasses."""
