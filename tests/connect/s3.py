"""A store that speaks S3's protocol, for tests: moto's server, in a thread of this process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import fsspec
from moto.server import ThreadedMotoServer


class S3Store:
    """One bucket."""

    bucket = "archive"
    credentials = ("tester", "geheim")

    def __init__(self, url: str) -> None:
        self.url = url
        key, secret = self.credentials
        self.files: Any = fsspec.filesystem(
            "s3", endpoint_url=url, key=key, secret=secret, use_listings_cache=False, skip_instance_cache=True,
            client_kwargs={"region_name": "us-east-1"},
        )  # fmt: skip
        self.files.call_s3("create_bucket", Bucket=self.bucket)

    def sink_config(self) -> dict[str, str]:
        """By the names of Confluent's S3 sink."""
        key, secret = self.credentials
        return {
            "connector.class": "io.confluent.connect.s3.S3SinkConnector", "s3.bucket.name": self.bucket,
            "s3.region": "us-east-1", "store.url": self.url, "aws.access.key.id": key, "aws.secret.access.key": secret,
        }  # fmt: skip

    def names(self, folder: str) -> list[str]:
        """The keys below a folder."""
        names = [path.removeprefix(f"{self.bucket}/") for path in self.files.find(self.bucket)]
        return [name for name in names if name.startswith(f"{folder}/")]

    def contents(self, folder: str) -> dict[str, bytes]:
        """The objects below a folder, by key."""
        paths = [f"{self.bucket}/{name}" for name in self.names(folder)]
        found: dict[str, bytes] = self.files.cat(paths) if len(paths) > 1 else {p: self.files.cat(p) for p in paths}
        return {path.removeprefix(f"{self.bucket}/"): content for path, content in found.items()}


@contextmanager
def s3_store() -> Iterator[S3Store]:
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # a line per request
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield S3Store(f"http://{host}:{port}")
    finally:
        server.stop()
