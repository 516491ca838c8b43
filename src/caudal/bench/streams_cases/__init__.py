"""The cases of `caudal bench streams`, one file per subject; each file is imported by itself (caudal.bench.streams_case)."""
