"""Each check of `caudal doctor`, and the trouble that it is there for."""
