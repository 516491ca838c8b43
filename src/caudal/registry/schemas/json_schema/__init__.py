"""JSON Schema: the text checked (`document`), its parts (`node`), `evolution` and its parts, all in `schema`."""
