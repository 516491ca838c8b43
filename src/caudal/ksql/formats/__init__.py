"""The formats of keys and values: between rows and bytes, through `caudal.serde`.

`key_serde` and `value_serde` make the serdes of a source: between the tuple of its columns' values and bytes.
`row_serde` is the one of state and internal topics. `ddl.py` makes a `Source` of a CREATE statement.
"""

from __future__ import annotations
