"""A platform for the browser tests, the browser, and what every page must pass: no serious finding of axe.

`platform` has a broker, a registry and the control center; Connect and KSQL only where a test asks for them
(`connect_url`, `ksql_url` are session fixtures that start them once, with a control center that knows them:
`full_platform`). The control center is a process of its own, as people run it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from caudal.testing import EmbeddedBroker, embedded_broker
from tests.server_process import ServerProcess

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
CHROMIUM = os.environ.get("CAUDAL_CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-prefers-reduced-motion",
]
WINDOW = {"width": 1280, "height": 800}
PATIENCE = 15_000  # milliseconds that something may take to appear, also where others use the machine


@dataclass(frozen=True)
class RunningPlatform:
    """Where everything listens. `url` is the control center's."""

    broker: EmbeddedBroker
    url: str
    registry: str
    pid: int
    connect: str | None = None
    ksql: str | None = None

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap


@pytest.fixture(scope="session")
def _broker() -> Iterator[EmbeddedBroker]:
    with embedded_broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def _registry(_broker: EmbeddedBroker) -> Iterator[str]:
    yield from _server("registry", _broker.bootstrap)


@pytest.fixture(scope="session")
def connect_url(_broker: EmbeddedBroker, _registry: str) -> Iterator[str]:
    yield from _server("connect", _broker.bootstrap, "--registry", _registry)


@pytest.fixture(scope="session")
def ksql_url(
    _broker: EmbeddedBroker, _registry: str, connect_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    data = str(tmp_path_factory.mktemp("ksql"))
    yield from _server(
        "ksql-server", _broker.bootstrap, "--registry", _registry, "--connect", connect_url, "--data", data
    )


@pytest.fixture(scope="session")
def platform(_broker: EmbeddedBroker, _registry: str) -> Iterator[RunningPlatform]:
    """Broker, registry and control center."""
    with started_ui(_broker.bootstrap, "--registry", _registry) as process:
        yield RunningPlatform(_broker, process.url, _registry, process.facts["pid"])


@pytest.fixture(scope="session")
def full_platform(
    _broker: EmbeddedBroker, _registry: str, connect_url: str, ksql_url: str
) -> Iterator[RunningPlatform]:
    """Every server, and a control center that knows them all."""
    others = ["--registry", _registry, "--connect", connect_url, "--ksql", ksql_url]
    with started_ui(_broker.bootstrap, *others) as process:
        yield RunningPlatform(_broker, process.url, _registry, process.facts["pid"], connect_url, ksql_url)


class started_ui:
    """`caudal ui` as a process for the length of a `with`."""

    def __init__(self, bootstrap: str, *arguments: str) -> None:
        self._arguments = (bootstrap, *arguments)

    def __enter__(self) -> ServerProcess:
        # NiceGUI behaves differently under pytest, which it sees by this name.
        hidden = os.environ.pop("PYTEST_CURRENT_TEST", None)
        self._process = ServerProcess("ui", *self._arguments, "--log-level", "warning", log=sys.stderr)
        if hidden is not None:
            os.environ["PYTEST_CURRENT_TEST"] = hidden
        return self._process.wait()

    def __exit__(self, *exception: object) -> None:
        assert self._process.stop() == 0


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Of one file: while Playwright is there it has an event loop running in this thread, which other tests' own loops
    do not bear."""
    if not Path(CHROMIUM).exists():
        pytest.fail(f"there is no Chromium at {CHROMIUM}: `make setup` installs it, or set CAUDAL_CHROMIUM")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def browser_context(chromium: Browser) -> Iterator[BrowserContext]:
    """A fresh visitor: no cookies. Whatever the page asks of another host fails the test."""
    context = chromium.new_context(viewport=WINDOW, locale="en-US", color_scheme="light")  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE)
    outside: list[str] = []
    context.on("request", lambda request: outside.extend([request.url] if _is_outside(request.url) else []))
    yield context
    context.close()
    assert not outside, f"the page fetched from outside: {outside}"


@pytest.fixture
def browser_page(browser_context: BrowserContext) -> Iterator[Page]:
    """A tab. An error in the page's scripts fails the test."""
    page = browser_context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert not errors, f"scripts of the page failed: {errors}"


@pytest.fixture
def axe() -> Callable[[Page], None]:
    """Fails on serious and critical findings of axe-core."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    def check(page: Page) -> None:
        found: dict[str, Any] = Axe().run(page).response
        bad = [
            f"{item['id']} ({item['impact']}): {item['help']}: "
            + "; ".join(f"{node['html'][:200]} {node.get('failureSummary', '')[:200]}" for node in item["nodes"][:5])
            for item in found["violations"]
            if item["impact"] in ("serious", "critical")
        ]
        assert not bad, "\n".join(bad)

    return check


@pytest.fixture
def shot() -> Callable[..., Path]:
    """Keeps a screenshot in build/screenshots, an artefact of CI."""

    def take(page: Page, name: str, *, full_page: bool = True) -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        page.evaluate("() => document.fonts.ready")
        page.screenshot(path=path, full_page=full_page)
        return path

    return take


def _server(command: str, bootstrap: str, *arguments: str) -> Iterator[str]:
    process = ServerProcess(command, bootstrap, *arguments, "--log-level", "warning", log=sys.stderr).wait()
    yield process.url
    process.stop()


def _is_outside(url: str) -> bool:
    return not re.match(r"(https?|wss?)://(127\.0\.0\.1|localhost)[:/]|data:|blob:|about:", url)
