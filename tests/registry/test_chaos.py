"""Instances killed at random under registration load: no id is given twice, none that was told is lost."""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from collections.abc import Iterator

import httpx
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from caudal.testing import embedded_broker
from tests.registry.conftest import QUICK_MEMBER, QUICK_SESSIONS
from tests.registry.process import HEADERS, RegistryProcess

INSTANCES = 3
CLIENTS = 4
SUBJECTS = 8


def text_of(number: int) -> str:
    return json.dumps({"type": "record", "name": f"R{number}", "fields": [{"name": "f", "type": "int"}]})


class Load:
    """Clients that register one new schema after the other, each at a random instance, and note what they were told."""

    def __init__(self, instances: list[RegistryProcess]) -> None:
        self.instances = instances
        self.told: dict[int, tuple[str, int]] = {}  # number of the schema → subject, id
        self.stopping = threading.Event()
        self.odd: list[str] = []  # answers that nobody should get
        self._numbers = iter(range(10**9))
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(seed,)) for seed in range(CLIENTS)]

    @contextlib.contextmanager
    def running(self) -> Iterator[Load]:
        for thread in self._threads:
            thread.start()
        try:
            yield self
        finally:
            self.stopping.set()
            for thread in self._threads:
                thread.join(60)

    def _run(self, seed: int) -> None:
        chance = random.Random(seed)
        with httpx.Client(timeout=40, headers=HEADERS) as client:
            while not self.stopping.is_set():
                with self._lock:
                    number = next(self._numbers)
                subject = f"s{number % SUBJECTS}"
                url = f"{chance.choice(self.instances).url}/subjects/{subject}/versions"
                try:
                    answer = client.post(url, json={"schema": text_of(number)})
                except httpx.HTTPError:
                    continue  # its instance was killed: nothing was told
                if answer.status_code == 200:
                    self.told[number] = (subject, answer.json()["id"])
                elif answer.json().get("error_code") not in (50001, 50002, 50003, 50004):
                    self.odd.append(answer.text)


def records_of(bootstrap: str, topic: str = "_schemas") -> list[tuple[bytes, bytes | None]]:
    """Everything committed that the topic holds, read without the registry."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "judge",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found: list[tuple[bytes, bytes | None]] = []
    while True:
        message = consumer.poll(10)
        assert message is not None
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF
            consumer.close()
            return found
        found.append((message.key(), message.value()))


def chaos(kills: int, pause: float) -> None:
    chance = random.Random(kills)
    with embedded_broker(QUICK_SESSIONS) as broker:
        instances = [RegistryProcess(broker.bootstrap, *QUICK_MEMBER) for _ in range(INSTANCES)]
        try:
            for instance in instances:
                instance.wait()
            httpx.put(f"{instances[0].url}/config", json={"compatibility": "NONE"}, headers=HEADERS)
            with Load(instances).running() as load:
                for number in range(kills):
                    before = len(load.told)
                    time.sleep(pause)
                    # Mostly the writer: that is where it hurts.
                    writers = [place for place, instance in enumerate(instances) if instance.is_writer()]
                    place = writers[0] if writers and number % 4 else chance.randrange(INSTANCES)
                    instances[place].kill()
                    instances[place] = RegistryProcess(broker.bootstrap, *QUICK_MEMBER).wait()
                    deadline = time.monotonic() + 90
                    while len(load.told) == before and time.monotonic() < deadline:
                        time.sleep(0.05)
                    assert len(load.told) > before, "nothing was registered any more"
            assert load.odd == []
            judge(load, instances, broker.bootstrap)
        finally:
            for instance in instances:
                instance.kill()


def judge(load: Load, instances: list[RegistryProcess], bootstrap: str) -> None:
    ids = [id_ for _, id_ in load.told.values()]
    assert len(set(ids)) == len(ids), "each schema was new, so each id must be"
    texts: dict[int, str] = {}
    places: dict[tuple[str, int], int] = {}
    for key, value in records_of(bootstrap):
        fields, row = json.loads(key), json.loads(value or b"null")
        if fields["keytype"] == "SCHEMA":
            assert texts.setdefault(row["id"], row["schema"]) == row["schema"], "an id was given twice"
            place = (fields["subject"], fields["version"])
            assert places.setdefault(place, row["id"]) == row["id"], "a version was given twice"
    in_subjects = {(subject, id_) for (subject, _), id_ in places.items()}
    for number, (subject, id_) in load.told.items():
        assert (subject, id_) in in_subjects
        assert json.loads(texts[id_]) == json.loads(text_of(number)), "what was told is not in the log"
    for instance in instances:
        with httpx.Client(base_url=instance.url, timeout=20) as client:
            for number, (_, id_) in load.told.items():
                answer = client.get(f"/schemas/ids/{id_}").json()
                assert json.loads(answer["schema"]) == json.loads(text_of(number))


def test_instances_killed_under_load() -> None:
    chaos(kills=5, pause=0.3)


@pytest.mark.slow
def test_instances_killed_twenty_times_under_load() -> None:
    chaos(kills=20, pause=1.0)
