"""The registry's REST API from Python: what the serdes, the command line and other servers ask it.

Schemas by id and by subject and version never change, so they are asked for once; what may change (latest, config,
mode, lists) is asked for every time. Several addresses are tried in turn. `mock://name` is a registry inside this
process, for tests. A client is cheap to make, may be used by many threads, and travels to Spark's workers by pickle
(its connection does not: each process opens its own).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

import orjson

from caudal.registry.schemas.schema import Reference

if TYPE_CHECKING:
    import httpx

DEFAULT_REGISTRY = "http://localhost:8081"
ENVIRONMENT = "CAUDAL_REGISTRY"
LATEST = "latest"
_CONTENT = "application/vnd.schemaregistry.v1+json"
_AWAY = (429, 502, 503, 504)  # another address, or the same one later, may answer
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


class RegistryError(Exception):
    """The registry's answer was no: HTTP status, the registry's own code (40401, …) and its sentence."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(status, code, message)
        self.status = status
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return self.message


class RegistryUnreachable(RegistryError):
    """No address answered; status and code are 0."""

    def __init__(self, addresses: str, reason: str) -> None:
        super().__init__(0, 0, f"no registry at {addresses}: {reason}")
        self.args = (addresses, reason)  # so that it can be pickled


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as the registry answers; asked for by id alone, it may have no subject and no version."""

    id: int
    type: str
    text: str
    subject: str | None = None
    version: int | None = None
    references: tuple[Reference, ...] = ()
    metadata: Mapping[str, Any] | None = None
    rule_set: Mapping[str, Any] | None = None
    guid: str | None = None
    deleted: bool = False

    @classmethod
    def of(cls, body: Mapping[str, Any], id: int = -1, subject: str | None = None) -> RegisteredSchema:
        return cls(
            id=body.get("id", id),
            type=body.get("schemaType") or "AVRO",
            text=body.get("schema", ""),
            subject=body.get("subject", subject),
            version=body.get("version"),
            references=tuple(
                Reference(each["name"], each["subject"], each["version"]) for each in body.get("references") or ()
            ),
            metadata=body.get("metadata"),
            rule_set=body.get("ruleSet"),
            guid=body.get("guid"),
            deleted=bool(body.get("deleted", False)),
        )


@dataclass(frozen=True, slots=True)
class Check:
    """Whether a schema may follow, and why not."""

    compatible: bool
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Address:
    url: str  # without credentials, without a slash at the end
    credentials: tuple[str, str] | None = field(default=None, repr=False)


class RegistryClient:
    """`urls`: one address, several with commas, or a sequence; none: the variable CAUDAL_REGISTRY, or localhost:8081.

    An address may carry credentials (`http://user:password@host`). One that carries none gets those that
    CAUDAL_REGISTRY has for the same host, if any. With `wait_seconds`, a registry that is away or overloaded is asked
    again, with growing pauses, for so long.
    """

    def __init__(
        self,
        urls: str | Sequence[str] | None = None,
        *,
        user: str | None = None,
        password: str | None = None,
        timeout: float = 10.0,
        connect_timeout: float = 3.0,
        wait_seconds: float = 0.0,
        ca_file: str | None = None,
    ) -> None:
        given = None if user is None else (user, password or "")
        self._addresses = _addresses(urls, given)
        self._timeout, self._connect_timeout = timeout, connect_timeout
        self._wait_seconds = wait_seconds
        self._ca_file = ca_file
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._http: httpx.Client | None = None
        self._process = 0
        self._first = 0  # the address that answered last
        self._by_id: dict[tuple[int, str | None, str | None], RegisteredSchema] = {}
        self._by_version: dict[tuple[str, int], RegisteredSchema] = {}

    def __getstate__(self) -> dict[str, Any]:
        kept = ("_addresses", "_timeout", "_connect_timeout", "_wait_seconds", "_ca_file")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def __repr__(self) -> str:
        return f"RegistryClient({self.address!r})"

    @property
    def address(self) -> str:
        """All addresses, without credentials."""
        return ",".join(address.url for address in self._addresses)

    def close(self) -> None:
        """The connections; a closed client opens them again when it is asked something."""
        with self._lock:
            http, self._http = self._http, None
        if http is not None:
            http.close()

    def __enter__(self) -> RegistryClient:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ------------------------------------------------------------------ schemas by id

    def schema(self, id: int, *, subject: str | None = None, format: str | None = None) -> RegisteredSchema:
        """The schema with this id. `subject`: in whose context, and whose metadata; `format`: "serialized", …"""
        known = self._by_id.get((id, subject, format))
        if known is None:
            body = self.request("GET", f"/schemas/ids/{id}", subject=subject, format=format)
            known = self._by_id[id, subject, format] = RegisteredSchema.of(body, id=id)
        return known

    def versions_of_id(self, id: int, *, deleted: bool = False) -> list[tuple[str, int]]:
        """In which subjects, under which versions."""
        body = self.request("GET", f"/schemas/ids/{id}/versions", deleted=deleted)
        return [(each["subject"], each["version"]) for each in body]

    def subjects_of_id(self, id: int, *, deleted: bool = False) -> list[str]:
        return list(self.request("GET", f"/schemas/ids/{id}/subjects", deleted=deleted))

    def types(self) -> list[str]:
        return list(self.request("GET", "/schemas/types"))

    def schemas(
        self,
        prefix: str | None = None,
        *,
        latest_only: bool = False,
        deleted: bool = False,
        offset: int | None = None,
        limit: int | None = None,
    ) -> list[RegisteredSchema]:
        body = self.request(
            "GET", "/schemas", subjectPrefix=prefix, latestOnly=latest_only, deleted=deleted, offset=offset, limit=limit
        )
        return [RegisteredSchema.of(each) for each in body]

    # ------------------------------------------------------------------ subjects and versions

    def subjects(
        self,
        prefix: str | None = None,
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int | None = None,
        limit: int | None = None,
    ) -> list[str]:
        return list(
            self.request(
                "GET",
                "/subjects",
                subjectPrefix=prefix,
                deleted=deleted,
                deletedOnly=deleted_only,
                offset=offset,
                limit=limit,
            )
        )

    def versions(self, subject: str, *, deleted: bool = False, deleted_only: bool = False) -> list[int]:
        return list(self.request("GET", _versions(subject), deleted=deleted, deletedOnly=deleted_only))

    def version(
        self, subject: str, version: int | str = LATEST, *, deleted: bool = False, format: str | None = None
    ) -> RegisteredSchema:
        """One version: a number or "latest"."""
        fixed = (subject, version) if isinstance(version, int) and version > 0 and format is None else None
        known = self._by_version.get(fixed) if fixed is not None and not deleted else None
        if known is None:
            path = f"{_versions(subject)}/{_part(version)}"
            known = RegisteredSchema.of(self.request("GET", path, deleted=deleted, format=format), subject=subject)
            if fixed is not None and not known.deleted:
                self._by_version[fixed] = known
        return known

    def latest(self, subject: str) -> RegisteredSchema:
        return self.version(subject, LATEST)

    def latest_with_metadata(self, subject: str, metadata: Mapping[str, str]) -> RegisteredSchema:
        """The latest version whose metadata has these properties."""
        pairs = [("key", key) for key in metadata] + [("value", value) for value in metadata.values()]
        return RegisteredSchema.of(self.request("GET", f"/subjects/{_part(subject)}/metadata", pairs), subject=subject)

    def referenced_by(self, subject: str, version: int | str = LATEST) -> list[int]:
        """The ids of the schemas that refer to it."""
        return list(self.request("GET", f"{_versions(subject)}/{_part(version)}/referencedby"))

    def register(
        self,
        subject: str,
        text: str,
        type: str = "AVRO",
        references: Sequence[Reference] = (),
        *,
        normalize: bool = False,
        metadata: Mapping[str, Any] | None = None,
        rule_set: Mapping[str, Any] | None = None,
        id: int | None = None,
        version: int | None = None,
    ) -> RegisteredSchema:
        """Its id; an equal schema that the subject has already is found, not added. `id`, `version`: mode IMPORT."""
        body = _schema_body(text, type, references, metadata, rule_set)
        if id is not None:
            body["id"] = id
        if version is not None:
            body["version"] = version
        answer = self.request("POST", _versions(subject), body=body, normalize=normalize)
        return RegisteredSchema.of({**body, **answer}, subject=subject)

    def lookup(
        self,
        subject: str,
        text: str,
        type: str = "AVRO",
        references: Sequence[Reference] = (),
        *,
        normalize: bool = False,
        deleted: bool = False,
        metadata: Mapping[str, Any] | None = None,
        rule_set: Mapping[str, Any] | None = None,
    ) -> RegisteredSchema:
        """The subject's version with this schema; RegistryError 40403 if it has none, 40401 without the subject."""
        body = _schema_body(text, type, references, metadata, rule_set)
        path = f"/subjects/{_part(subject)}"
        answer = self.request("POST", path, body=body, normalize=normalize, deleted=deleted)
        return RegisteredSchema.of(answer, subject=subject)

    def check(
        self,
        subject: str,
        text: str,
        type: str = "AVRO",
        references: Sequence[Reference] = (),
        *,
        version: int | str | None = None,
        normalize: bool = False,
        verbose: bool = True,
        metadata: Mapping[str, Any] | None = None,
        rule_set: Mapping[str, Any] | None = None,
    ) -> Check:
        """May it follow: against one version, or by the subject's level (None). The answer has the reasons."""
        path = f"/compatibility{_versions(subject)}" + ("" if version is None else f"/{_part(version)}")
        body = _schema_body(text, type, references, metadata, rule_set)
        answer = self.request("POST", path, body=body, normalize=normalize, verbose=verbose)
        return Check(bool(answer["is_compatible"]), tuple(answer.get("messages") or ()))

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """The versions that are gone. Permanent deletion comes after the soft one."""
        gone = list(self.request("DELETE", f"/subjects/{_part(subject)}", permanent=permanent))
        for key in [key for key in self._by_version if key[0] == subject]:
            self._by_version.pop(key, None)
        return gone

    def delete_version(self, subject: str, version: int | str, *, permanent: bool = False) -> int:
        gone = int(self.request("DELETE", f"{_versions(subject)}/{_part(version)}", permanent=permanent))
        self._by_version.pop((subject, gone), None)
        return gone

    # ------------------------------------------------------------------ config and mode

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> dict[str, Any]:
        """Such as {"compatibilityLevel": "BACKWARD"}; of the subject, or of all."""
        return dict(self.request("GET", _of("/config", subject), defaultToGlobal=default_to_global))

    def set_config(self, subject: str | None = None, **settings: Any) -> dict[str, Any]:
        """set_config("orders-value", compatibility="FULL"); other settings by their REST names."""
        return dict(self.request("PUT", _of("/config", subject), body=settings))

    def delete_config(self, subject: str | None = None) -> Any:
        return self.request("DELETE", _of("/config", subject))

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> str:
        """READWRITE, READONLY or IMPORT."""
        return str(self.request("GET", _of("/mode", subject), defaultToGlobal=default_to_global)["mode"])

    def set_mode(self, mode: str, subject: str | None = None, *, force: bool = False) -> str:
        return str(self.request("PUT", _of("/mode", subject), body={"mode": mode}, force=force)["mode"])

    def delete_mode(self, subject: str) -> Any:
        return self.request("DELETE", _of("/mode", subject))

    # ------------------------------------------------------------------ the rest

    def contexts(self) -> list[str]:
        return list(self.request("GET", "/contexts"))

    def search(
        self, query: str | None = None, *, type: str | None = None, tag: str | None = None, limit: int | None = None
    ) -> Any:
        """What fits in subjects, fields, docs and tags (Caudal's own endpoint)."""
        return self.request("GET", "/search", query=query, type=type, tag=tag, limit=limit)

    def answers(self) -> bool:
        """Whether a registry is there: one short try."""
        try:
            self._ask("GET", "/schemas/types", [], None)
        except RegistryUnreachable:
            return False
        except RegistryError:
            return True
        return True

    # ------------------------------------------------------------------ HTTP

    def request(
        self, method: str, path: str, pairs: Sequence[tuple[str, str]] = (), *, body: Any = None, **parameters: Any
    ) -> Any:
        """One call, its answer as JSON; parameters that are None or False are not sent."""
        query = [*pairs, *((name, _text(value)) for name, value in parameters.items() if value not in (None, False))]
        deadline = time.monotonic() + self._wait_seconds
        pause = _FIRST_PAUSE
        while True:
            try:
                return self._ask(method, path, query, body)
            except RegistryError as error:
                left = deadline - time.monotonic()
                if left <= 0 or error.status not in (0, *_AWAY):
                    raise
                time.sleep(min(pause, left))
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _ask(self, method: str, path: str, query: list[tuple[str, str]], body: Any) -> Any:
        """At every address once, beginning with the one that answered last."""
        count = len(self._addresses)
        first = self._first
        failure: RegistryError | None = None
        for turn in range(count):
            index = (first + turn) % count
            try:
                answer = self._ask_one(self._addresses[index], method, path, query, body)
            except RegistryError as error:
                if error.status not in (0, *_AWAY):
                    self._first = index
                    raise
                failure = failure if failure is not None and error.status == 0 else error
                continue
            self._first = index
            return answer
        assert failure is not None
        if failure.status == 0:
            raise RegistryUnreachable(self.address, failure.args[1])
        raise failure

    def _ask_one(self, address: _Address, method: str, path: str, query: list[tuple[str, str]], body: Any) -> Any:
        if address.url.startswith("mock://"):
            from caudal.registry.mock import registry_named

            content = None if body is None else orjson.dumps(body)
            return _checked(*registry_named(address.url).answer(method, path, query, content), address.url)
        try:
            import httpx
        except ModuleNotFoundError:
            missing = "the package httpx is missing: pip install 'caudal[registry]'"
            raise RegistryUnreachable(address.url, missing) from None
        try:
            response = self._connection().request(
                method,
                address.url + path,
                params=tuple(query) or None,
                content=None if body is None else orjson.dumps(body),
                headers={"Content-Type": _CONTENT} if body is not None else None,
                auth=address.credentials,
            )
        except httpx.TransportError as error:
            in_time = "it did not answer in time"
            if method == "DELETE" and not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
                # Asked again, it would say that there is nothing to delete.
                message = f"{address.url}: {in_time}, so it is not known whether this was deleted"
                raise RegistryError(408, 408, message) from None
            timed_out = isinstance(error, httpx.TimeoutException)
            raise RegistryUnreachable(address.url, in_time if timed_out else _reason(error)) from None
        return _checked(response.status_code, response.content, address.url)

    def _connection(self) -> httpx.Client:
        with self._lock:
            if self._http is None or self._process != os.getpid():  # a fork must not share its parent's sockets
                import httpx

                verify: Any = True
                if self._ca_file is not None:
                    import ssl

                    verify = ssl.create_default_context(cafile=self._ca_file)
                self._http = httpx.Client(
                    timeout=httpx.Timeout(self._timeout, connect=self._connect_timeout),
                    headers={"Accept": f"{_CONTENT}, application/json", "User-Agent": "caudal"},
                    verify=verify,
                )
                self._process = os.getpid()
            return self._http


