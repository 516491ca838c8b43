"""Bytes on the wire and in the log, as pure functions: nothing here opens a socket or a file."""
