"""Clusters by name: a file of addresses, one of which is the primary, and what `--cluster NAME` means to a command.

The file is `clusters.json` in the user's configuration folder (`CAUDAL_PROFILES` names another), readable by its owner
only: it may hold passwords. Commands know nothing of it. `main` takes `--cluster NAME` off their arguments and sets the
variables that the flags fall back to (CAUDAL_BOOTSTRAP, CAUDAL_REGISTRY, CAUDAL_CONNECT, CAUDAL_KSQL); without it, and
without an address on the command line or in the environment, the primary is meant.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from caudal.cli.errors import CliError, NotFound, UsageError

FLAG = "--cluster"
VARIABLES = {
    "bootstrap": "CAUDAL_BOOTSTRAP",
    "registry": "CAUDAL_REGISTRY",
    "connect": "CAUDAL_CONNECT",
    "ksql": "CAUDAL_KSQL",
}
# They start servers with addresses of their own, or are about profiles themselves.
WITHOUT_PRIMARY = frozenset({"broker", "up", "cluster", "bench"})
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
_SECRET = re.compile(r"password|secret|token|jaas|\.pem$|\.key$|key\.string", re.IGNORECASE)

# Of the profile that this command uses: by address, so that they go to no other broker.
_properties: dict[str, dict[str, str]] = {}


def without_secrets(properties: Mapping[str, str]) -> dict[str, str]:
    """For people to see."""
    return {key: "[hidden]" if _SECRET.search(key) else value for key, value in properties.items()}


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    bootstrap: str
    registry: str | None = None
    connect: str | None = None
    ksql: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)  # librdkafka's

    def shown(self) -> dict[str, object]:
        """For people and programs, without secrets."""
        return {**asdict(self), "properties": without_secrets(self.properties)}

    def as_side(self, side: str) -> dict[str, str]:
        """As the properties of a mirror whose `source` or `target` it is."""
        properties = {f"{side}.cluster.{key}": value for key, value in self.properties.items()}
        return {f"{side}.cluster.alias": self.name, f"{side}.cluster.bootstrap.servers": self.bootstrap, **properties}


@dataclass(frozen=True, slots=True)
class Profiles:
    primary: str | None = None
    clusters: Mapping[str, Profile] = field(default_factory=dict)

    def get(self, name: str) -> Profile:
        found = self.clusters.get(name)
        if found is None:
            known = f"there are {', '.join(sorted(self.clusters))}" if self.clusters else "there are none yet"
            raise NotFound(f"there is no cluster '{name}'; {known} (`caudal cluster profile add NAME --bootstrap …`)")
        return found

    def with_profile(self, profile: Profile, primary: bool = False) -> Profiles:
        first = profile.name if primary or self.primary is None else self.primary
        return Profiles(first, {**self.clusters, profile.name: profile})

    def with_primary(self, name: str) -> Profiles:
        return replace(self, primary=self.get(name).name)

    def without(self, name: str) -> Profiles:
        self.get(name)
        left = {key: profile for key, profile in self.clusters.items() if key != name}
        if name == self.primary and left:
            raise CliError(
                f"'{name}' is the primary; make another one the primary first: caudal cluster profile use NAME"
            )
        return Profiles(self.primary if left else None, left)


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' is no name for a cluster: letters, digits, '.', '_' and '-', 64 at most")
    return name


def path() -> Path:
    if given := os.environ.get("CAUDAL_PROFILES"):
        return Path(given)
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "caudal" / "clusters.json"


def load() -> Profiles:
    try:
        found = json.loads(path().read_text("utf-8"))
        clusters = {
            name: Profile(name=name, **{**entry, "properties": dict(entry.get("properties", {}))})
            for name, entry in found["clusters"].items()
        }
        return Profiles(found.get("primary"), clusters)
    except FileNotFoundError:
        return Profiles()
    except OSError as error:
        raise CliError(f"the cluster profiles cannot be read: {path()}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CliError(f"{path()} is not a file of cluster profiles ({error}); repair or remove it") from None


def save(profiles: Profiles) -> None:
    """All or nothing, for its owner only."""
    clusters = {}
    for name, profile in profiles.clusters.items():
        entry = {key: value for key, value in asdict(profile).items() if value and key != "name"}
        clusters[name] = entry
    text = json.dumps({"primary": profiles.primary, "clusters": clusters}, indent=2) + "\n"
    try:
        path().parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path().parent, prefix=".clusters-")  # 0600
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.replace(temporary, path())
    except OSError as error:
        raise CliError(f"the cluster profiles cannot be written: {path()}: {error.strerror}") from None


def properties_of(bootstrap: str) -> Mapping[str, str]:
    """The client properties that the chosen profile has for this address."""
    return _properties.get(bootstrap, {})


def take_flag(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """`--cluster NAME`, and the arguments without it. What stands behind `--` is not looked at."""
    name, rest = None, []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            rest += [argument, *waiting]
        elif argument == FLAG:
            name = next(waiting, None)
            if name is None:
                raise UsageError("--cluster takes the name of a profile; `caudal cluster profile list` shows them")
        elif argument.startswith(f"{FLAG}="):
            name = argument.removeprefix(f"{FLAG}=")
        else:
            rest.append(argument)
    return name, rest


def _names_address(arguments: Sequence[str]) -> bool:
    return any(one.startswith(("-b", "--bootstrap")) for one in arguments)


@contextmanager
def chosen(arguments: Sequence[str], environment: MutableMapping[str, str] | None = None) -> Iterator[list[str]]:
    """The arguments without `--cluster`; for the length of the block the environment has what the profile says."""
    environment = os.environ if environment is None else environment
    name, rest = take_flag(arguments)
    profile = None
    if name is not None:
        profile = load().get(name)
    elif not (
        (rest[:1] and rest[0] in WITHOUT_PRIMARY) or environment.get(VARIABLES["bootstrap"]) or _names_address(rest)
    ):
        profiles = load() if path().exists() else Profiles()
        profile = profiles.clusters.get(profiles.primary or "")
    if profile is None:
        yield rest
        return
    before = {variable: environment.get(variable) for variable in VARIABLES.values()}
    for key, variable in VARIABLES.items():
        value = getattr(profile, key)
        if value is not None and (name is not None or not environment.get(variable)):
            environment[variable] = value
        elif value is None and name is not None:
            environment.pop(variable, None)  # the variable is another cluster's
    _properties[profile.bootstrap] = dict(profile.properties)
    try:
        yield rest
    finally:
        _properties.clear()
        for variable, value in before.items():
            if value is None:
                environment.pop(variable, None)
            else:
                environment[variable] = value
