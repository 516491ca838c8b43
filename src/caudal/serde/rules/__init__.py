"""Data policies: rules that come with a schema and are run by the serialisers, on whole values or field by field."""
