"""Kafka Connect's REST API: what clients, KSQL and other workers ask of a worker, over HTTP."""
