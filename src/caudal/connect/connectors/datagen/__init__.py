"""Datagen: made-up records by an annotated Avro schema. `quickstarts/` holds ready ones, as data."""
