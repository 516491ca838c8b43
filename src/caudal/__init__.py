"""Caudal: the Kafka platform in Python, with its pipelines on Spark.

Nothing is imported here: the base package must stay quick to start, and each part (``caudal.broker``,
``caudal.testing``, ``caudal.cli``) is imported by whoever needs it.
"""

__version__ = "0.1.0"
