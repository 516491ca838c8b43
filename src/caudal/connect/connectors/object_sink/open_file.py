"""A file that is being filled: records are kept until a chunk of them is encoded at once, bad ones are reported."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

from caudal.connect.connectors.object_sink.formats import FileWriter, Format
from caudal.connect.connectors.object_sink.projection import projection
from caudal.connect.data import Schema
from caudal.connect.errors import DataError
from caudal.connect.records import SinkRecord

CHUNK = 8192  # records per call of the encoder: enough to forget what the call costs
_IN_MEMORY = 16 << 20  # beyond this the content waits on disk
Report = Callable[[SinkRecord, Exception], None]


class OpenFile:
    """The content is in `stream` after `seal`; if every record was bad, `is_empty`."""

    def __init__(self, path: str, schema: Schema | None, first: Any, format: Format, report: Report) -> None:
        self.path = path
        self.schema = schema
        self.first = first
        self.pending: list[SinkRecord] = []
        self.stream = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  (closed by `close`)
        self.is_empty = True
        self.is_mixed = False  # records of other schemas are among them, to be projected
        self._format = format
        self._writer: FileWriter | None = None
        self._report = report

    def add(self, records: list[SinkRecord]) -> None:
        self.pending += records
        if len(self.pending) >= CHUNK:
            self.encode()

    def add_columns(self, columns: Any) -> None:
        """Of the file's own schema."""
        self.encode()
        if self._writer is None:  # all before were bad
            self._writer = self._new_writer()
        self._append(columns)

    def _new_writer(self) -> FileWriter:
        return self._format.writer(self.stream, self.schema, self.first)  # type: ignore[arg-type]

    def encode(self) -> None:
        records, self.pending = self.pending, []
        if not records:
            return
        try:
            encoded = self._encoded(records)
        except DataError:
            for record in records:
                try:
                    encoded = self._encoded([record])
                except DataError as error:
                    self._report(record, error)
                else:
                    self._append(encoded)
        else:
            self._append(encoded)

    def _encoded(self, records: list[SinkRecord]) -> Any:
        schema = self.schema
        values = [record.value for record in records]
        if self.is_mixed:
            for index, record in enumerate(records):
                if record.value_schema is not None and schema is not None:
                    project = projection(record.value_schema, schema)
                    if project is not None:
                        values[index] = project(record.value)
        if self._writer is None:
            self._writer = self._new_writer()
        return self._writer.encode(values)

    def _append(self, encoded: Any) -> None:
        assert self._writer is not None
        self._writer.append(encoded)
        self.is_empty = False

    def seal(self) -> None:
        self.encode()
        if self._writer is not None:
            self._writer.finish()

    def close(self) -> None:
        self._writer = None
        self.stream.close()
