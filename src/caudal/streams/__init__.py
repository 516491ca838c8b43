"""Streams: Kafka Streams' programming model in Python, run on Spark.

    from caudal.serde import Json, String
    from caudal.streams import StreamsBuilder

    builder = StreamsBuilder("hello")
    builder.stream("orders", key=String(), value=Json()).filter("amount > 0").to("good")
    builder.run()

Importing this brings in neither Spark nor a Kafka client: they come with `start` and `run`.
"""

from __future__ import annotations

from caudal.plan.errors import PlanError
from caudal.plan.topology import Topology
from caudal.runtime.punctuation import PunctuationType
from caudal.runtime.record import Record, RecordContext, Windowed
from caudal.streams.branched import BranchedStream, Branches
from caudal.streams.builder import StreamsBuilder
from caudal.streams.cogrouped import CogroupedKStream
from caudal.streams.global_table import GlobalKTable
from caudal.streams.grouped import KGroupedStream
from caudal.streams.grouped_table import KGroupedTable
from caudal.streams.processor import Processor, ProcessorContext, ValueTransformer
from caudal.streams.stores import (
    in_memory,
    key_value_store,
    persistent,
    session_store,
    timestamped_store,
    window_store,
)
from caudal.streams.stream import KStream
from caudal.streams.suppressed import until_time_limit, until_window_closes
from caudal.streams.table import KTable
from caudal.streams.windowed import SessionWindowedKStream, TimeWindowedKStream
from caudal.streams.windows import hopping, session, sliding, tumbling

__all__ = [
    "Branches",
    "BranchedStream",
    "CogroupedKStream",
    "GlobalKTable",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "PlanError",
    "Processor",
    "ProcessorContext",
    "PunctuationType",
    "Record",
    "RecordContext",
    "SessionWindowedKStream",
    "StreamsBuilder",
    "TimeWindowedKStream",
    "Topology",
    "ValueTransformer",
    "Windowed",
    "hopping",
    "in_memory",
    "key_value_store",
    "persistent",
    "session",
    "session_store",
    "sliding",
    "timestamped_store",
    "tumbling",
    "until_time_limit",
    "until_window_closes",
    "window_store",
]
