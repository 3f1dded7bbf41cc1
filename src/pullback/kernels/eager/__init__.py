"""Machine code that replaces the interpreter on the fast path: op calls, operators, the backward loop."""
