"""Datagen: made-up records by an annotated Avro schema, for trying things out. `quickstarts/` holds ready ones, as data."""
