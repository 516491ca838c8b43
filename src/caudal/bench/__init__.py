"""Benchmarks that run Caudal beside its peers and print ratios; `caudal bench broker` is `caudal.bench.broker`."""
