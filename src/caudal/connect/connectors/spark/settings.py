"""What Spark connectors are told, and the Spark session they run in."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from caudal.connect.configuration import Importance, Key, config_def
from caudal.connect.connector_config import worker_settings
from caudal.connect.connectors.local_paths import ALLOWED_FOLDERS, check_local
from caudal.connect.errors import ConfigError, ConnectError

OPTION = "spark.option."
CONF = "spark.conf."
_RAISED = re.compile(r"((?:\w+\.)*\w+(?:Error|Exception)): (.+)")  # as Python writes it, and Java its first one
_TRIGGER = re.compile(r"\d+ (milli)?seconds?|\d+ minutes?|\d+ hours?")

SHARED = config_def(
    Key(
        name="format",
        importance=Importance.HIGH,
        doc="Spark's format: parquet, json, csv, orc, text, jdbc, or one whose jar spark.conf.spark.jars adds. Its "
        "options go behind spark.option.",
    ),
    Key(name="path", default=None, importance=Importance.HIGH, doc="The folder, for formats that have one."),
    Key(
        name="checkpoint.location",
        default=None,
        importance=Importance.HIGH,
        doc="The folder of the query's position. It must outlive the worker, and all workers must reach it. Default: "
        "below path, where there is one.",
    ),
    Key(
        name="trigger",
        default="1 second",
        importance=Importance.MEDIUM,
        doc="How often a batch begins ('10 seconds'), or 'available now': all that is there, and then no more.",
        validator=lambda name, value: check_trigger(value),
    ),
    ALLOWED_FOLDERS,
    Key(
        name="spark.master", default=None, importance=Importance.LOW, doc="Default: the worker's, or this machine.",
    ),
)  # fmt: skip


def check_trigger(value: str) -> None:
    if value.replace("-", " ").lower() != "available now" and _TRIGGER.fullmatch(value) is None:
        raise ValueError("must be a time such as '10 seconds', or 'available now'")


def trigger_arguments(value: str) -> dict[str, Any]:
    if value.replace("-", " ").lower() == "available now":
        return {"availableNow": True}
    return {"processingTime": value}


def options(config: Mapping[str, Any], prefix: str = OPTION) -> dict[str, str]:
    """What stands behind the prefix."""
    return {name.removeprefix(prefix): str(value) for name, value in config.items() if name.startswith(prefix)}


def checkpoint_location(config: Mapping[str, Any]) -> str:
    """Hidden from Spark's readers by its underscore, where it lies beside the data."""
    if config["checkpoint.location"]:
        return str(config["checkpoint.location"])
    if config["path"]:
        return f"{str(config['path']).rstrip('/')}/_checkpoints/{config['name']}"
    raise ConfigError("a folder for the query's position is needed where there is no path", "checkpoint.location")


def check_local_places(config: Mapping[str, Any]) -> None:
    """Data, position and code on this machine lie in allowed folders. Raises ConfigError with the property."""
    for key in ("path", "checkpoint.location", f"{OPTION}path", f"{CONF}spark.jars"):
        for location in str(config.get(key) or "").split(","):
            if location.strip():
                check_local(location.strip(), config, key)


@contextmanager
def spark_session(config: Mapping[str, Any]) -> Iterator[Any]:
    from caudal.runtime.errors import StreamsError
    from caudal.runtime.spark import session

    check_local_places(config)
    # A batch that a stop cuts off is no error, and the failure of a query is told by the query.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    master = config["spark.master"] or worker_settings(config).master or "local[*,4]"
    conf = {
        "spark.sql.session.timeZone": "UTC",
        # Spark's own default is INT96, which other readers take for a timestamp without a zone.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        **options(config, CONF),
    }
    try:
        if "spark.jars" in conf:
            conf["spark.jars"] = ",".join([*map(str, session.connector_jars()), conf["spark.jars"]])
        spark, is_ours = session.open_session(master, 2, conf)
        if session.is_local(spark.sparkContext.master):
            spark.sparkContext.environment["PYTHONPATH"] = session.python_path()
    except StreamsError as error:
        raise ConnectError(str(error)) from None
    try:
        yield spark
    finally:
        if is_ours:
            session.stop(spark)


def why(error: Any) -> str:
    """The sentence of a failed query: what a Python worker raised, or the last cause.

    >>> why("[FAILED] x\\n  File y\\ncaudal.connect.errors.DataError: It is no number.\\n SQLSTATE: 38000")
    'It is no number.'
    """
    from caudal.runtime.spark.query import reason

    lines = [line.strip().removeprefix(": ") for line in str(error).splitlines()]
    lines = [
        line for line in lines if not line.startswith("SQLSTATE") and "An error occurred while calling" not in line
    ]
    raised = [found for line in lines if (found := _RAISED.match(line)) is not None]
    if ours := [found[2] for found in raised if found[1].startswith("caudal.")]:
        return ours[-1]
    return raised[-1][0] if raised else reason("\n".join(lines))
