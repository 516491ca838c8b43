"""The pages of the demonstrations in a browser: the map fills while Spark counts, the board is replayed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .conftest import RunningPlatform

pytest.importorskip("pyspark")
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]

SPARK_MILLISECONDS = 120_000  # until the first result, on a machine that others use


def test_a_cluster_without_demonstrations_says_how_to_start_one(platform: RunningPlatform, browser_page: Page) -> None:
    browser_page.goto(f"{platform.url}/demos/elections")
    expect(browser_page.get_by_text("caudal demo elections --serve")).to_be_visible()
    browser_page.goto(f"{platform.url}/demos/chess")
    expect(browser_page.get_by_text("caudal demo chess")).to_be_visible()


@pytest.fixture(scope="module")
def demonstration(platform: RunningPlatform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """`caudal demo elections --serve`, as `caudal up --demo` starts it: events are Avro."""
    folder = tmp_path_factory.mktemp("demo")
    arguments = [
        "--bootstrap",
        platform.bootstrap,
        "--registry",
        platform.registry,
        "--state-dir",
        str(folder / "state"),
    ]
    ready, said = os.pipe()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "caudal.cli.main", "demo", "elections", "--serve", "--with-chess"),
            *arguments,
            *("--votes", "120000", "--speed", "3", "--ready-fd", str(said), "--stop-on-stdin-eof"),
        ],
        stdin=subprocess.PIPE,
        pass_fds=(said,),
    )
    os.close(said)
    with os.fdopen(ready) as pipe:
        assert pipe.readline(), "the demonstration did not start"
    yield
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(60) == 0


@pytest.mark.usefixtures("demonstration")
def test_the_map_fills_as_the_votes_are_counted(
    platform: RunningPlatform, browser_page: Page, axe: Callable[[Page], None], shot: Callable[..., Path]
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/demos/elections")
    expect(page.get_by_role("heading", level=1)).to_have_text("Election night")
    expect(page.get_by_role("status")).to_contain_text(re.compile("Spark is starting|polls are open|being counted"))
    expect(page.locator(".map .region")).to_have_count(19)
    expect(page.get_by_text("© Instituto Geográfico Nacional de España, CC-BY 4.0 (via es-atlas, MIT)")).to_be_visible()
    coloured = page.locator(".map .region[style*='--party-']")
    expect(coloured.nth(9)).to_be_attached(timeout=SPARK_MILLISECONDS)
    shot(page, "elections-filling-light")
    madrid = page.get_by_role("button", name=re.compile("^Comunidad de Madrid"))
    madrid.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("community=13"))
    expect(page.get_by_role("heading", name="Comunidad de Madrid")).to_be_visible()
    expect(coloured).to_have_count(19, timeout=SPARK_MILLISECONDS)
    expect(page.locator("table.results").first).to_contain_text(re.compile(r"\d ±\d"), timeout=SPARK_MILLISECONDS)
    axe(page)
    shot(page, "elections-light")
    # What the map says by colour, the table says in words.
    name = madrid.get_attribute("aria-label") or ""
    winner = re.search(r": (\w+) leads", name)
    assert winner is not None
    expect(page.get_by_role("row", name=re.compile("^Comunidad de Madrid"))).to_contain_text(winner[1])
    page.goto(f"{platform.url}/demos/elections?community=09&lang=es&theme=dark")
    expect(page.get_by_role("heading", level=1)).to_have_text("Noche electoral")
    expect(page.get_by_role("heading", name="Cataluña")).to_be_visible()
    axe(page)
    shot(page, "elections-dark-es")


@pytest.mark.usefixtures("demonstration")
def test_the_board_follows_the_game_and_goes_back_in_it(
    platform: RunningPlatform, browser_page: Page, axe: Callable[[Page], None], shot: Callable[..., Path]
) -> None:
    page = browser_page
    page.goto(f"{platform.url}/demos/chess")
    expect(page.locator("[data-move='6']")).to_be_visible(timeout=SPARK_MILLISECONDS)
    axe(page)
    shot(page, "chess-light")
    page.locator("[data-move='1']").click()
    expect(page).to_have_url(re.compile("move=1"))
    expect(page.locator("[data-square='e4']")).to_contain_text("white pawn")
    expect(page.locator("[data-square='e2']")).to_contain_text("empty square")
    slider = page.get_by_label("By move")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-square='e5']")).to_contain_text("black pawn")
    page.get_by_label("By time").focus()
    page.keyboard.press("Home")
    expect(page.locator("[data-square='e5']")).to_contain_text("empty square")
    page.get_by_role("button", name="Live game").click()
    expect(page.get_by_role("status")).to_contain_text("Live game")
    expect(page).not_to_have_url(re.compile("move="))
    page.goto(f"{platform.url}/demos/chess?lang=es&theme=dark")
    expect(page.locator("table.board")).to_contain_text("rey, blancas")
    axe(page)
    shot(page, "chess-dark-es")
