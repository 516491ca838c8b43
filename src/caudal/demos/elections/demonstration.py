"""The parts of the demonstration together: topics, the application on Spark, the feeder, the model, and who watches.

`running.py` plays one night and checks it, `serving.py` plays nights until it is stopped; both are made of this.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

from caudal.demos.elections import topics
from caudal.demos.elections.application import APPLICATION_ID, elections
from caudal.demos.elections.feeding import Feeder, Position, read_position
from caudal.demos.elections.learning import learn, model_record, past_samples
from caudal.demos.elections.simulation import Country
from caudal.demos.elections.standings import FOLLOWED, Standings
from caudal.demos.following import Follower, Take
from caudal.demos.hosting import demo_host, spark_session
from caudal.runtime.errors import StreamsError
from caudal.streams import StreamsBuilder

CATCH_UP_SECONDS = 30.0
STEP_SECONDS = 0.1
ALONE_SECONDS = 20.0  # longer than the group remembers a member that was killed

log = logging.getLogger("caudal.demo")


class Demonstration:
    """Use it in a `with`. Spark begins to start with `start`, and nothing here waits for it unless it says so."""

    def __init__(
        self,
        bootstrap: str,
        country: Country,
        *,
        registry: str | None = None,
        client: Mapping[str, str] | None = None,
        state_dir: str | None = None,
        with_chess: bool = False,
    ) -> None:
        """`with_chess` has the same Spark keep the boards of chess as well."""
        from confluent_kafka import Producer
        from confluent_kafka.admin import AdminClient

        self.country = country
        self._bootstrap = bootstrap
        self._client = dict(client or {})
        self._registry = registry
        self._state_dir = state_dir
        self.with_chess = with_chess
        self.config: dict[str, Any] = {"log_level": 0, "bootstrap.servers": bootstrap, **self._client}
        self.admin = AdminClient(self.config)
        topics.create(self.admin)
        self._teller = Producer({**self.config, "enable.idempotence": True})
        self._host = demo_host()
        self._applications: list[Any] = []
        self.standings = Standings()
        self.watchers: list[Take] = []
        self._follower = Follower(self.config, FOLLOWED, self._take)

    # -- life ----------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the application; its state goes to the status topic as it changes. Raises where another is at work."""
        from caudal.streams.application import Application, add_all

        self._wait_until_alone()
        builders: list[tuple[StreamsBuilder, dict[str, str]]] = [(elections(self._registry), {})]
        if self.with_chess:
            from caudal.demos.chess.application import HANDLERS, chess
            from caudal.demos.chess.topics import create

            create(self.admin)
            builders.append((chess(), HANDLERS))
        self._applications = [
            Application(
                builder,
                bootstrap=self._bootstrap,
                registry=self._registry,
                state_dir=self._state_dir,
                client=self._client,
                host=self._host,
                **handlers,  # type: ignore[arg-type]
            )
            for builder, handlers in builders
        ]
        self._applications[0].add_state_listener(lambda new, old: self.tell_state(new.value))
        self.tell_state("STARTING")
        for application in self._applications:
            application.prepare()
        add_all(self._applications, self._host)

    def _wait_until_alone(self) -> None:
        """A second feeder would take the place of the first. One that was killed is a member for some seconds yet."""
        deadline = time.monotonic() + ALONE_SECONDS
        while self._members():
            if time.monotonic() > deadline:
                raise StreamsError(
                    f"An election night is under way at {self._bootstrap} already: look at it, or stop it first."
                )
            time.sleep(0.3)

    def _members(self) -> int:
        from confluent_kafka import KafkaError, KafkaException

        asked = self.admin.describe_consumer_groups([APPLICATION_ID], request_timeout=10)[APPLICATION_ID]
        try:
            return len(asked.result().members)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                return 0
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._follower.close()
        self._host.close()
        for application in self._applications:
            application.stop()
        self._teller.flush(5)

    # -- the application -----------------------------------------------------------------------------------------------

    @property
    def application(self) -> Any:
        return self._applications[0]

    @property
    def state(self) -> str:
        return str(self.application.state)

    def wait_running(self, stop: threading.Event, said: Callable[[str], None] | None = None) -> bool:
        """Until the application runs; False where it was stopped before. Raises what it failed with."""
        while not stop.is_set():
            for application in self._applications:
                application.raise_failure()
            if self.state == "RUNNING":
                return True
            if said is not None:
                said(self.state)
            stop.wait(STEP_SECONDS)
        return False

    def tell_state(self, state: str) -> None:
        self.tell("application", {"state": state})

    def tell(self, key: str, value: Mapping[str, Any]) -> None:
        self._teller.produce(topics.STATUS, json.dumps(dict(value)), key.encode())
        self._teller.poll(0)

    # -- the nights ----------------------------------------------------------------------------------------------------

    def feeder(self) -> Feeder:
        return Feeder(self.config, self.country, topics.value_serdes(self._registry))

    def position(self) -> Position:
        """How far the nights were when somebody last sent something."""
        if not self._follower.wait_caught_up(CATCH_UP_SECONDS):
            raise TimeoutError(f"the topics of the elections cannot be read: {self._follower.error or 'no answer'}")
        return read_position(self.standings.status)

    def begin(self, feeder: Feeder) -> Position:
        """The night that was broken off, if it is of the same country, else a new one."""
        position = self.position()
        if position.is_of(self.country) and not position.is_over:
            return position
        return feeder.open(position.night + 1)

    def publish_past(self, feeder: Feeder) -> None:
        """The samples of past elections, once."""
        if self.standings.status.get("past") is None:
            feeder.publish(past_samples(self.country.seed), topics.SAMPLES)
            self.tell("past", {"seed": self.country.seed})

    def learn(self) -> dict[str, Any]:
        """A model of all samples so far; the application takes it up with the next report."""
        model = learn(spark_session(), self._bootstrap, self._client)
        topic, key, value = model_record(model)
        self._teller.produce(topic, value, key.encode(), partition=0)
        self.tell("model", model)
        self._teller.flush(10)
        return model

    def _take(self, topic: str, key: str, value: Any, place: tuple[int, int, int]) -> None:
        self.standings.take(topic, key, value, place)
        for watcher in self.watchers:
            watcher(topic, key, value, place)
