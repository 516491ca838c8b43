"""The functions of SQL: one decorated Python function each; `registry.py` says how to write one.

Every module of this package is read when the first name is asked for: adding a function is an edit in one file.
"""

from __future__ import annotations
