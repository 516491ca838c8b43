"""Workers of a cluster in one process: who runs what when they come, go, crash, and are asked for things meanwhile."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from caudal.connect.errors import ConnectError
from caudal.connect.plugins import PluginKind, find
from caudal.connect.runtime import connector_run
from caudal.connect.runtime.config_state import connector_record
from caudal.connect.runtime.config_store import ConfigStore
from caudal.connect.runtime.group_protocol import decode_assignment, decode_metadata
from caudal.connect.runtime.model import Rebalancing, RestError, State, TargetState, TaskId
from caudal.connect.runtime.statuses import Status
from caudal.testing import EmbeddedBroker, embedded_broker
from tests.connect.herder_harness import Cluster, read_topic, wait_for


@pytest.fixture
def cluster(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(broker.bootstrap, monkeypatch)


@pytest.fixture(autouse=True)
def _all_are_stopped() -> Iterator[None]:
    yield
    while Cluster.live:
        Cluster.live.pop().stop_all()


def failures_heard() -> list[tuple[str, int | None, str]]:
    """By connectors of this class, in `on_failure`."""
    return list(find("Numbers", PluginKind.SOURCE).cls.failures)


def test_two_workers_share_connectors_and_tasks(cluster: Cluster) -> None:
    first, second = cluster.start(), cluster.start()
    cluster.create("a", 3)
    cluster.create("b", 3)
    cluster.wait_for_states("a", *["RUNNING"] * 4)
    cluster.wait_for_states("b", *["RUNNING"] * 4)
    assert sorted(cluster.tasks.by_worker().values()) == [3, 3]
    owners = {cluster.status(name)["connector"]["worker_id"] for name in "ab"}
    assert owners == {first.worker_id, second.worker_id}, "the one who does not lead has sent its tasks to the leader"
    assert first.connectors() == second.connectors() == ["a", "b"]
    assert first.info("a")["tasks"] == [{"connector": "a", "task": n} for n in range(3)]
    assert first.tasks("a")[2]["id"] == {"connector": "a", "task": 2}
    assert first.is_healthy()[0]
    assert first.metrics()[""]["task-count"] == second.metrics()[""]["task-count"] == 3
    worker = first.metrics()[""]
    assert worker["task-startup-success-total"] == worker["task-startup-attempts-total"] > 0
    assert (worker["task-startup-success-percentage"], worker["task-startup-failure-percentage"]) == (100, 0)
    assert worker["completed-rebalances-total"] >= 2 and worker["rebalancing"] == 0
    assert worker["rebalance-max-time-ms"] >= worker["rebalance-avg-time-ms"] > 0
    assert worker["epoch"] == second.metrics()[""]["epoch"] > 0
    assert first.metrics()[""]["leader"] + second.metrics()[""]["leader"] == 1
    counted = [herder.metrics().get("a", {}).get("connector-running-task-count", 0) for herder in (first, second)]
    assert sum(counted) == 3


def test_a_third_worker_gets_its_share_and_nothing_else_stops(cluster: Cluster) -> None:
    cluster.start()
    cluster.start()
    cluster.create("a", 6)
    cluster.wait_for_states("a", *["RUNNING"] * 7)
    before = cluster.tasks.running()
    cluster.start()
    wait_for(lambda: sorted(cluster.tasks.by_worker().values()) == [2, 2, 2])
    cluster.wait_for_states("a", *["RUNNING"] * 7)
    stayed = [id for id, run in cluster.tasks.running().items() if before[id] is run]
    assert len(stayed) == 4, "two of six had to move"


def test_a_worker_that_stops_hands_over_at_once(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(broker.bootstrap, monkeypatch, scheduled_rebalance_delay_seconds=300.0)
    leader = cluster.start()
    wait_for(lambda: leader._leads)
    other = cluster.start()
    cluster.create("a", 4)
    wait_for(lambda: sorted(cluster.tasks.by_worker().values()) == [2, 2])
    began = time.monotonic()
    cluster.stop(other.settings.url)
    wait_for(lambda: cluster.tasks.by_worker() == {leader.settings.url: 4})
    assert time.monotonic() - began < 60, "it was not lost, so nothing waits for the delay"
    cluster.stop_all()


def test_a_crashed_worker_is_waited_for_and_then_replaced(
    broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(broker.bootstrap, monkeypatch, scheduled_rebalance_delay_seconds=2.0, session_timeout_ms=1000)
    leader = cluster.start()
    wait_for(lambda: leader._leads)
    other = cluster.start()
    cluster.create("a", 4)
    wait_for(lambda: sorted(cluster.tasks.by_worker().values()) == [2, 2])
    began = time.monotonic()
    cluster.crash(other.settings.url)
    wait_for(lambda: cluster.tasks.by_worker() == {leader.settings.url: 4})
    assert time.monotonic() - began > 2.0, "what was lost waits for the delay"
    cluster.wait_for_states("a", *["RUNNING"] * 5)
    cluster.stop_all()


def test_a_worker_that_returns_in_time_gets_its_tasks_back(
    broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(broker.bootstrap, monkeypatch, scheduled_rebalance_delay_seconds=300.0, session_timeout_ms=1000)
    leader = cluster.start()
    wait_for(lambda: leader._leads)
    other = cluster.start()
    cluster.create("a", 4)
    wait_for(lambda: sorted(cluster.tasks.by_worker().values()) == [2, 2])
    url = other.settings.url
    had = {id for id, run in cluster.tasks.running().items() if run.url == url}
    cluster.crash(url)
    cluster.start(url)
    wait_for(lambda: {id for id, run in cluster.tasks.running().items() if run.url == url} == had)
    assert sorted(cluster.tasks.by_worker().values()) == [2, 2]
    cluster.stop_all()


def test_when_the_leader_crashes_another_leads_and_writes(cluster: Cluster) -> None:
    cluster.start()
    cluster.start()
    cluster.create("a", 2)
    leader = cluster.leader().settings.url
    cluster.crash(leader)
    cluster.create("b", 2)
    for name in "ab":
        cluster.wait_for_states(name, "RUNNING", "RUNNING", "RUNNING")
    assert len(cluster.tasks.running()) == 4


def test_states_outlive_all_workers(cluster: Cluster) -> None:
    cluster.start()
    for name, target in (("paused", TargetState.PAUSED), ("stopped", TargetState.STOPPED)):
        cluster.create(name, 2)
        cluster.wait_for_states(name, "RUNNING", "RUNNING", "RUNNING")
        cluster.ask(lambda herder, name=name, target=target: herder.set_target(name, target))  # type: ignore[misc]
    cluster.create("born-paused", 2, TargetState.PAUSED)
    cluster.wait_for_states("paused", "PAUSED", "PAUSED", "PAUSED")
    cluster.wait_for_states("stopped", "STOPPED")
    cluster.wait_for_states("born-paused", "PAUSED")
    cluster.stop_all()
    cluster.start()
    cluster.wait_for_states("paused", "PAUSED", "PAUSED", "PAUSED")
    cluster.wait_for_states("stopped", "STOPPED")
    for name in ("paused", "stopped", "born-paused"):
        cluster.ask(lambda herder, name=name: herder.set_target(name, TargetState.STARTED))  # type: ignore[misc]
        cluster.wait_for_states(name, "RUNNING", "RUNNING", "RUNNING")


def test_a_deleted_connector_leaves_no_status(cluster: Cluster) -> None:
    herder = cluster.start()
    cluster.start()
    cluster.create("gone", 3)
    cluster.create("kept", 1)
    cluster.wait_for_states("gone", *["RUNNING"] * 4)
    cluster.wait_for_states("kept", "RUNNING", "RUNNING")
    for run in list(cluster.tasks.running().values()):
        run.listener.on_topic(run.id.connector, "some-topic", run.id.task)
    wait_for(lambda: herder.topics("gone") == ["some-topic"])
    cluster.ask(lambda one: one.delete("gone"))
    wait_for(lambda: set(cluster.tasks.running()) == {TaskId("kept", 0)})
    topic = herder.settings.status_topic

    def left() -> set[str]:
        return {key for key, value in cluster.records(topic).items() if value is not None}

    kept = {"status-connector-kept", "status-task-kept-0", "status-topic-some-topic:connector-kept"}
    wait_for(lambda: left() == kept, f"nothing of it in {topic}")
    with pytest.raises(RestError) as refused:
        herder.status("gone")
    assert (refused.value.status, refused.value.message) == (404, "Connector gone not found")


def test_a_new_configuration_restarts_the_tasks_that_it_concerns(cluster: Cluster) -> None:
    cluster.start()
    cluster.create("a", 2)
    cluster.create("b", 1)
    cluster.wait_for_states("a", *["RUNNING"] * 3)
    cluster.wait_for_states("b", *["RUNNING"] * 2)
    before = cluster.tasks.running()
    cluster.ask(lambda herder: herder.patch_config("a", {"errors.tolerance": "all"}))
    wait_for(
        lambda: {id.connector for id, run in cluster.tasks.running().items() if before.get(id) is not run} == {"a"}
    )
    wait_for(lambda: len(cluster.tasks.running()) == 3)
    run = cluster.tasks.running()[TaskId("a", 0)]
    assert run.spec.connector_config["errors.tolerance"] == "all"
    assert run.spec.generation > before[TaskId("a", 0)].spec.generation
    cluster.ask(lambda herder: herder.patch_config("a", {"parts": "1", "errors.tolerance": None}))
    wait_for(lambda: set(cluster.tasks.running()) == {TaskId("a", 0), TaskId("b", 0)})
    assert "errors.tolerance" not in cluster.ask(lambda herder: herder.info("a"))["config"]
    cluster.wait_for_states("a", "RUNNING", "RUNNING")


def test_an_unchanged_connector_writes_no_tasks(cluster: Cluster) -> None:
    herder = cluster.start()
    cluster.create("a", 2)
    cluster.wait_for_states("a", *["RUNNING"] * 3)
    before = herder.newest().generation("a")
    cluster.ask(lambda one: one.restart("a", include_tasks=False, only_failed=False))
    cluster.wait_for_states("a", *["RUNNING"] * 3)
    cluster.stop_all()
    herder = cluster.start()
    cluster.wait_for_states("a", *["RUNNING"] * 3)
    assert herder.newest().generation("a") == before


def test_a_failed_task_is_tried_again_with_back_off_and_then_left(
    broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(broker.bootstrap, monkeypatch, restart_attempts=2)
    cluster.start()
    cluster.start()
    cluster.create("a", 2)
    cluster.wait_for_states("a", *["RUNNING"] * 3)
    id = TaskId("a", 1)
    for attempt in range(2):
        run = cluster.tasks.running()[id]
        run.fail(f"DataError: attempt {attempt}\n  in some file")
        wait_for(lambda run=run: cluster.tasks.running().get(id) not in (None, run), "another attempt")  # type: ignore[misc]
        cluster.wait_for_states("a", "RUNNING", "RUNNING", "RUNNING")
        assert "trace" not in cluster.status("a")["tasks"][1]
    cluster.tasks.running()[id].fail("DataError: the last")
    cluster.wait_for_states("a", "RUNNING", "RUNNING", "FAILED")
    assert cluster.status("a")["tasks"][1]["trace"] == "DataError: the last"
    told = read_topic(broker.bootstrap, cluster.settings.status_topic)
    history = [json.loads(value or b"{}") for key, value in told if key == "status-task-a-1"]
    assert [(one["state"], (one["trace"] or "").split("\n")[0]) for one in history] == [
        ("RUNNING", ""),
        ("RESTARTING", "DataError: attempt 0"),
        ("RUNNING", ""),
        ("RESTARTING", "DataError: attempt 1"),
        ("RUNNING", ""),
        ("FAILED", "DataError: the last"),
    ]
    expected = [("a", 1, f"DataError: {words}") for words in ("attempt 0", "attempt 1", "the last")]
    wait_for(lambda: [one for one in failures_heard() if one[0] == "a"] == expected, "each is heard of, from anywhere")

    body = cluster.ask(lambda herder: herder.restart("a", include_tasks=True, only_failed=True))
    assert body is not None
    assert [task["state"] for task in body["tasks"]] == ["RUNNING", "RESTARTING"]
    cluster.wait_for_states("a", "RUNNING", "RUNNING", "RUNNING")
    for _ in range(3):  # more often than without any work in between
        run = cluster.tasks.running()[id]
        run.counted["source-record-write-total"] = 5
        run.fail("DataError: after some work")
        wait_for(lambda run=run: cluster.tasks.running().get(id) not in (None, run), "another attempt")  # type: ignore[misc]
    cluster.stop_all()


def test_one_task_is_restarted_where_it_runs(cluster: Cluster) -> None:
    cluster.start()
    cluster.start()
    cluster.create("a", 4)
    cluster.wait_for_states("a", *["RUNNING"] * 5)
    before = cluster.tasks.running()
    for id in before:
        for url in cluster.herders:  # whoever is asked
            was = cluster.tasks.running()[id]
            cluster.ask(lambda herder, id=id: herder.restart_task(id), url)  # type: ignore[misc]
            wait_for(lambda id=id, was=was: cluster.tasks.running().get(id) not in (None, was))  # type: ignore[misc]
            now = cluster.tasks.running()[id]
            assert now.url == was.url
    with pytest.raises(RestError) as refused:
        cluster.ask(lambda herder: herder.restart_task(TaskId("a", 9)))
    assert refused.value.status == 404


def test_a_connector_that_hangs_or_fails_stops_no_other(cluster: Cluster) -> None:
    cluster.start(task_shutdown_seconds=0.5)
    cluster.create("hangs", 1, hang_in_start="true")
    cluster.create("fails", 1, fail_in_start="the words of the error")
    cluster.create("fine", 1)
    cluster.wait_for_states("fine", "RUNNING", "RUNNING")
    cluster.wait_for_states("fails", "FAILED")
    assert "RuntimeError: the words of the error" in cluster.status("fails")["connector"]["trace"]
    assert ("fails", None, "the words of the error") in failures_heard()
    assert cluster.states("hangs") == ["UNASSIGNED"]
    cluster.ask(lambda herder: herder.put_config("hangs", {"connector.class": "Numbers", "parts": "1"}))
    cluster.wait_for_states("hangs", "RUNNING", "RUNNING")


def test_a_start_that_takes_for_ever_is_a_failure(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector_run, "START_SECONDS", 0.5)
    cluster.start(restart_attempts=0)
    cluster.create("hangs", 1, hang_in_start="true")
    cluster.wait_for_states("hangs", "FAILED")
    assert "has not started within" in cluster.status("hangs")["connector"]["trace"]


def test_a_task_that_does_not_stop_is_abandoned(cluster: Cluster) -> None:
    cluster.start(task_shutdown_seconds=0.3)
    cluster.create("a", 2)
    cluster.wait_for_states("a", *["RUNNING"] * 3)
    stuck = cluster.tasks.running()[TaskId("a", 0)]
    stuck.hangs = True
    cluster.ask(lambda herder: herder.restart("a", include_tasks=True, only_failed=False))
    wait_for(lambda: stuck.abandoned)
    cluster.wait_for_states("a", *["RUNNING"] * 3)
    given_up = "The task a-0 has not stopped within 0.3 s and was abandoned"
    wait_for(lambda: [one for one in failures_heard() if one[0] == "a" and one[2].startswith(given_up)])
    told = read_topic(cluster.settings.bootstrap, cluster.settings.status_topic)
    history = [json.loads(value or b"{}") for key, value in told if key == "status-task-a-0"]
    assert [(one["state"], one["trace"]) for one in history if (one["trace"] or "").startswith(given_up)] == [
        ("RESTARTING", history[-2]["trace"])
    ]
    stuck.listener.on_state(stuck.id, "FAILED", "from the grave")  # type: ignore[arg-type]
    cluster.ask(lambda herder: herder.ask(lambda: None))
    assert cluster.states("a") == ["RUNNING"] * 3, "what an earlier run says is not heard"


def test_many_exactly_once_tasks_of_one_worker_start(cluster: Cluster) -> None:
    """More of them than the worker has threads to wait in: none of these may be needed for what they wait for."""
    cluster.start()
    cluster.create("a", 9, exactly_once_support="required")
    cluster.create("b", 3, exactly_once_support="required")
    cluster.wait_for_states("a", *["RUNNING"] * 10)
    cluster.wait_for_states("b", *["RUNNING"] * 4)
    assert cluster.records(cluster.settings.config_topic)["tasks-fencing-a"] == b'{"tasks":9}'


def test_a_task_whose_start_hangs_stops_no_other(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(broker.bootstrap, monkeypatch, fake=False, task_shutdown_seconds=0.5)
    cluster.start()
    topic = f"{cluster.name}-numbers"
    cluster.create("a", 2, topic=topic, count="200", hang_in_part="0")
    cluster.create("b", 1, topic=topic, count="200")
    wait_for(lambda: len(cluster.ask(lambda herder: herder.topics("b"))) == 1)
    wait_for(lambda: len(read_topic(broker.bootstrap, topic)) == 400, "what the two others write")
    assert cluster.states("a") == ["RUNNING", "UNASSIGNED", "RUNNING"]
    cluster.ask(lambda herder: herder.delete("a"))
    cluster.wait_for_states("b", "RUNNING", "RUNNING")
    cluster.stop_all()


def test_a_broker_that_goes_away_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    with embedded_broker({"group.min.session.timeout.ms": "500"}) as broker:
        cluster = Cluster(broker.bootstrap, monkeypatch, session_timeout_ms=1500)
        cluster.start()
        cluster.start()
        cluster.create("a", 4)
        cluster.wait_for_states("a", *["RUNNING"] * 5)
        broker.stop()
        # Others may have taken over by now, for all that a worker knows.
        wait_for(lambda: cluster.tasks.running() == {}, "nothing runs on a worker that is cut off")
        broker.start()
        wait_for(lambda: len(cluster.tasks.running()) == 4)
        cluster.create("b", 2)
        cluster.wait_for_states("a", *["RUNNING"] * 5)
        cluster.wait_for_states("b", *["RUNNING"] * 3)
        cluster.stop_all()


def test_a_late_goodbye_of_a_former_owner_is_corrected(cluster: Cluster) -> None:
    herder = cluster.start()
    cluster.create("a", 1)
    cluster.wait_for_states("a", "RUNNING", "RUNNING")
    for id in ("a", TaskId("a", 0)):
        herder.statuses.put(id, Status(State.UNASSIGNED, "former:1", 0))
    herder.statuses.flush()
    assert herder.statuses.refresh(30)
    cluster.wait_for_states("a", "RUNNING", "RUNNING")
    assert cluster.status("a")["tasks"][0]["worker_id"] == herder.worker_id


def test_connectors_are_made_while_workers_come_and_go(cluster: Cluster) -> None:
    cluster.start()
    stop = threading.Event()
    trouble: list[Exception] = []

    def come_and_go() -> None:
        try:
            while not stop.is_set():
                herder = cluster.start()
                stop.wait(0.3)
                cluster.stop(herder.settings.url)
        except Exception as error:
            trouble.append(error)

    thread = threading.Thread(target=come_and_go)
    thread.start()
    names = [f"c{n}" for n in range(8)]
    try:
        first = next(iter(cluster.herders))
        given = {"connector.class": "Numbers", "tasks.max": "1", "parts": "1"}
        for name in names:
            cluster.ask(lambda herder, name=name: herder.create(name, given, None), first)  # type: ignore[misc]
    finally:
        stop.set()
        thread.join()
    assert not trouble
    for name in names:
        cluster.wait_for_states(name, "RUNNING", "RUNNING")
    assert len(cluster.tasks.running()) == len(names)


def test_wrong_requests_are_answered(cluster: Cluster) -> None:
    herder = cluster.start()
    cluster.create("a", 1)
    for call, status, words in (
        (lambda: cluster.create("a", 1), 409, "Connector a already exists"),
        (lambda: herder.info("nobody"), 404, "Connector nobody not found"),
        (lambda: cluster.ask(lambda h: h.delete("nobody")), 404, "Connector nobody not found"),
        (lambda: herder.put_task_configs("a", [], None), 400, "Internal request missing required signature"),
        (lambda: herder.put_task_configs("a", [], "AAAA"), 403, "Internal request contained invalid signature."),
    ):
        with pytest.raises(RestError) as refused:
            call()
        assert (refused.value.status, refused.value.message) == (status, words)
    with pytest.raises(RestError) as refused:
        cluster.create("b", 1, count="many")
    assert refused.value.status == 400
    assert refused.value.message.startswith(
        "Connector configuration is invalid and contains the following 1 error(s):\n"
    )
    assert refused.value.message.endswith(
        "\nYou can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )
    assert cluster.ask(lambda h: h.connectors()) == ["a"]


def test_secrets_are_in_no_topic_and_in_no_trace(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_SECRET", "s3cr3t-value")
    herder = cluster.start()
    cluster.create("a", 1, secret="${env:THE_SECRET}")
    cluster.wait_for_states("a", "RUNNING", "RUNNING")
    assert cluster.tasks.running()[TaskId("a", 0)].spec.task_config["secret"] == "s3cr3t-value"
    cluster.create("b", 1, secret="${env:THE_SECRET}", fail_in_start="it is ${env:THE_SECRET}")
    cluster.wait_for_states("b", "FAILED")
    trace = cluster.status("b")["connector"]["trace"]
    assert "s3cr3t" not in trace
    written = read_topic(herder.settings.bootstrap, herder.settings.config_topic)
    written += read_topic(herder.settings.bootstrap, herder.settings.status_topic)
    assert not [key for key, value in written if value is not None and b"s3cr3t" in value]
    task = json.loads(dict(written)["task-a-0"] or b"")
    assert task["properties"]["secret"] == "${env:THE_SECRET}"


def test_a_former_leader_cannot_write(cluster: Cluster) -> None:
    settings = cluster.settings
    stores = [ConfigStore(settings.librdkafka(), settings.config_topic, "g", lambda *_: None) for _ in range(2)]
    for store in stores:
        store.start()
        store.claim()
    with pytest.raises(Rebalancing):
        stores[0].write([connector_record("a", {"by": "the former"})])
    stores[1].write([connector_record("a", {"by": "the new"})])
    assert stores[0].refresh(30)
    assert stores[0].snapshot.connectors == {"a": {"by": "the new"}}
    for store in stores:
        store.stop()


def test_what_a_dead_leader_had_half_written_is_not_there(cluster: Cluster) -> None:
    herder = cluster.start()
    cluster.create("a", 1)
    cluster.wait_for_states("a", "RUNNING", "RUNNING")
    settings = herder.settings
    cluster.crash(settings.url)
    dying = Producer(
        settings.librdkafka(**{"transactional.id": f"connect-cluster-{settings.group_id}", "linger.ms": 0})
    )
    dying.init_transactions(30)
    dying.begin_transaction()
    dying.produce(settings.config_topic, key="connector-half", value=b'{"properties":{}}', partition=0)
    assert dying.flush(30) == 0
    cluster.start()
    cluster.create("b", 1)  # the open transaction holds up nobody
    cluster.wait_for_states("b", "RUNNING", "RUNNING")
    assert cluster.ask(lambda one: one.connectors()) == ["a", "b"]


def test_a_topic_that_is_not_compacted_is_refused(cluster: Cluster) -> None:
    settings = cluster.settings
    admin = AdminClient(settings.librdkafka())
    for future in admin.create_topics(
        [NewTopic(settings.status_topic, 1), NewTopic("two", 2, config=COMPACT)]
    ).values():
        future.result(30)
    with pytest.raises(ConnectError, match=r"must be compacted.*cleanup.policy is 'delete'"):
        cluster.start()
    store = ConfigStore(settings.librdkafka(), "two", "g", lambda *_: None)
    with pytest.raises(ConnectError, match=r"must have 1 partition.*has 2"):
        store.start()


COMPACT = {"cleanup.policy": "compact"}


def test_the_group_is_one_that_tools_can_read(cluster: Cluster) -> None:
    herder = cluster.start()
    cluster.create("a", 1)
    cluster.wait_for_states("a", "RUNNING", "RUNNING")
    (group,) = AdminClient(herder.settings.librdkafka()).list_groups(cluster.name, timeout=30)
    assert (group.protocol_type, group.protocol, group.state) == ("connect", "sessioned", "Stable")
    (member,) = group.members
    assert decode_metadata(member.metadata).url == herder.settings.url
    assert decode_assignment(member.assignment).leader == member.id
