"""PostgreSQL change data capture: every change of a table as a record, by logical replication."""
