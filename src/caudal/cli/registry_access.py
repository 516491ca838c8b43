"""The registry of a command: its flag, and a client whose refusals become one sentence that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from caudal.cli.errors import CliError, NotFound, UsageError
from caudal.cli.similar import did_you_mean

if TYPE_CHECKING:
    from caudal.registry.client import RegistryClient, RegistryError

Registry = Annotated[
    str | None,
    typer.Option(
        "--registry",
        envvar="CAUDAL_REGISTRY",
        metavar="URL",
        help="Schema Registry, or several with commas (default: http://localhost:8081).",
    ),
]

NO_SUBJECT, NO_VERSION, NO_SCHEMA = 40401, 40402, 40403


@contextmanager
def registry_client(urls: str | None, subject: str | None = None) -> Iterator[RegistryClient]:
    """`subject`: what the command is about, for advice on a name that does not exist."""
    from caudal.registry.client import RegistryClient, RegistryError

    try:
        client = RegistryClient(urls)
    except ValueError as error:
        raise UsageError(str(error)) from None
    try:
        with client:
            yield client
    except RegistryError as error:
        failure = NotFound if error.code in (NO_SUBJECT, NO_VERSION, NO_SCHEMA) else CliError
        raise failure(_sentence(client, error, subject)) from None
    except ModuleNotFoundError as error:
        raise CliError(f"{error.name} is not installed; run: pip install 'caudal[registry]'") from None


def _sentence(client: RegistryClient, error: RegistryError, subject: str | None) -> str:
    from caudal.registry.client import RegistryUnreachable

    if isinstance(error, RegistryUnreachable):
        return f"{error}; start one with `caudal up` or `caudal registry`, or give its address with --registry URL"
    if error.code == NO_SUBJECT and subject is not None:
        return f"there is no subject '{subject}'{_similar(client, subject)}"
    if error.code == NO_VERSION and subject is not None:
        return f"{_one_line(error)}{_versions(client, subject)}"
    return _one_line(error)


def _one_line(error: RegistryError) -> str:
    text = " ".join(error.message.split()).rstrip(".")
    return text or f"the registry refused with status {error.status}"


def _similar(client: RegistryClient, subject: str) -> str:
    from caudal.registry.client import RegistryError

    try:
        known = [name for name in client.subjects() if name != subject]
    except RegistryError:
        known = []
    meant = did_you_mean(subject, known, f"{subject}-value", f"{subject}-key")
    return f"; {meant or '`caudal schema list` shows what exists'}"


def _versions(client: RegistryClient, subject: str) -> str:
    from caudal.registry.client import RegistryError

    try:
        return f"; {subject} has {', '.join(map(str, client.versions(subject)))}"
    except RegistryError:
        return ""
