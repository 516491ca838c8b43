"""An application's cargo as bytes for Spark's workers: functions by value where workers cannot import them."""

from __future__ import annotations

from typing import Any

from caudal.plan.topology import Topology
from caudal.runtime.errors import StreamsError, describe
from caudal.runtime.spark.settings import Cargo


def packed(cargo: Cargo) -> bytes:
    """Raises StreamsError with the node whose function or serde cannot travel."""
    try:
        from pyspark import cloudpickle
    except ModuleNotFoundError:
        raise StreamsError("PySpark is not installed: pip install 'caudal[spark]'.") from None
    dumps: Any = cloudpickle.dumps
    try:
        data: bytes = dumps(cargo)
    except Exception as error:
        raise StreamsError(
            f"{_culprit(cargo.topology, dumps)} of '{cargo.application_id}' cannot be sent to Spark's workers: "
            f"{describe(error)}. What it uses from outside must be picklable: open connections, files and locks inside "
            "the function, or in a Processor's init()."
        ) from error
    return data


def _culprit(topology: Topology, dumps: Any) -> str:
    for node in topology.nodes:
        try:
            dumps(node)
        except Exception:
            return f"Node {node.name}"
    return "The topology"
