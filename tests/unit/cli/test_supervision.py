"""Which server is started when, and what it is told of the others."""

from __future__ import annotations

from typing import Any, cast

from caudal.cli.supervision import Running, Service, address_of, addresses, filled, metrics_of, reachable, watch


class Ended:
    """A process that has ended with this code."""

    def __init__(self, code: int) -> None:
        self._code = code

    def poll(self) -> int:
        return self._code


def running(service: Service, **facts: str) -> Running:
    return Running(service, cast(Any, None), facts=cast(dict[str, Any], facts))


def test_a_server_waits_for_an_address_that_is_not_known() -> None:
    service = Service("Connect", ["connect", "--registry", address_of("Schema Registry")])
    assert filled(service, {}) is None
    told = filled(service, {address_of("Schema Registry"): "http://127.0.0.1:8081"})
    assert told is not None and told.arguments == ["connect", "--registry", "http://127.0.0.1:8081"]


def test_a_given_port_is_known_at_once_and_a_free_one_when_it_is_ready() -> None:
    given = Service("KSQL", [], "http://127.0.0.1:8088")
    free = running(Service("Connect", []), address="http://0.0.0.0:4711", metrics="http://0.0.0.0:4711/metrics")
    known = addresses([free, running(Service("Broker", []))], [given])
    assert known == {
        address_of("KSQL"): "http://127.0.0.1:8088",
        address_of("Connect"): "http://127.0.0.1:4711",
        metrics_of("Connect"): "http://127.0.0.1:4711/metrics",
    }


def test_an_address_may_stand_within_a_word() -> None:
    demo = Service("Demonstration", [], f"{address_of('Control center')}/demos", is_server=False)
    told = filled(demo, {address_of("Control center"): "http://127.0.0.1:9021"})
    assert told is not None and told.expected == "http://127.0.0.1:9021/demos"


def test_a_server_that_listens_everywhere_is_asked_here() -> None:
    assert reachable("http://[::]:9021/metrics") == "http://127.0.0.1:9021/metrics"
    assert reachable("http://10.0.0.1:9021") == "http://10.0.0.1:9021"


def test_a_demonstration_that_fails_is_said_and_the_platform_goes_on(capsys: Any) -> None:
    demo = Running(Service("Demonstration", [], is_server=False), cast(Any, Ended(3)))
    items = [demo]
    watch(items)
    assert items == []
    assert "the demonstration ended with exit code 3; the platform goes on" in capsys.readouterr().err
