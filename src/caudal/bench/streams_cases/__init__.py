"""The cases of `caudal bench streams`, one file per subject; each is imported by itself (streams_case.py)."""
