"""Converters: one file each."""
