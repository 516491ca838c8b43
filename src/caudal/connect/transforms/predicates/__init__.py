"""Predicates: which records a transform is for. One file each."""
