"""The answers of the query server: paths and parameters to JSON, with the lag of the view in each. No I/O.

| path | answer |
| --- | --- |
| `/stores` | all stores that can be asked |
| `/stores/S` | one of them |
| `/stores/S/key/K` | a key-value store's value |
| `/stores/S/range?from=&to=` | keys from … to, both included |
| `/stores/S/all` | everything, of any kind of store |
| `/stores/S/window/K?from=&to=` | a key's windows that start from … to (milliseconds) |
| `/stores/S/windows?from=&to=` | every key's windows |
| `/stores/S/session/K` | a key's sessions |

Lists take `limit` (100, at most 10,000) and `reverse=true`; where more follows, `next` is what `after` takes.
Every query takes `max_lag` and `wait`. Errors: {"error_code": …, "message": …}; the code begins with the HTTP status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import dropwhile, islice
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from caudal.serde import SerdeError
from caudal.views.application_views import AnyView, ApplicationViews
from caudal.views.errors import NoChangelog, NotCaughtUp, UnknownStore, ViewError
from caudal.views.json_text import decoded, encoded, key_reader, to_json
from caudal.views.view import KeyValueView, SessionView, View, WindowView

DEFAULT_LIMIT = 100
MOST_ROWS = 10_000
OPEN_SECONDS = 5.0  # how long the first question to a store waits for it to catch up
MOST_SECONDS = 60.0

BAD_PARAMETER = 40001
WRONG_KIND = 40002
NO_STORE = 40401
NO_KEY = 40402
NO_PAGE = 40403
NOT_CAUGHT_UP = 50301
FAILED_VIEW = 50002
FAILED = 50001


class Refusal(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Answer(NamedTuple):
    status: int
    body: bytes


class Question(NamedTuple):
    """A request, taken apart: the segments of its path after `/stores`, decoded, and its parameters."""

    parts: tuple[str, ...]
    parameters: Mapping[str, str]

    @classmethod
    def of(cls, target: str) -> Question:
        path, _, query = target.partition("?")
        first, *parts = path.removeprefix("/").split("/")
        if first != "stores":
            raise Refusal(NO_PAGE, "There is no such page; begin with /stores.")
        if "%" in path:
            parts = [unquote(part) for part in parts]
        if parts and not parts[-1]:
            parts.pop()
        return cls(tuple(parts), dict(parse_qsl(query, keep_blank_values=True)) if query else {})


def refusal(code: int, message: str) -> Answer:
    return Answer(code // 100, to_json({"error_code": code, "message": message}))


class Pages:
    """`is_quick` says whether a question is answered in microseconds; others belong into a thread."""

    def __init__(self, views: ApplicationViews) -> None:
        self._views = views
        self._readers: dict[str, Callable[[str], Any]] = {}

    def is_quick(self, question: Question) -> bool:
        parts = question.parts
        if len(parts) != 3 or parts[1] != "key" or question.parameters:
            return False
        view = self._views.opened(parts[0])
        return view is not None and view.is_ready

    def answer(self, question: Question) -> Answer:
        """Never raises."""
        try:
            return Answer(200, to_json(self._answer(question.parts, question.parameters)))
        except Refusal as error:
            return refusal(error.code, str(error))
        except (UnknownStore, NoChangelog) as error:
            return refusal(NO_STORE, str(error))
        except NotCaughtUp as error:
            return refusal(NOT_CAUGHT_UP, str(error))
        except ViewError as error:
            return refusal(FAILED_VIEW, str(error))
        except Exception as error:
            return refusal(FAILED, f"The question failed: {type(error).__name__}: {error}")

    def _answer(self, parts: tuple[str, ...], given: Mapping[str, str]) -> Any:
        if not parts:
            return {"application": self._views.application_id, "stores": [self._about(name) for name in self._views]}
        name, *rest = parts
        if not rest:
            self._views.spec(name)
            return self._about(name)
        what = rest[0]
        if len(rest) == 2 and what in ("key", "window", "session"):
            return self._of_key(name, what, rest[1], given)
        if len(rest) == 1 and what in ("range", "all", "windows"):
            return self._of_all(name, what, given)
        raise Refusal(NO_PAGE, f"There is no such page; ask store '{name}' for key, range, all, window or session.")

    def _about(self, name: str) -> dict[str, Any]:
        spec = self._views.spec(name)
        about: dict[str, Any] = {"name": name, "kind": spec.kind.value, "followed": False}
        view = self._views.opened(name)
        if view is not None:
            lag = view.lag
            about.update(followed=True, topic=view.topic, ready=view.is_ready, trouble=view.trouble)
            about.update(lag=lag.total, lag_by_partition=lag.partitions)
            about.update(approximate_count=view.approximate_count if view.is_ready else None)
        return about

    # -- queries -----------------------------------------------------------------------------------------------------

    def _view(self, name: str, given: Mapping[str, str]) -> AnyView:
        view = self._views.opened(name)
        if view is None or not view.is_ready:
            view = self._views.open(name).wait(_seconds(given) or OPEN_SECONDS)
        return view

    def _key(self, view: View, text: str) -> Any:
        """The key, checked: a text that the serde does not take is the asker's mistake, not ours."""
        reader = self._readers.get(view.name)
        if reader is None:
            reader = self._readers[view.name] = key_reader(view.key_serde)
        try:
            key = reader(text)
            view.key_serde.serialize(key)
        except (ValueError, SerdeError) as error:
            raise Refusal(BAD_PARAMETER, str(error)) from None
        return key

    def _of_key(self, name: str, what: str, text: str, given: Mapping[str, str]) -> dict[str, Any]:
        view = self._view(name, given)
        key = self._key(view, text)
        if what == "key":
            return self._value(_of_kind(view, KeyValueView, what), key, given)
        if what == "window":
            return self._windows_of(_of_kind(view, WindowView, what), key, given)
        sessions, reverse = _of_kind(view, SessionView, what), _reverse(given)
        found = sessions.fetch(key, reverse=reverse, **_freshness(given))
        return self._windowed_rows(sessions, found, _window_token(given, 3), reverse, given)

    def _value(self, view: KeyValueView, key: Any, given: Mapping[str, str]) -> dict[str, Any]:
        found = view.get_with_timestamp(key, **(_freshness(given) if given else {}))
        lag = view.lag.total
        if found is None:
            raise Refusal(NO_KEY, f"Store '{view.name}' has no such key; its view is {lag} records behind.")
        value, timestamp = found
        answer = {"store": view.name, "key": key, "value": value, "lag": lag}
        if timestamp >= 0:
            answer["timestamp"] = timestamp
        return answer

    def _windows_of(self, view: WindowView, key: Any, given: Mapping[str, str]) -> dict[str, Any]:
        first, last, reverse = _number(given, "from"), _number(given, "to"), _reverse(given)
        after = _number(given, "after")
        if after is not None:
            first, last = (first, after - 1) if reverse else (after + 1, last)
        found = view.fetch(key, first, last, reverse=reverse, **_freshness(given))
        rows, more = _page(found, _limit(given))
        return {
            "store": view.name,
            "key": key,
            "rows": [{"start": start, "end": start + view.window_size, "value": value} for start, value in rows],
            "next": str(rows[-1][0]) if more else None,
            "lag": view.lag.total,
        }

    def _of_all(self, name: str, what: str, given: Mapping[str, str]) -> dict[str, Any]:
        view = self._view(name, given)
        if isinstance(view, KeyValueView) and what != "windows":
            return self._keys(view, given)
        if what == "range":
            raise _wrong_kind(view, what)
        if isinstance(view, SessionView):
            if what == "windows":
                raise _wrong_kind(view, what)
            after = _window_token(given, 3)
            sessions: Iterator[Any] = view.all(after[0] if after else 0, **_freshness(given))
            return self._windowed_rows(view, sessions, after, False, given)
        window_view = _of_kind(view, WindowView, what)
        first, last, reverse = _number(given, "from"), _number(given, "to"), _reverse(given)
        after = _window_token(given, 2)
        if after is not None:
            first, last = (first, after[0]) if reverse else (after[0], last)
        windows = window_view.fetch_all(first, last, reverse=reverse, **_freshness(given))
        return self._windowed_rows(window_view, windows, after, reverse, given)

    def _keys(self, view: KeyValueView, given: Mapping[str, str]) -> dict[str, Any]:
        serde, reverse = view.key_serde, _reverse(given)
        first = serde.serialize(self._key(view, given["from"])) if given.get("from") else b""
        end = serde.serialize(self._key(view, given["to"])) + b"\0" if given.get("to") else None
        if "after" in given:
            after = _bytes(given["after"])
            first, end = (first, after) if reverse else (after + b"\0", end)
        found = view.raw_range(first, end, reverse=reverse, **_freshness(given))
        rows, more = _page(found, _limit(given))
        listed = []
        for raw, value, timestamp in rows:
            row = {"key": serde.deserialize(raw), "value": value}
            if timestamp >= 0:
                row["timestamp"] = timestamp
            listed.append(row)
        token = encoded(rows[-1].raw) if more else None
        return {"store": view.name, "rows": listed, "next": token, "lag": view.lag.total}

    def _windowed_rows(
        self,
        view: WindowView | SessionView,
        found: Iterator[Any],
        after: tuple[Any, ...] | None,
        reverse: bool,
        given: Mapping[str, str],
    ) -> dict[str, Any]:
        if after is not None:  # the rows of the same time that were on the page before
            order = view.order
            found = dropwhile(lambda row: order(row) >= after if reverse else order(row) <= after, found)
        rows, more = _page(found, _limit(given))
        token = None
        if more:
            *times, raw = view.order(rows[-1])
            token = ".".join([*map(str, times), encoded(raw)])
        return {
            "store": view.name,
            "rows": [{"key": key, "start": start, "end": end, "value": value} for (key, start, end), value in rows],
            "next": token,
            "lag": view.lag.total,
        }


