"""Expressions with their names and types resolved, compiled to Python functions of a row.

Read in this order: `scope.py` says what names mean; `typing.py` what an expression is (by ksqlDB, with the implicit
conversions of `coercion.py`), as a tree of `typed.py`; `codegen.py` writes Python for that, with `operators.py` and
`casts.py` for what is more than an operator of Python; `compiled.py` is the function of a row that the plan carries:
data that is compiled again wherever it is unpickled; `aggregation.py` is that of a GROUP BY.

What is ksqlDB's, and may surprise: a comparison with NULL is FALSE (not NULL), so NOT (a = NULL-valued b) is TRUE; AND,
OR and NOT are three-valued; integers wrap around; a cast or a nested call that fails is NULL by itself.
"""

from __future__ import annotations
