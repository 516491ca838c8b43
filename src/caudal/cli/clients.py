"""confluent-kafka clients for the commands: checked for reachability first, their errors put into one sentence.

librdkafka waits and retries in silence by design; a person at a prompt must hear within five seconds that nothing
answers. So the bootstrap addresses are tried with a plain connection before librdkafka gets to work, and a request
that fails later is explained (advertised address, authorisation, …).
"""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from caudal.cli import live_values
from caudal.cli.errors import FAILED, NOT_FOUND, CliError, NotFound, UsageError
from caudal.cli.profiles import properties_of
from caudal.cli.similar import no_such

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer
    from confluent_kafka.admin import AdminClient, ClusterMetadata

DEFAULT_BOOTSTRAP = "localhost:9092"
ANSWER_SECONDS = 5.0
REQUEST_SECONDS = 15.0

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        "-b",
        envvar="CAUDAL_BOOTSTRAP",
        metavar="HOST:PORT",
        help="Broker to talk to (or several, with commas).",
    ),
]
ClientProperties = Annotated[
    list[str] | None,
    typer.Option(
        "-X", metavar="PROP=VALUE", help="Any librdkafka property, such as security.protocol=ssl. Repeatable."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TopicName = Annotated[str, typer.Argument(metavar="TOPIC", autocompletion=live_values.topics)]
TopicNames = Annotated[list[str], typer.Argument(metavar="TOPIC...", autocompletion=live_values.topics)]
GroupName = Annotated[str, typer.Argument(metavar="GROUP", autocompletion=live_values.groups)]
GroupNames = Annotated[list[str], typer.Argument(metavar="GROUP...", autocompletion=live_values.groups)]

_ACCESS = "ask for the ACL, or give your credentials with -X"

T = TypeVar("T")


def key_values(items: Sequence[str] | None, flag: str) -> dict[str, str]:
    """['a=1', 'b=2'] → {'a': '1', 'b': '2'}."""
    result = {}
    for item in items or ():
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{flag} takes NAME=VALUE, not '{item}'")
        result[name.strip()] = value
    return result


def client_config(
    bootstrap: str, properties: Sequence[str] | None, defaults: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The librdkafka configuration: our defaults, the cluster's profile, then what the person gave with -X."""
    config: dict[str, Any] = {"client.id": "caudal-cli", "log_level": 0, **(defaults or {}), **properties_of(bootstrap)}
    given = key_values(properties, "-X")
    if "debug" in given:
        config.pop("log_level")
    config.update(given)
    config.setdefault("bootstrap.servers", bootstrap)
    return config


def admin_client(bootstrap: str, properties: Sequence[str] | None = None) -> AdminClient:
    """An admin client of a broker that answers."""
    from confluent_kafka.admin import AdminClient

    config = client_config(bootstrap, properties)
    check_reachable(config["bootstrap.servers"])
    client = _build(AdminClient, config)
    cluster_metadata(client, config["bootstrap.servers"])
    return client


def make_producer(config: dict[str, Any]) -> Producer:
    """A producer; the address was checked before, so that the first record does not wait for minutes."""
    from confluent_kafka import Producer

    check_reachable(config["bootstrap.servers"])
    return _build(Producer, config)


def make_consumer(config: dict[str, Any]) -> Consumer:
    """A consumer of a broker whose address accepts connections."""
    from confluent_kafka import Consumer

    check_reachable(config["bootstrap.servers"])
    return _build(Consumer, config)


def _build(factory: Any, config: dict[str, Any]) -> Any:
    from confluent_kafka import KafkaException

    try:
        return factory(config)
    except KafkaException as error:
        raise UsageError(f"{_sentence(error.args[0].str())}; `-X` takes librdkafka's property names") from None
    except (TypeError, ValueError) as error:
        raise UsageError(_sentence(str(error))) from None


def cluster_metadata(client: Any, bootstrap: str, topic: str | None = None) -> ClusterMetadata:
    """Brokers and topics (all, or one) within five seconds."""
    from confluent_kafka import KafkaException

    try:
        metadata: ClusterMetadata = client.list_topics(topic=topic, timeout=ANSWER_SECONDS)
    except KafkaException as error:
        raise request_failed(error, bootstrap) from None
    return metadata


def check_reachable(bootstrap: str) -> None:
    """Raises at once when no bootstrap address accepts a connection."""
    addresses = [parse_address(part) for part in bootstrap.split(",") if part.strip()]
    if not addresses:
        raise UsageError("--bootstrap takes HOST:PORT")
    deadline = time.monotonic() + ANSWER_SECONDS
    reason = ""
    for host, port in addresses:
        try:
            with socket.create_connection((host, port), max(0.2, (deadline - time.monotonic()) / 2)):
                return
        except socket.gaierror:
            reason = reason or f"'{host}' is not a known host name"
        except ConnectionRefusedError:
            reason = reason or "the connection is refused"
        except TimeoutError:
            reason = reason or "the host does not answer"
        except OSError as error:
            reason = reason or (error.strerror or str(error))
    raise CliError(
        f"no broker at {bootstrap}: {reason}. Start one with `caudal broker`, or give the address with --bootstrap "
        "(or CAUDAL_BOOTSTRAP)"
    )


def parse_address(text: str) -> tuple[str, int]:
    """'host:port', 'host' (9092) or '[::1]:9092'; a security prefix as in PLAINTEXT://host:port is dropped."""
    address = text.strip().rsplit("://", 1)[-1]
    if address.startswith("["):
        host, _, rest = address[1:].partition("]")
        port = rest.removeprefix(":")
    elif address.count(":") > 1:
        host, port = address, ""
    else:
        host, _, port = address.partition(":")
    if not host or not (port == "" or (port.isascii() and port.isdigit() and int(port) < 65536)):
        raise UsageError(f"'{text.strip()}' is not HOST:PORT")
    return host, int(port) if port else 9092


def result_of(future: Future[T], bootstrap: str, doing: str = "") -> T:
    """The result of an admin request, or its failure as a sentence."""
    from confluent_kafka import KafkaException

    try:
        return future.result(REQUEST_SECONDS + 1)
    except KafkaException as error:
        raise request_failed(error, bootstrap, doing) from None
    except TimeoutError:
        raise CliError(
            f"{doing + ': ' if doing else ''}the broker at {bootstrap} did not answer in {REQUEST_SECONDS:.0f} s"
        ) from None


def request_failed(error: Exception, bootstrap: str, doing: str = "") -> CliError:
    """A KafkaException (or KafkaError) as the error of a command."""
    from confluent_kafka import KafkaError

    cause = error.args[0] if error.args and isinstance(error.args[0], KafkaError) else None
    if cause is None:
        return CliError(_sentence(str(error)))
    code = NOT_FOUND if cause.code() in _missing() else FAILED
    return CliError((f"{doing}: " if doing else "") + explain(cause, bootstrap), code)


def _missing() -> set[int]:
    """The errors that say that something does not exist."""
    from confluent_kafka import KafkaError as Code

    return {Code.UNKNOWN_TOPIC_OR_PART, Code._UNKNOWN_TOPIC, Code._UNKNOWN_PARTITION, Code.GROUP_ID_NOT_FOUND}


def no_topic(name: str, client: Any, bootstrap: str) -> NotFound:
    """With the topics that may have been meant."""
    return no_such("topic", name, cluster_metadata(client, bootstrap).topics, "`caudal topic list` shows what exists")


def no_group(name: str, admin: AdminClient, bootstrap: str) -> NotFound:
    """With the groups that may have been meant."""
    listing = result_of(admin.list_consumer_groups(request_timeout=REQUEST_SECONDS), bootstrap)
    known = [str(each.group_id) for each in listing.valid]
    return no_such("group", name, known, "`caudal group list` shows what exists")


def explain(error: KafkaError, bootstrap: str) -> str:
    """What the error means and what to do about it."""
    from confluent_kafka import KafkaError as Code

    transport = {
        Code._TRANSPORT,
        Code._TIMED_OUT,
        Code._ALL_BROKERS_DOWN,
        Code._TIMED_OUT_QUEUE,
        Code._MSG_TIMED_OUT,
        Code._RESOLVE,
    }
    code = error.code()
    if code in transport:
        advice = "check that it is a Kafka broker whose advertised address can be reached from here (`caudal doctor`)"
        return f"the broker at {bootstrap} did not answer in time; {advice}"
    known = {
        Code.UNKNOWN_TOPIC_OR_PART: "there is no such topic or partition; `caudal topic list` shows what exists",
        Code._UNKNOWN_TOPIC: "there is no such topic; `caudal topic list` shows what exists",
        Code._UNKNOWN_PARTITION: "there is no such partition; `caudal topic describe` shows what exists",
        Code.TOPIC_ALREADY_EXISTS: "the topic exists already",
        Code.GROUP_ID_NOT_FOUND: "there is no such group; `caudal group list` shows what exists",
        Code.NON_EMPTY_GROUP: "the group has active members; stop its consumers first",
        Code.UNKNOWN_MEMBER_ID: "the group has active members; stop its consumers first",
        Code.TOPIC_AUTHORIZATION_FAILED: f"you may not do this with the topic; {_ACCESS}",
        Code.GROUP_AUTHORIZATION_FAILED: f"you may not do this with the group; {_ACCESS}",
        Code.CLUSTER_AUTHORIZATION_FAILED: f"you may not do this on the cluster; {_ACCESS}",
        Code._AUTHENTICATION: "the broker refused the credentials; check sasl.username and sasl.password (-X)",
        Code.INVALID_RECORD: "the topic refuses the record (a compacted topic needs a key: -k or -K; one with "
        "confluent.value.schema.validation needs a registered schema: --value avro, for one)",
        Code.MSG_SIZE_TOO_LARGE: "the record is larger than the topic's max.message.bytes",
    }
    return known.get(code) or _sentence(error.str())


class StopRequest:
    """Set by the first Ctrl-C or SIGTERM, for loops that end by themselves: an exception out of nowhere could strike
    inside a client's callback or between showing a record and noting its offset. The second one interrupts."""

    def __init__(self) -> None:
        self.made = False
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: object) -> None:
        if self.made:
            raise KeyboardInterrupt
        self.made = True


def sigterm_is_ctrl_c() -> None:
    """Let SIGTERM end a long command as Ctrl-C does: records are flushed, groups left, transactions aborted."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def _sentence(text: str) -> str:
    return " ".join(text.split()).rstrip(".") or "the request failed without a reason"
