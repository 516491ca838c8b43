"""Datagen: made-up records by an annotated Avro schema. `quickstarts.json` holds ready ones."""
