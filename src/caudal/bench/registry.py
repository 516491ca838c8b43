"""`caudal bench registry`: look-ups and registrations beside an empty Starlette endpoint; loading; comparing.

How a run goes: a broker, a registry, an empty endpoint on the same HTTP server, and one client process. In each round
the same client asks the empty endpoint, a schema by id, and a registration of what is registered, one after the other;
the ratios are taken within the round. Then registries are started on a topic with ten thousand subjects, and one on a
topic with a hundred versions in each language, which a new schema is compared with. All share this machine's cores.

It leaves out several instances, and registrations of new schemas beyond how long one takes.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from caudal.bench import pages
from caudal.bench.broker import touch_memory
from caudal.bench.case import Figure, ratio_at_least, value_at_most
from caudal.bench.client import Client
from caudal.bench.entry import BenchError, exit_code, parser_of
from caudal.bench.http_servers import HttpServer, Peer
from caudal.bench.registry_workloads import KIND, LANGUAGES, LEVEL, avro
from caudal.bench.servers import CaudalServer

SCHEMAS = 100
SUBJECTS = 10_000
VERSIONS = 100
CONNECTIONS = 8
SECONDS = 5.0
DEFAULT_ROUNDS = 5
CHECKS = 20
QUICK_SUBJECTS = 200
QUICK_VERSIONS = 5
QUICK_SECONDS = 0.4

HALF = ratio_at_least(0.5)
FIGURES: dict[str, Figure] = {
    "empty get": Figure("an empty Starlette endpoint, GET", "/s", True),
    "empty post": Figure("an empty Starlette endpoint, POST", "/s", True),
    "by id": Figure("a schema by its id", "/s", True),
    "by id ratio": Figure("… / the empty endpoint", "×", True, (HALF,)),
    "by id p99": Figure("… p99", "ms", False),
    "again": Figure("a registration of what is registered", "/s", True),
    "again ratio": Figure("… / the empty endpoint", "×", True, (HALF,)),
    "again p99": Figure("… p99", "ms", False),
    "new": Figure("a registration of a new schema, one client", "ms", False),
    "load": Figure("start with ten thousand subjects", "s", False, (value_at_most(3, "s"),)),
    "memory": Figure("memory with ten thousand subjects", "MB", False, (value_at_most(150, "MB"),)),
    **{
        f"{language.lower()} {name}": Figure(
            f"{language}: compared with a hundred versions, {title}", "ms", False, limit
        )
        for language in LANGUAGES
        for name, title, limit in (
            ("check", "median", (value_at_most(50, "ms"),)),
            ("first", "the first time", ()),
        )
    },
}
PAGE = pages.Page("registry", "Schema Registry", "Schema Registry: requests, loading, comparing")


@dataclass(slots=True)
class Options:
    rounds: int = DEFAULT_ROUNDS
    subjects: int = SUBJECTS
    seconds: float = SECONDS
    quick: bool = False
    json: bool = False
    markdown: Path | None = None


class Results(pages.Results):
    page, figures = PAGE, FIGURES


class Run:
    """One run: owns the broker, the registries, the empty endpoint and the client."""

    def __init__(self, options: Options, folder: Path, console: Console) -> None:
        self.options = options
        self.folder = folder
        self.console = console
        self.server = CaudalServer(folder / "broker")
        self.client = Client("caudal.bench.registry_workloads")
        self.results = Results()

    def measure(self) -> Results:
        try:
            if not self.options.quick:
                touch_memory()
            self.server.start()
            self._measure_requests()
            self._measure_load()
            self._measure_comparing()
        finally:
            self.client.close()
            self.server.remove()
        return self.results

    def _registry(self, topic: str) -> HttpServer:
        words = ["registry", "--bootstrap", self.server.bootstrap, "--topic", topic, "--group", topic]
        return HttpServer(words, self.folder / "registry.log")

    def _measure_requests(self) -> None:
        registry = self._registry("requests")
        peer = None
        try:
            peer = Peer("caudal.bench.registry_peer")
            bodies = [json.dumps({"schema": avro(f"Record{number}")}) for number in range(SCHEMAS)]
            by_id, again = [], []
            for number, body in enumerate(bodies):
                path = f"/subjects/subject-{number}-value/versions"
                begin = time.perf_counter()
                answer = _post(registry.http_port, path, body)
                if number:
                    self.results.add("new", (time.perf_counter() - begin) * 1e3)
                by_id.append(["GET", f"/schemas/ids/{answer['id']}", ""])
                again.append(["POST", path, body])
            for number in range(self.options.rounds):
                empty = self._ask(peer.http_port, [["GET", "/", ""]])["per_second"]
                looked_up = self._ask(registry.http_port, by_id)
                empty_post = self._ask(peer.http_port, [["POST", "/", body] for body in bodies])["per_second"]
                registered = self._ask(registry.http_port, again)
                for name, base, measured in (("by id", empty, looked_up), ("again", empty_post, registered)):
                    self.results.add(name, measured["per_second"])
                    self.results.add(f"{name} ratio", measured["per_second"] / base)
                    self.results.add(f"{name} p99", measured["p99_ms"])
                self.results.add("empty get", empty)
                self.results.add("empty post", empty_post)
                self._say(f"round {number + 1} of {self.options.rounds} done")
        finally:
            if peer is not None:
                peer.stop()
            registry.stop()

    def _ask(self, http_port: int, requests: list[list[str]]) -> dict[str, Any]:
        return self.client.run(
            "ask", http_port=http_port, requests=requests, connections=CONNECTIONS, seconds=self.options.seconds
        )

    def _topic(self, name: str) -> str:
        configs = {"cleanup.policy": "compact"}
        self.client.run("create_topics", port=self.server.port, topics=[name], partitions=1, configs=configs)
        return name

    def _measure_load(self) -> None:
        topic = self._topic("load")
        self.client.run("fill_subjects", port=self.server.port, topic=topic, subjects=self.options.subjects)
        for _ in range(self.options.rounds):
            registry = self._registry(topic)
            try:
                if registry.facts["subjects"] != self.options.subjects:
                    raise BenchError(
                        f"{self.options.subjects:,} subjects were written, {registry.facts['subjects']:,} read"
                    )
                self.results.add("load", registry.seconds)
                self.results.add("memory", registry.memory_mb())
            finally:
                registry.stop()
        self._say("loading done")

    def _measure_comparing(self) -> None:
        topic = self._topic("versions")
        versions = QUICK_VERSIONS if self.options.quick else VERSIONS
        self.client.run("fill_versions", port=self.server.port, topic=topic, versions=versions)
        registry = self._registry(topic)
        try:
            for language, make in LANGUAGES.items():
                times = []
                for number in range(1 + (3 if self.options.quick else CHECKS)):
                    # Another schema each time: the answer is not one that was kept.
                    body = json.dumps({"schema": make("Evolving", versions + number), "schemaType": language})
                    path = f"/compatibility/subjects/{language.lower()}/versions"
                    begin = time.perf_counter()
                    answer = _post(registry.http_port, path, body)
                    times.append((time.perf_counter() - begin) * 1e3)
                    if not answer["is_compatible"]:
                        raise BenchError(f"the {language} schema was not found compatible; nothing can be measured")
                self.results.add(f"{language.lower()} first", times[0])
                self.results.add(f"{language.lower()} check", statistics.median(times[1:]))
        finally:
            registry.stop()
        self._say("comparing done")

    def _say(self, text: str) -> None:
        self.console.print(text, highlight=False)


def _post(http_port: int, path: str, body: str) -> dict[str, Any]:
    import urllib.error
    import urllib.request

    request = urllib.request.Request(
        f"http://127.0.0.1:{http_port}{path}", body.encode(), {"Content-Type": KIND}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            result: dict[str, Any] = json.load(answer)
            return result
    except urllib.error.HTTPError as error:
        raise BenchError(f"the registry answered {error.read().decode()}") from None


def run(options: Options, console: Console | None = None) -> Results:
    """Measures, prints the table (or JSON), and writes the page where it is named."""
    if options.quick:
        options.rounds, options.subjects, options.seconds = 1, min(options.subjects, QUICK_SUBJECTS), QUICK_SECONDS
    if options.rounds < 1 or options.subjects < 1 or options.seconds <= 0:
        raise BenchError("--rounds and --subjects must be 1 or more, --seconds more than 0.")
    return pages.present(
        lambda folder, said: Run(options, folder, said).measure(), options, command_line(options), NOTES, console
    )


NOTES = [
    f"{CONNECTIONS} connections of one client process; the empty endpoint runs on the same uvicorn, uvloop and "
    f"httptools. Records of a dozen fields; {SCHEMAS} of them are asked for in turn.",
    f"Compared at {LEVEL}, with one more field in each version, through REST; the first time the old are parsed too.",
]


def command_line(options: Options) -> str:
    return pages.command_line(PAGE, options, rounds=options.rounds, subjects=options.subjects, seconds=options.seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m caudal.bench.registry`"""
    parser = parser_of("registry", "Measures the Schema Registry beside an empty Starlette endpoint.", DEFAULT_ROUNDS)
    parser.add_argument("--subjects", type=int, default=SUBJECTS, help="subjects to load (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each measurement (default: %(default)s)")
    options = Options(**vars(parser.parse_args(arguments)))
    return exit_code(lambda: run(options))


if __name__ == "__main__":
    sys.exit(main())
