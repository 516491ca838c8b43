"""One file per page; what is here is discovered (see `shell.py`)."""