_clients: dict[tuple[str, float], RegistryClient] = {}
_clients_lock = threading.Lock()


def shared_client(urls: str, wait_seconds: float) -> RegistryClient:
    """One client for each address in this process: serdes of the same registry share what it answered."""
    with _clients_lock:
        client = _clients.get((urls, wait_seconds))
        if client is None:
            client = _clients[urls, wait_seconds] = RegistryClient(urls, wait_seconds=wait_seconds)
        return client


def forget_shared(address: str) -> None:
    """What the clients of an address have cached: for a registry that begins anew."""
    with _clients_lock:
        for key in [key for key in _clients if address in key[0]]:
            del _clients[key]


def configured_registry() -> str:
    """The address that holds where none is given."""
    return os.environ.get(ENVIRONMENT, "").strip() or DEFAULT_REGISTRY


def without_credentials(urls: str) -> str:
    """For people and plans.

    >>> without_credentials("http://ana:secret@registry:8081/")
    'http://registry:8081'
    """
    return ",".join(_address(part).url for part in urls.split(",") if part.strip())


def _addresses(urls: str | Sequence[str] | None, given: tuple[str, str] | None) -> tuple[_Address, ...]:
    if urls is None:
        urls = configured_registry()
    parts = urls.split(",") if isinstance(urls, str) else urls
    addresses = [_address(part) for part in parts if part.strip()]
    if not addresses:
        raise ValueError("a registry's address is needed, such as http://localhost:8081")
    known = {}
    if any(address.credentials is None for address in addresses):
        for part in os.environ.get(ENVIRONMENT, "").split(","):
            if "@" in part:
                found = _address(part)
                known[found.url] = found.credentials
    return tuple(_Address(address.url, address.credentials or given or known.get(address.url)) for address in addresses)


