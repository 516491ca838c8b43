"""HTTP: a source that polls a URL, and a sink that sends requests."""
