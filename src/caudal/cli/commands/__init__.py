"""One file per command family.

A file named like its command holds `register(app)`; no list of commands is kept elsewhere.
"""
