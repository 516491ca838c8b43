"""The broker-side check that a topic's records carry a registered schema (`confluent.value.schema.validation`)."""
