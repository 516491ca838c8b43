"""The cases of `caudal bench broker`, one file per subject; each file is imported by itself (see caudal.bench.case)."""
