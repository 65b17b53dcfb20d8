"""Setting up: from a fresh checkout to a running program, with nothing but Python's standard library."""
