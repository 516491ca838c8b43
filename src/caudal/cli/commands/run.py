"""`caudal run app.py`: runs the Streams application that a file describes, until Ctrl-C.

The file is read as a module that is not `__main__`, and its `StreamsBuilder` is taken; `python app.py` with
`builder.run()` at its end gives the same with the same flags. Functions of the file are sent to Spark's workers by
value, so they need no copy of it.
"""

from __future__ import annotations

import importlib.util
import inspect
import logging
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caudal.cli.clients import DEFAULT_BOOTSTRAP, Bootstrap, ClientProperties, check_reachable, key_values
from caudal.cli.errors import CliError, UsageError
from caudal.cli.progress import Tracker, TrackerHandler
from caudal.cli.registry_access import Registry

if TYPE_CHECKING:
    from caudal.plan.topology import Topology
    from caudal.streams import StreamsBuilder
    from caudal.streams.application import Application

Master = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="Spark master (default: this machine's cores).")
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, metavar="N", help="At most so many tasks at a time.")]
PyFiles = Annotated[
    str | None, typer.Option("--py-files", metavar="A.PY,B.ZIP", help="Modules and archives to send to the workers.")
]
SparkConf = Annotated[
    list[str] | None, typer.Option("--spark-conf", metavar="NAME=VALUE", help="A property of Spark; may be repeated.")
]
ModeFlag = Annotated[str, typer.Option("--mode", metavar="MODE", help="micro-batch or real-time.")]
GuaranteeFlag = Annotated[
    str, typer.Option("--guarantee", metavar="WHICH", help="exactly_once, at_least_once or at_most_once.")
]
LaneFlag = Annotated[str, typer.Option("--lane", metavar="LANE", help="auto, task or native (Spark SQL only).")]
Http = Annotated[
    str | None,
    typer.Option("--http", metavar="[HOST:]PORT", help="Answer queries of the stores over HTTP (host: 127.0.0.1)."),
]
StateDir = Annotated[
    Path | None, typer.Option("--state-dir", help="Folder for local state (a cache of the changelogs).")
]
OnBadRecord = Annotated[
    str,
    typer.Option("--on-bad-record", metavar="WHAT", help="A record that does not parse: fail, skip or dead-letter."),
]
OnProcessingError = Annotated[
    str,
    typer.Option("--on-processing-error", metavar="WHAT", help="A function that raises: fail, skip or dead-letter."),
]
OnProduceError = Annotated[
    str, typer.Option("--on-produce-error", metavar="WHAT", help="A record that is refused: fail, skip or dead-letter.")
]
DeadLetters = Annotated[str | None, typer.Option("--dead-letter-topic", metavar="TOPIC", help="Where dead letters go.")]
MaxRecords = Annotated[int, typer.Option("--max-records-per-batch", min=1, metavar="N", help="Back-pressure.")]
CommitInterval = Annotated[
    int | None,
    typer.Option("--commit-interval", min=1, metavar="MS", help="How often real-time mode commits (100)."),
]
DeadlineFlag = Annotated[
    str | None,
    typer.Option("--deadline", metavar="CLASS TIME", help="'near 2 s', 'soft 200 ms' or 'hard 50 ms'."),
]
LateTopic = Annotated[
    str | None, typer.Option("--late-topic", metavar="TOPIC", help="Where records go that miss a hard deadline.")
]
MetricsTopic = Annotated[
    str | None, typer.Option("--metrics-topic", metavar="TOPIC", help="Write the metrics there every 10 seconds.")
]
MetricsPort = Annotated[
    int | None, typer.Option("--metrics-port", min=0, max=65535, metavar="PORT", help="Serve /metrics on 127.0.0.1.")
]
Batch = Annotated[
    bool, typer.Option("--batch", help="Run over what is in the topics now, as Spark batch, and say what came out.")
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="WHERE", help="With --batch: earliest, a time, or TOPIC:PARTITION=OFFSET,…"),
]
To = Annotated[str | None, typer.Option("--to", metavar="WHERE", help="With --batch: latest, a time, or offsets.")]
Write = Annotated[bool, typer.Option("--write", help="With --batch: write the output topics to Kafka.")]
Describe = Annotated[bool, typer.Option("--describe", help="Print the topology and leave.")]
Quiet = Annotated[bool, typer.Option("-q", help="No remarks on stderr.")]


