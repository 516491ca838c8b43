"""Transforms and predicates: one file each."""
