"""Code generation: LLVM IR from Python functions, compiled, cached on disk, and run on a pool of threads."""
