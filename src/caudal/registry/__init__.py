"""The Schema Registry: schemas by id and by subject, their evolution, and the REST API that Kafka's clients know."""
