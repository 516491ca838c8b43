"""The broker as the checks see it: asked once for all of them, and silent where it does not answer."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from caudal.cli.clients import client_config, parse_address
from caudal.cli.errors import CliError
from caudal.cli.ports import is_listening

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, ClusterMetadata

ANSWER_SECONDS = 4.0


class Cluster:
    """`metadata` is None where there is no answer; `failure` then says why, if somebody listens there at all."""

    def __init__(self, bootstrap: str, properties: list[str]) -> None:
        self._bootstrap = bootstrap
        self._properties = properties
        self._asked = False
        self._lock = threading.Lock()
        self._admin: AdminClient | None = None
        self._metadata: ClusterMetadata | None = None
        self.failure: str | None = None

    def addresses(self) -> list[tuple[str, int]]:
        return [parse_address(part) for part in self._bootstrap.split(",") if part.strip()]

    @property
    def metadata(self) -> ClusterMetadata | None:
        with self._lock:
            if not self._asked:
                self._asked = True
                self._ask()
            return self._metadata

    @property
    def admin(self) -> AdminClient | None:
        return self._admin if self.metadata is not None else None

    @property
    def id(self) -> str | None:
        found = self.metadata
        return str(found.cluster_id) if found is not None and found.cluster_id else None

    def _ask(self) -> None:
        if not any(is_listening(host, port, timeout=2.0) for host, port in self.addresses()):
            return
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        try:
            self._admin = AdminClient(client_config(self._bootstrap, self._properties))
            self._metadata = self._admin.list_topics(timeout=ANSWER_SECONDS)
        except KafkaException as error:
            self.failure = error.args[0].str()
        except (ValueError, TypeError, CliError) as error:
            self.failure = str(error)
