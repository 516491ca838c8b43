"""Protobuf: from text or base64 (`compiler`), to text (`printer`), `evolution`, all in `schema`."""
