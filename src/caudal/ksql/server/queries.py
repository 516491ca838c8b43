"""Queries over HTTP: POST /query (HTTP/1.1's old way), POST /query-stream, POST /close-query, and the websocket.

A push query is closed when its client goes away; a pull query ends by itself. Rows that a table takes back are sent
where the media type has a way to say so (/query with v2).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from caudal.ksql.engine.entities import type_info
from caudal.ksql.errors import KsqlError
from caudal.ksql.formats.rows_json import row_to_json
from caudal.ksql.schema import Place, Schema
from caudal.ksql.server.answers import (
    BAD_REQUEST,
    DELIMITED,
    JSON,
    PROTOBUF,
    V1,
    V2,
    Refused,
    as_array,
    as_lines,
    body_of,
    error_body,
    json_response,
    media_type_of,
    parsed,
    settings_of,
    text_of,
)
from caudal.ksql.server.asking import Asking
from caudal.ksql.server.protobuf_rows import ProtobufRows
from caudal.ksql.server.rows import Rows, open_rows
from caudal.ksql.types import quoted

log = logging.getLogger("caudal.ksql.server")

PLAIN = "text/plain"
LIMIT_REACHED = "Limit Reached"
COMPLETED = "Query Completed"
BAD_DATA, TRY_AGAIN_LATER = 1003, 1011  # of closing websockets


class Queries:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    # -- POST /query ---------------------------------------------------------------------------------------------------

    async def query(self, request: Request) -> Response:
        media_type = media_type_of(request, JSON, V1, V2)
        body = await body_of(request)
        rows = await self._open(body)
        if rows.lines is not None:
            return StreamingResponse(self._printed(rows), media_type=PLAIN)
        return await _response(rows, self._old(rows, with_keys=media_type == V2), media_type)

    async def _old(self, rows: Rows, with_keys: bool) -> AsyncIterator[bytes]:
        """An array that grows: a header, rows, a last message."""
        try:
            keys = [at for at, column in enumerate(rows.schema) if column.place is Place.KEY]
            show_keys = with_keys and bool(keys)
            header: dict[str, Any] = {"queryId": rows.query_id or "none", "schema": _text(rows.schema)}
            if show_keys:
                header["key"] = _text(Schema(tuple(rows.schema.columns[at] for at in keys)))
            yield b"[" + orjson.dumps({"header": header})
            written = row_to_json(column.type for column in rows.schema)
            async for portion in self._portions(rows):
                chunk = []
                for row, is_tombstone in portion:
                    values = written(row)
                    shown: dict[str, Any] = {} if is_tombstone else {"columns": values}
                    if show_keys:
                        shown = {"key": [values[at] for at in keys], **shown}
                    if is_tombstone:
                        if not show_keys:
                            continue
                        shown["tombstone"] = True
                    chunk.append(b",\n" + orjson.dumps({"row": shown}))
                yield b"".join(chunk)
            final = LIMIT_REACHED if rows.has_limit else COMPLETED
            yield b",\n" + orjson.dumps({"finalMessage": final}) + b"]\n"
        except KsqlError as error:
            yield b",\n" + orjson.dumps({"errorMessage": error_body(error)}) + b"]\n"
        finally:
            rows.close()

    async def _printed(self, rows: Rows) -> AsyncIterator[bytes]:
        """PRINT: lines of text until the client goes away or the limit is reached."""
        try:
            assert rows.lines is not None
            while True:
                line = await self._asking.waiting(rows.lines)
                if line is None:
                    return
                if line:
                    yield f"{line}\n".encode()
        finally:
            rows.close()

    # -- POST /query-stream --------------------------------------------------------------------------------------------

    async def query_stream(self, request: Request) -> Response:
        media_type = media_type_of(request, DELIMITED, JSON, PROTOBUF, V1, V2)
        body = await body_of(request)
        rows = await self._open(body)
        if rows.lines is not None:
            rows.close()
            raise Refused(400, BAD_REQUEST, "PRINT is answered by /query: it is text, and not rows.")
        if media_type == PROTOBUF:
            return await _response(rows, as_array(self._protobuf(rows)), media_type)
        items = self._new(rows)
        lines = as_array(items) if media_type != DELIMITED else as_lines(items)
        return await _response(rows, lines, media_type)

    async def _new(self, rows: Rows) -> AsyncIterator[bytes]:
        """A header and rows; an error is the last of them."""
        try:
            header: dict[str, Any] = {} if rows.query_id is None else {"queryId": rows.query_id}
            header["columnNames"] = rows.schema.names()
            header["columnTypes"] = [str(column.type) for column in rows.schema]
            yield orjson.dumps(header)
            written = row_to_json(column.type for column in rows.schema)
            async for portion in self._portions(rows):
                for row, is_tombstone in portion:
                    if not is_tombstone:
                        yield orjson.dumps(written(row))
        except KsqlError as error:
            yield orjson.dumps(error_body(error))
        finally:
            rows.close()

    async def _protobuf(self, rows: Rows) -> AsyncIterator[bytes]:
        """The same with each row as the bytes of a message, whose .proto text is in the header."""
        try:
            message = ProtobufRows(rows.schema)
            header: dict[str, Any] = {} if rows.query_id is None else {"queryId": rows.query_id}
            yield orjson.dumps({"header": {**header, "protoSchema": message.proto}})
            async for portion in self._portions(rows):
                for row, is_tombstone in portion:
                    if not is_tombstone:
                        yield orjson.dumps({"row": {"protobufBytes": message.text_of(row)}})
            yield orjson.dumps({"finalMessage": LIMIT_REACHED if rows.has_limit else COMPLETED})
        except KsqlError as error:
            yield orjson.dumps(error_body(error))
        finally:
            rows.close()

    async def close_query(self, request: Request) -> Response:
        query_id = text_of(await body_of(request), "queryId")
        found = self._asking.engine.push_queries.get(query_id)
        if found is None:
            raise Refused(400, BAD_REQUEST, f"No query with id {query_id}")
        await self._asking.blocking(found.close)
        return json_response({})

    # -- the websocket -------------------------------------------------------------------------------------------------

    async def websocket(self, socket: WebSocket) -> None:
        """`?request={"ksql": "SELECT …", "streamsProperties": {…}}`; the schema is the first message, rows follow."""
        await socket.accept()
        rows: Rows | None = None
        try:
            rows = await self._open(parsed(socket.query_params.get("request", "").encode()))
            if rows.lines is not None:
                raise Refused(400, BAD_REQUEST, "PRINT is answered by /query.")
            described = [{"name": column.name, "schema": type_info(column.type)} for column in rows.schema]
            await socket.send_text(orjson.dumps(described).decode())
            written = row_to_json(column.type for column in rows.schema)
            async for portion in self._portions(rows):
                for row, is_tombstone in portion:
                    if not is_tombstone:
                        await socket.send_text(orjson.dumps({"row": {"columns": written(row)}}).decode())
            await socket.send_text(orjson.dumps({"finalMessage": COMPLETED}).decode())
            await socket.close(reason="done")
        except WebSocketDisconnect:
            pass
        except Exception as error:
            body = error_body(error)
            await socket.send_text(orjson.dumps({"error": {**body, "errorMessage": body["message"]}}).decode())
            # A reason has at most 123 bytes.
            reason = str(body["message"]).encode()[:120].decode(errors="ignore")
            await socket.close(BAD_DATA if isinstance(error, KsqlError | Refused) else TRY_AGAIN_LATER, reason)
        finally:
            if rows is not None:
                rows.close()

    # -- rows ----------------------------------------------------------------------------------------------------------

    async def _open(self, body: dict[str, Any]) -> Rows:
        return await self._asking.waiting(
            open_rows,
            self._asking.engine,
            text_of(body, "sql", "ksql"),
            settings_of(body, "properties", "streamsProperties"),
            settings_of(body, "sessionVariables"),
        )

    async def _portions(self, rows: Rows) -> AsyncIterator[list[tuple[Any, bool]]]:
        while True:
            portion = rows.next() if rows.is_at_hand else await self._asking.waiting(rows.next)
            if portion is None:
                return
            if portion:
                yield portion


async def _response(rows: Rows, chunks: AsyncIterator[bytes], media_type: str) -> Response:
    """What is at hand in one piece: each piece of a stream costs as much as the whole answer."""
    if rows.is_at_hand:
        return Response(b"".join([chunk async for chunk in chunks]), media_type=media_type)
    return StreamingResponse(chunks, media_type=media_type)


def _text(schema: Schema) -> str:
    """As the header of /query has it: names always quoted."""
    return ", ".join(f"`{quoted(column.name).strip('`')}` {column.type}" for column in schema)
