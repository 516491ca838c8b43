"""Expressions with their names and types resolved, compiled to Python functions of a row.

`scope.py` says what names mean, `typing.py` what type an expression has (ksqlDB's rules, implicit casts included),
`compiled.py` is the function of a row that the plan carries: data that is compiled again wherever it is unpickled.
"""

from __future__ import annotations
