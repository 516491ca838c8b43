"""Parquet: columns from the schema. Values without a schema are refused, because columns that were guessed from one
file's records would differ in the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from caudal.connect.arrow_columns import arrow_columns
from caudal.connect.data import Schema
from caudal.connect.errors import DataError

_CODECS = {"none": "NONE", "uncompressed": "NONE", "snappy": "SNAPPY", "gzip": "GZIP", "zstd": "ZSTD", "lz4": "LZ4"}


class Parquet:
    extension = ".parquet"
    takes_any = True  # they are all refused
    takes_columns = True

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._codec = _CODECS[config["parquet.codec"]]
        self._row_group = config["parquet.row.group.size"]

    def writer(self, stream: BinaryIO, schema: Schema | None, first: Any) -> _Writer:
        if schema is None:
            raise DataError(
                "Parquet needs a schema for its columns; use a converter that has one (Avro, JsonSchema, Protobuf, or "
                "Json with schemas.enable=true)."
            )
        return _Writer(stream, schema, self._codec, self._row_group)

    def is_same_file(self, first: Any, value: Any) -> bool:
        return True


class _Writer:
    def __init__(self, stream: BinaryIO, schema: Schema, codec: str, row_group: int) -> None:
        self._columns = arrow_columns(schema)
        self._row_group = row_group
        self._batches: list[Any] = []
        self._rows = 0
        # A dictionary pays for texts, which repeat; for numbers it costs more time than it saves bytes.
        texts = [one.name for one in self._columns.schema if pa.types.is_string(one.type)]
        self._file = pq.ParquetWriter(
            stream, self._columns.schema, compression=codec, use_dictionary=texts or False, store_schema=True
        )

    def encode(self, values: Sequence[Any]) -> Any:
        return self._columns.batch(values)

    def append(self, encoded: Any) -> None:
        self._batches.append(encoded)
        self._rows += encoded.num_rows
        if self._rows >= self._row_group:
            self._write()

    def _write(self) -> None:
        self._file.write_table(pa.Table.from_batches(self._batches, self._columns.schema), self._row_group)
        self._batches, self._rows = [], 0

    def finish(self) -> None:
        if self._batches:
            self._write()
        self._file.close()


FORMAT = Parquet