def register(app: typer.Typer) -> None:
    app.command("run")(run)


def run(
    file: Annotated[Path, typer.Argument(metavar="APP.PY")],
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    registry: Registry = None,
    master: Master = None,
    py_files: PyFiles = None,
    spark_conf: SparkConf = None,
    threads: Threads = None,
    mode: ModeFlag = "micro-batch",
    guarantee: GuaranteeFlag = "exactly_once",
    lane: LaneFlag = "auto",
    http: Http = None,
    state_dir: StateDir = None,
    on_bad_record: OnBadRecord = "fail",
    on_processing_error: OnProcessingError = "fail",
    on_produce_error: OnProduceError = "fail",
    dead_letter_topic: DeadLetters = None,
    max_records_per_batch: MaxRecords = 500_000,
    commit_interval: CommitInterval = None,
    deadline: DeadlineFlag = None,
    late_topic: LateTopic = None,
    metrics_topic: MetricsTopic = None,
    metrics_port: MetricsPort = None,
    properties: ClientProperties = None,
    batch: Batch = False,
    starting: From = None,
    ending: To = None,
    write: Write = False,
    describe: Describe = False,
    quiet: Quiet = False,
) -> None:
    """Run a Streams application."""
    given = dict(locals())
    _run(load_builder(given.pop("file")), **given)


def run_with_flags(builder: StreamsBuilder, arguments: list[str]) -> None:
    """`python app.py --bootstrap …`: the flags of `caudal run` without the file."""
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False)

    def run_it(**given: Any) -> None:
        """Run this Streams application."""
        _run(builder, **given)

    signature = inspect.signature(run, eval_str=True)
    options = [option for name, option in signature.parameters.items() if name != "file"]
    vars(run_it)["__signature__"] = signature.replace(parameters=options)
    run_it.__annotations__ = {option.name: option.annotation for option in options}
    app.command()(run_it)
    try:
        app(args=arguments, prog_name=Path(sys.argv[0]).name)
    except CliError as error:
        print(f"{Path(sys.argv[0]).name}: {error.message}", file=sys.stderr)
        sys.exit(error.exit_code)


def load_builder(file: Path) -> StreamsBuilder:
    """The StreamsBuilder of a file; exactly one."""
    from caudal.streams import StreamsBuilder, application

    if not file.is_file():
        raise UsageError(f"there is no file {file}")
    name = "caudal_app_" + "".join(letter if letter.isalnum() else "_" for letter in file.stem)
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.resolve().parent))
    application._reading_file.active = True
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise CliError(f"{file}{_line_of(file, error)}: {_cause(error)}") from error
    finally:
        application._reading_file.active = False
        # Workers cannot import it by this name: unknown here, its functions and classes travel by value.
        del sys.modules[name]
    found = {id(value): value for value in vars(module).values() if isinstance(value, StreamsBuilder)}
    if len(found) != 1:
        what = "no StreamsBuilder" if not found else f"{len(found)} StreamsBuilders"
        raise UsageError(f"{file} has {what} at its top level; it needs exactly one")
    return next(iter(found.values()))