def _page(found: Iterable[Any], limit: int) -> tuple[list[Any], bool]:
    """Up to `limit` rows, and whether more follow."""
    rows = list(islice(found, limit + 1))
    return rows[:limit], len(rows) > limit


def _wrong_kind(view: View, what: str) -> Refusal:
    if isinstance(view, WindowView):
        asked = "window, windows or all"
    else:
        asked = "session or all" if isinstance(view, SessionView) else "key, range or all"
    return Refusal(WRONG_KIND, f"Store '{view.name}' is a {view.kind} store: ask it for {asked}, not {what}.")


def _of_kind(view: AnyView, kind: Any, what: str) -> Any:
    if not isinstance(view, kind):
        raise _wrong_kind(view, what)
    return view


# -- parameters ------------------------------------------------------------------------------------------------------


def _freshness(given: Mapping[str, str]) -> dict[str, Any]:
    return {"wait": _seconds(given), "max_lag": _number(given, "max_lag")}


def _seconds(given: Mapping[str, str]) -> float | None:
    text = given.get("wait")
    if not text:
        return None
    try:
        return min(MOST_SECONDS, max(0.0, float(text)))
    except ValueError:
        raise Refusal(BAD_PARAMETER, f"wait takes seconds, not '{text}'.") from None


def _number(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name)
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise Refusal(BAD_PARAMETER, f"{name} takes a whole number, not '{text}'.") from None


def _limit(given: Mapping[str, str]) -> int:
    limit = _number(given, "limit")
    if limit is None:
        return DEFAULT_LIMIT
    if not 1 <= limit <= MOST_ROWS:
        raise Refusal(BAD_PARAMETER, f"limit takes a number from 1 to {MOST_ROWS}, not {limit}; use next for more.")
    return limit


def _reverse(given: Mapping[str, str]) -> bool:
    text = given.get("reverse", "false").lower()
    if text not in ("true", "false"):
        raise Refusal(BAD_PARAMETER, f"reverse takes true or false, not '{text}'.")
    return text == "true"


def _bytes(token: str) -> bytes:
    try:
        return decoded(token)
    except ValueError:
        raise _bad_token() from None


def _window_token(given: Mapping[str, str], size: int) -> tuple[Any, ...] | None:
    if "after" not in given:
        return None
    *times, raw = given["after"].split(".")
    try:
        values = (*map(int, times), decoded(raw))
    except ValueError:
        raise _bad_token() from None
    if len(values) != size:
        raise _bad_token()
    return values


def _bad_token() -> Refusal:
    return Refusal(BAD_PARAMETER, "after takes what next said on the page before.")
