"""HttpSource: polls a URL whose answer is JSON, item by item, page by page.

How it goes on is `offset.mode`: FIELD puts a field of the last item into the next request, CURSOR a value of the
answer, NEXT_LINK follows the answer's link (or its Link header), INCREMENT counts pages, NONE reads the same list
again. The offset of a record says the page and how many of its items were taken; pages that change in between, and
lists that are read again, are where items could come twice: `id.pointer` leaves those out whose id was among the last
ones.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpx
import orjson

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def, not_empty
from caudal.connect.connector import SourceConnector, SourceTask
from caudal.connect.connectors.http.calling import (
    Caller,
    Patience,
    TryAgain,
    calling_keys,
    check_calling,
    without_secrets,
)
from caudal.connect.connectors.http.json_pointer import MISSING, at_pointer, valid_pointer
from caudal.connect.data import STRING
from caudal.connect.errors import ConnectError, DataError
from caudal.connect.records import SourceRecord

_MODES = ("NONE", "FIELD", "CURSOR", "NEXT_LINK", "INCREMENT")


class HttpSourceTask(SourceTask):
    def start(self, config: dict[str, Any]) -> None:
        self._config = config
        self._mode = config["offset.mode"]
        self._caller = Caller(config)
        self._patience = Patience(config)
        self._shown = without_secrets(config["url"])
        self._partition = {"url": self._shown}
        stored = self.context.offsets.offset(self._partition) or {}
        self._offset: Any = stored.get("offset", self._initial())
        self._taken = int(stored.get("taken", 0))  # items of the page at `_offset` that are done
        self._seen: dict[str, None] = dict.fromkeys(stored.get("seen", []))  # ids, the oldest first
        self._due = 0.0

    def poll(self) -> Sequence[SourceRecord] | None:
        wait = self._due - time.monotonic()
        if wait > 0:
            self.context.stopping.wait(min(wait, 1.0))
            return None
        try:
            answer = self._request()
        except TryAgain as error:
            self._due = time.monotonic() + self._patience.after(error)
            return None
        self._patience.reset()
        body, items = self._items(answer)
        following = self._following(answer, body, items)
        records = self._records(items, following)
        if following is None or following == self._offset or not items:
            self._due = time.monotonic() + self._config["poll.interval.ms"] / 1000
        if following is not None and following != self._offset:
            self._offset, self._taken = following, 0
        elif self._mode not in ("NONE", "FIELD"):
            self._taken = len(items)  # the last page so far: later polls take what is added to it
        return records or None

    def stop(self) -> None:
        if (caller := getattr(self, "_caller", None)) is not None:
            caller.close()

    def _initial(self) -> Any:
        given = self._config["offset.initial"]
        if self._mode == "INCREMENT":
            return int(given or 0)
        return None if self._mode == "NEXT_LINK" else given

    def _request(self) -> httpx.Response:
        config = self._config
        if self._mode == "NEXT_LINK" and self._offset:
            url = str(self._offset)
        else:
            url = _filled(config["url"], self._offset)
            if config["request.parameters"]:
                parameters = _filled(config["request.parameters"], self._offset)
                url += ("&" if urlsplit(url).query else "?") + parameters
        body = _filled(config["request.body"], self._offset, in_url=False).encode() or None
        return self._caller.request(config["request.method"], url, body, "application/json" if body else None)

    def _items(self, answer: httpx.Response) -> tuple[Any, list[Any]]:
        if answer.status_code == 204 or not answer.content:
            return None, []
        try:
            body = orjson.loads(answer.content)
        except ValueError as error:
            raise ConnectError(f"{self._shown} does not answer with JSON: {error}.") from None
        items = at_pointer(body, self._config["items.pointer"])
        if items is MISSING or items is None:
            return body, []
        return body, items if isinstance(items, list) else [items]

    def _following(self, answer: httpx.Response, body: Any, items: list[Any]) -> Any:
        """The offset of the next page; None when this was the last."""
        pointer = self._config["offset.pointer"]
        match self._mode:
            case "FIELD":
                found = [self._field(item) for item in items]
                return found[-1] if found else None
            case "CURSOR":
                cursor = at_pointer(body, pointer)
                return None if cursor is MISSING or cursor in (None, "") else cursor
            case "NEXT_LINK":
                link = at_pointer(body, pointer) if pointer else answer.links.get("next", {}).get("url")
                return None if link is MISSING or not link else self._same_host(str(link))
            case "INCREMENT":
                return self._offset + 1 if items else None
        return None

    def _field(self, item: Any) -> Any:
        value = at_pointer(item, self._config["offset.pointer"])
        if value is MISSING or isinstance(value, (dict, list)) or value is None:
            raise ConnectError(f"offset.pointer: an item has no plain value at {self._config['offset.pointer']}.")
        return value

    def _same_host(self, link: str) -> str:
        base = self._config["url"]
        url = urljoin(_filled(base, ""), link)
        if urlsplit(url)[:2] != urlsplit(base)[:2]:
            raise ConnectError(f"The link to the next page leads to another server, {urlsplit(url).netloc}.")
        return url

    def _records(self, items: list[Any], following: Any) -> list[SourceRecord]:
        config, records = self._config, list[SourceRecord]()
        id_pointer = config["id.pointer"]
        for number, item in enumerate(items[self._taken :] if self._mode not in ("NONE", "FIELD") else items):
            key = None
            if id_pointer:
                found = at_pointer(item, id_pointer)
                if found is MISSING or found is None:
                    self.context.report_error(None, DataError(f"An item has no id at {id_pointer}."))
                    continue
                key = found if isinstance(found, str) else orjson.dumps(found).decode()
                if key in self._seen:
                    continue
                self._seen[key] = None
                if len(self._seen) > config["id.remembered"]:
                    del self._seen[next(iter(self._seen))]
            offset = self._offset_after(item, self._taken + number + 1)
            records.append(
                SourceRecord(self._partition, offset, config["topic"], item, None, key, None if key is None else STRING)
            )
        if records:
            last = dict(records[-1].offset)
            if following is not None and following != self._offset:
                last = {"offset": following, "taken": 0}
            elif self._mode not in ("NONE", "FIELD"):
                last["taken"] = len(items)
            records[-1].offset = {**last, "seen": list(self._seen)} if id_pointer else last
        return records

    def _offset_after(self, item: Any, taken: int) -> dict[str, Any]:
        if self._mode == "FIELD":
            return {"offset": self._field(item), "taken": 0}
        return {"offset": self._offset, "taken": 0 if self._mode == "NONE" else taken}


class HttpSource(SourceConnector):
    """The items of a JSON API, polled."""

    task = HttpSourceTask
    aliases = ("io.confluent.connect.http.HttpSourceConnector",)

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="topic", importance=Importance.HIGH, validator=not_empty, doc="The topic to write to."),
            Key(name="url", importance=Importance.HIGH, validator=not_empty, doc="What to ask, with ${offset}."),
            Key(name="request.method", default="GET", choices=("GET", "POST"), doc="How to ask."),
            Key(name="request.parameters", default="", doc="Behind the URL's ?, such as since=${offset}&limit=100."),
            Key(name="request.body", default="", doc="Of POST: JSON, with ${offset}."),
            Key(name="items.pointer", default="", validator=valid_pointer,
                doc="Where the answer has its items, as a JSON pointer (/data/items); empty is all of it."),
            Key(name="offset.mode", default="NONE", choices=_MODES, importance=Importance.HIGH,
                doc="How the next request goes on: NONE, FIELD, CURSOR, NEXT_LINK or INCREMENT."),
            Key(name="offset.pointer", default="", validator=valid_pointer,
                doc="FIELD: within an item; CURSOR and NEXT_LINK: within the answer."),
            Key(name="offset.initial", default="", doc="What ${offset} is at the very beginning."),
            Key(name="id.pointer", default="", validator=valid_pointer,
                doc="Within an item: its id. It becomes the key, and items whose id came lately are left out."),
            Key(name="id.remembered", type=Type.INT, default=1000, minimum=1, doc="How many ids are remembered."),
            Key(name="poll.interval.ms", type=Type.LONG, default=60_000, minimum=1, importance=Importance.HIGH,
                doc="Between requests when there are no more pages."),
            calling_keys(),
        )  # fmt: skip

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        errors = check_calling(config, "url")
        mode = config["offset.mode"]
        if mode in ("FIELD", "CURSOR") and not config["offset.pointer"]:
            errors["offset.pointer"] = [f"offset.pointer: offset.mode={mode} needs it."]
        asked = config["url"] + config["request.parameters"] + config["request.body"]
        if mode in ("FIELD", "CURSOR", "INCREMENT") and "${offset}" not in asked:
            errors["url"] = [f"url: offset.mode={mode} needs ${{offset}} in url, request.parameters or request.body."]
        if mode == "INCREMENT" and not re.fullmatch("[0-9]*", config["offset.initial"]):
            errors["offset.initial"] = ["offset.initial: INCREMENT counts from a number."]
        return errors

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [dict(self.context.config)]


def _filled(template: str, offset: Any, in_url: bool = True) -> str:
    text = "" if offset is None else offset if isinstance(offset, str) else orjson.dumps(offset).decode()
    return str(template.replace("${offset}", quote(text, safe="") if in_url else text))
