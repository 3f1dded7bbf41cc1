"""The fast path of eager calls as machine code: CPython objects, op calls, small operators, the backward loop."""
