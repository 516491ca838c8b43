"""Avro: the types (`types`), from text (`reader`), to text (`printer`), evolution (`resolution`), all in `schema`."""