def _address(text: str) -> _Address:
    text = text.strip().rstrip("/")
    if "://" not in text:
        text = f"http://{text}"
    parts = urlsplit(text)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme not in ("http", "https", "mock") or not host:
        shown = text.rsplit("@", 1)[-1]  # never a password
        raise ValueError(f"'{shown}' is not a registry's address; it looks like http://localhost:8081")
    if parts.scheme == "mock":
        return _Address(f"mock://{parts.netloc}")
    place = (f"[{host}]" if ":" in host else host) + ("" if port is None else f":{port}")
    credentials = None if parts.username is None else (unquote(parts.username), unquote(parts.password or ""))
    return _Address(f"{parts.scheme}://{place}{parts.path}", credentials)


def _checked(status: int, content: bytes, address: str) -> Any:
    """The answer's JSON, or its error."""
    try:
        body = orjson.loads(content) if content else None
    except ValueError:
        body = None
        if status < 400:
            raise RegistryError(status, status, f"{address} did not answer with JSON; is it a registry?") from None
    if status < 400:
        return body
    if isinstance(body, dict) and "error_code" in body:
        raise RegistryError(status, int(body["error_code"]), str(body.get("message", "")))
    raise RegistryError(status, status, f"{address} answered with status {status}")


def _reason(error: Exception) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError):
            return "the connection is refused"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    text = " ".join(str(error).split())
    return "the connection is refused" if "refused" in text else text or type(error).__name__


def _schema_body(
    text: str,
    type: str,
    references: Sequence[Reference],
    metadata: Mapping[str, Any] | None,
    rule_set: Mapping[str, Any] | None,
) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": text, "schemaType": type}
    if references:
        body["references"] = [reference._asdict() for reference in references]
    if metadata is not None:
        body["metadata"] = metadata
    if rule_set is not None:
        body["ruleSet"] = rule_set
    return body


def _versions(subject: str) -> str:
    return f"/subjects/{_part(subject)}/versions"


def _of(path: str, subject: str | None) -> str:
    return path if subject is None else f"{path}/{_part(subject)}"


def _part(text: str | int) -> str:
    return quote(str(text), safe="")


def _text(value: Any) -> str:
    return "true" if value is True else str(value)
