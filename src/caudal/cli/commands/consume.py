"""`caudal consume TOPIC...`: topics to stdout, with kcat's habits.

What to read is `cli/reading.py`, how it looks is `cli/record_format.py`.
"""

from __future__ import annotations

import sys
import uuid
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caudal.cli import live_values
from caudal.cli.clients import (
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    ClientProperties,
    StopRequest,
    TopicNames,
    client_config,
)
from caudal.cli.errors import UsageError
from caudal.cli.offset_spec import STORED, parse_offsets
from caudal.cli.progress import Tracker
from caudal.cli.record_format import (
    NULL_TEXT,
    Writer,
    decoded_fields,
    decoded_line,
    format_writer,
    json_writer,
    plain_writer,
    row_of,
    unescape,
    with_schemas,
)
from caudal.cli.registry_access import Registry
from caudal.cli.schemas import AUTO, RAW, Decoder

if TYPE_CHECKING:
    from caudal.cli.reading import Reading


def register(app: typer.Typer) -> None:
    app.command("consume")(consume)


def consume(
    topics: TopicNames,
    offsets: Annotated[
        list[str] | None,
        typer.Option(
            "-o",
            metavar="WHERE",
            help="Start: beginning (default), end, stored, N, -N (last N), s@TIME. End: e@TIME, not included. "
            "TIME: epoch ms, ISO 8601, now, -10m. Give -o twice for both.",
        ),
    ] = None,
    exit_at_end: Annotated[bool, typer.Option("-e", help="Leave when the end of every partition is reached.")] = False,
    count: Annotated[int | None, typer.Option("-c", min=1, metavar="N", help="Leave after so many records.")] = None,
    partitions: Annotated[
        list[int] | None, typer.Option("-p", min=0, metavar="N", help="Only this partition. Repeatable.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "-G",
            metavar="GROUP",
            help="Read as a member of this group and commit.",
            autocompletion=live_values.groups,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("-J", "--json", help="A JSON object per record.")] = False,
    template: Annotated[
        str | None,
        typer.Option(
            "-f",
            metavar="FORMAT",
            help="%s value, %k key, %t topic, %p partition, %o offset, %T time, %h headers, %S %K sizes.",
        ),
    ] = None,
    key_delimiter: Annotated[
        str | None, typer.Option("-K", metavar="DELIM", help="Print the key too, and this behind it.")
    ] = None,
    delimiter: Annotated[str, typer.Option("-D", metavar="DELIM", help="What ends a record on output.")] = r"\n",
    show_offset: Annotated[bool, typer.Option("-O", help="Print the offset too, in front.")] = False,
    null_text: Annotated[
        bool, typer.Option("-Z", help="Print NULL for a null value or key instead of nothing.")
    ] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Do not decode internal topics, nor by schemas.")] = False,
    key_format: Annotated[str, typer.Option("--key", metavar="FORMAT", help="As --value, for keys.")] = AUTO,
    value_format: Annotated[
        str,
        typer.Option(
            "--value",
            metavar="FORMAT",
            help="auto decodes values that carry a schema's id; raw does not; avro, json-schema, protobuf must be it.",
        ),
    ] = AUTO,
    registry: Registry = None,
    quiet: Annotated[bool, typer.Option("-q", help="No remarks on stderr.")] = False,
    unbuffered: Annotated[bool, typer.Option("-u", help="Flush after every record.")] = False,
    queue: Annotated[
        str | None, typer.Option("--queue", metavar="GROUP", help="(comes with share groups) Consume as a queue.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: ClientProperties = None,
) -> None:
    """Print the records of topics."""
    if queue is not None:
        raise UsageError(
            "--queue comes with share groups, which this broker does not serve yet; -G reads as a consumer group"
        )
    spec = parse_offsets(offsets)
    if spec.place == STORED and group is None:
        raise UsageError("-o stored needs the group whose offsets are meant: add -G GROUP")
    if group is not None and partitions:
        raise UsageError("-p and -G exclude each other: in a group the partitions are shared out by the group")
    if len(set(topics)) != len(topics):
        raise UsageError("a topic was given twice")
    schemas = Decoder(registry, RAW if raw else key_format, RAW if raw else value_format, quiet)
    write = _writer(as_json, template, key_delimiter, delimiter, show_offset, null_text, raw, schemas)

    from caudal.cli.reading import Reading

    stop = StopRequest()
    config = client_config(bootstrap, properties, _defaults(group))
    reading = Reading(
        config, topics, sorted(set(partitions or ())), spec, group=group, stop_at_end=exit_at_end, quiet=quiet
    )
    # Records on the screen show the progress themselves.
    unseen = quiet or sys.stdout.isatty() or not (reading.is_bounded or count is not None)
    try:
        with Tracker(", ".join(topics), count, quiet=unseen) as tracker:
            _print_records(reading, write, count, unbuffered, stop, tracker)
    finally:
        reading.close()


def _defaults(group: str | None) -> dict[str, Any]:
    return {
        # librdkafka wants a group id even where none is used; a name of its own disturbs nobody.
        "group.id": group or f"caudal-consume-{uuid.uuid4().hex[:12]}",
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
        "enable.auto.commit": group is not None,
        # Only what was printed may be committed; Reading.shown stores it.
        "enable.auto.offset.store": False,
        "fetch.wait.max.ms": 250,
        "topic.metadata.refresh.interval.ms": 30_000,
    }


def _print_records(
    reading: Reading, write: Writer, count: int | None, unbuffered: bool, stop: StopRequest, tracker: Tracker
) -> None:
    out = sys.stdout.buffer
    printed = 0
    for batch in reading:
        for message in batch:
            out.write(write(row_of(message)))
            if unbuffered:
                out.flush()
            reading.shown(message)
            printed += 1
            if printed == count:
                out.flush()
                return
        if batch:
            out.flush()
            if count is not None:
                tracker.update(printed)
            elif reading.is_bounded:
                done, total = reading.amount()
                tracker.update(done, total=total)
        if stop.made:  # how a reading without an end is ended: no failure
            return


def _writer(
    as_json: bool,
    template: str | None,
    key_delimiter: str | None,
    delimiter: str,
    show_offset: bool,
    null_text: bool,
    raw: bool,
    schemas: Decoder,
) -> Writer:
    if as_json and template is not None:
        raise UsageError("-J and -f exclude each other")
    null = NULL_TEXT if null_text else b""
    if as_json:
        return json_writer(decode=not raw, schemas=schemas if schemas.decodes else None)
    if template is not None:
        writer = format_writer(template, null)
        return writer if raw else decoded_fields(with_schemas(writer, schemas) if schemas.decodes else writer)
    split = None if key_delimiter is None else unescape(key_delimiter)
    writer = plain_writer(split, unescape(delimiter), show_offset, null)
    if raw:
        return writer
    if schemas.decodes:
        # Without -K the key is not shown, so it need not be decoded.
        writer = with_schemas(writer, schemas.without_keys() if split is None else schemas)
    return decoded_line(writer) if split is None else decoded_fields(writer)
