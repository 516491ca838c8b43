"""Connect: data moved in and out of topics without code; and the small API with which a connector is written.

    from caudal.connect import SourceConnector, SourceTask, SourceRecord, ConfigDef, Key

A connector is one class with its task beside it (`connector.py`), found by entry point (`plugins.py`). What travels is
a record with values of plain Python types and, where there is one, a schema (`data.py`). Workers (`runtime/`) run the
tasks; `server/` is Kafka Connect's REST API.
"""

from caudal.connect.configuration import ConfigDef, Importance, Key, Type
from caudal.connect.connector import (
    Connector,
    SinkConnector,
    SinkContext,
    SinkTask,
    SourceConnector,
    SourceContext,
    SourceTask,
)
from caudal.connect.data import Field, Kind, Schema
from caudal.connect.errors import ConfigError, ConnectError, DataError, RetriableError
from caudal.connect.records import Headers, SinkRecord, SourceRecord

__all__ = [
    "ConfigDef",
    "ConfigError",
    "ConnectError",
    "Connector",
    "DataError",
    "Field",
    "Headers",
    "Importance",
    "Key",
    "Kind",
    "RetriableError",
    "Schema",
    "SinkConnector",
    "SinkContext",
    "SinkRecord",
    "SinkTask",
    "SourceConnector",
    "SourceContext",
    "SourceRecord",
    "SourceTask",
    "Type",
]
