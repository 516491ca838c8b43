"""Tests of `caudal.cli`."""