def _line_of(file: Path, error: Exception) -> str:
    """The last line of the file that was under way; a SyntaxError says it itself."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return f", line {lines[-1]}" if lines else ""


def _cause(error: Exception) -> str:
    from caudal.plan.errors import PlanError

    text = str(error) if isinstance(error, PlanError) else f"{type(error).__name__}: {error}"
    return text.rstrip(".")


def _run(
    builder: StreamsBuilder,
    *,
    bootstrap: str,
    mode: str,
    http: str | None,
    state_dir: Path | None,
    metrics_port: int | None,
    properties: list[str] | None,
    describe: bool,
    quiet: bool,
    py_files: str | None = None,
    spark_conf: list[str] | None = None,
    batch: bool = False,
    starting: str | None = None,
    ending: str | None = None,
    write: bool = False,
    **settings: Any,
) -> None:
    from caudal.plan.errors import PlanError
    from caudal.runtime.errors import StreamsError

    try:
        topology = builder.build()
    except PlanError as error:
        raise CliError(str(error).rstrip(".")) from None
    if describe:
        print(topology.describe(), end="")
        print(_lane(topology, **settings))
        return
    if not batch and (write or starting is not None or ending is not None):
        raise UsageError("--from, --to and --write go with --batch")
    address = _address(http) if http is not None else None
    from confluent_kafka import KafkaException

    from caudal.streams.application import Application, run_until_stopped

    client = key_values(properties, "-X")
    try:
        application = Application(
            topology,
            bootstrap=bootstrap,
            mode=mode,
            state_dir=str(state_dir) if state_dir else None,
            client=client,
            py_files=[name for name in (py_files or "").split(",") if name],
            spark_config=key_values(spark_conf, "--spark-conf"),
            **settings,
        )
    except KafkaException as error:
        raise UsageError(f"{error.args[0].str().rstrip('.')}; `-X` takes librdkafka's property names") from None
    except (StreamsError, ValueError) as error:
        raise UsageError(str(error).rstrip(".")) from None
    check_reachable(client.get("bootstrap.servers", bootstrap))
    from caudal.cli.run_progress import fetch_jars, watched

    with Tracker(topology.application_id, quiet=quiet) as tracker:
        _say_what_happens(quiet, tracker)
        fetch_jars(tracker)
        if batch:
            _run_batch(application, starting, ending, write, tracker)
            return
        try:
            if metrics_port is not None:
                from caudal.runtime.spark.metrics_page import serve_metrics

                port = serve_metrics(application, metrics_port)
                logging.getLogger("caudal.streams").info("metrics at http://127.0.0.1:%d/metrics", port)
            if address is not None:
                _serve_queries(application, *address)
            with watched(application, tracker):
                run_until_stopped(application)
        except (StreamsError, ValueError) as error:
            raise CliError(str(error).rstrip(".")) from None


def _address(text: str) -> tuple[str, int]:
    """HOST:PORT or PORT."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"--http takes a port or HOST:PORT, not '{text}'")
    return host.strip("[]") or "127.0.0.1", int(port)


def _serve_queries(application: Application, host: str, port: int) -> None:
    """The stores of the application over HTTP, until the process ends."""
    from caudal.cli.ports import port_holder
    from caudal.views.http_server import ViewServer

    server = ViewServer(application.views, host, port)
    try:
        server.start()
    except OSError as error:
        holder = port_holder(port)
        why = f"{holder} listens there; choose another port" if holder else error.strerror or error
        raise CliError(f"--http cannot listen on {host}:{port}: {why}") from None
    logging.getLogger("caudal.streams").info("queries at %s/stores", server.address)


def _run_batch(
    application: Application, starting: str | None, ending: str | None, write: bool, tracker: Tracker
) -> None:
    """Prints what came out."""
    from caudal.cli.run_progress import ticking
    from caudal.runtime.batch.bounds import parse
    from caudal.runtime.errors import StreamsError

    try:
        first, end = parse(starting or "earliest"), parse(ending or "latest")
        tracker.step(f"'{application.application_id}': running as a Spark batch", unit="")
        with ticking(tracker):
            result = application.run_batch(starting=first, ending=end)
        with result:
            tracker.close()
            print(result.summary())
            for topic, count in result.write().items() if write else ():
                print(f"written  {topic}: {count}")
    except StreamsError as error:
        raise CliError(str(error).rstrip(".")) from None


def _lane(topology: Topology, *, lane: str, guarantee: str, **settings: Any) -> str:
    """The line under the description; what the cluster must be asked for stays open."""
    from caudal.plan.errors import PlanError
    from caudal.plan.lane import Circumstances, Lane, decide

    handlers = (
        settings[name].replace("-", " ") for name in ("on_bad_record", "on_processing_error", "on_produce_error")
    )
    try:
        return str(decide(topology, Lane(lane), Circumstances(guarantee, *handlers)))
    except ValueError as error:  # PlanError, or no lane of that name
        known = ", ".join(one.value for one in Lane)
        raise UsageError(str(error).rstrip(".") if isinstance(error, PlanError) else f"--lane takes {known}") from None


def _say_what_happens(quiet: bool, tracker: Tracker) -> None:
    logger = logging.getLogger("caudal.streams")
    handler = TrackerHandler(tracker)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    logger.addHandler(handler)
    logger.setLevel(logging.CRITICAL if quiet else logging.INFO)
    logger.propagate = False
