"""The site builds without a warning and without the network, and its reference has everything that there is.

MkDocs' strict mode is the judge of links: a page, an anchor or an image that does not exist is a warning.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from subprocess import run
from xml.etree import ElementTree

import pytest

from caudal.broker.config.broker_tables import BROKER_DEFS
from caudal.broker.config.topic_table import TOPIC_DEFS
from caudal.connect.plugins import PluginKind
from caudal.docs_reference import PAGES, metrics
from caudal.docs_reference.commands import commands
from caudal.docs_reference.connectors import FILLED_IN, ours
from caudal.ksql.functions import resolution
from caudal.ksql.functions.registry import AGGREGATES, SCALARS, TABLE_FUNCTIONS
from tests.docs.blocks import DOCS, ROOT, blocks_of, pages

DIAGRAMS = sorted((DOCS / "diagrams").glob("*.svg"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


class _Page(HTMLParser):
    """What a page loads and where its links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.unnamed = 0  # images without a text
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given["id"]} if "id" in given else set()
        if tag in ("script", "img", "link") and (target := given.get("src") or given.get("href")):
            self.loads.append(target)
        elif tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "img" and not given.get("alt"):
            self.unnamed += 1
        if "diagram" in given.get("class", "").split():
            self.unnamed += not given.get("aria-label")


@pytest.fixture(scope="module")
def read(site: Path) -> dict[Path, _Page]:
    return {path: _Page(path.read_text()) for path in site.rglob("*.html")}


def test_every_link_and_image_of_the_site_leads_somewhere(read: dict[Path, _Page]) -> None:
    wrong = []
    for path, page in read.items():
        if path.name == "404.html":
            continue
        for target in (*page.loads, *page.links):
            if re.match(r"https?:|mailto:", target):
                continue
            file, _, anchor = target.partition("#")
            there = (path.parent / file).resolve() if file else path
            there = there / "index.html" if there.is_dir() else there
            if not there.is_file() or (anchor and there.suffix == ".html" and anchor not in read[there].anchors):
                wrong.append(f"{path.name}: {target}")
    assert wrong == []


def test_pages_load_nothing_from_elsewhere(site: Path, read: dict[Path, _Page]) -> None:
    outside = {target for page in read.values() for target in page.loads if re.match(r"(https?:)?//", target)}
    assert outside == set()
    styles = [path for path in site.rglob("*.css") if re.search(r"url\([\"']?https?:|@import", path.read_text())]
    assert styles == []


def test_every_picture_has_words(read: dict[Path, _Page]) -> None:
    assert [path.name for path, page in read.items() if page.unnamed] == []


def test_the_search_knows_every_page(site: Path) -> None:
    index = (site / "search" / "search_index.json").read_text()
    made = [f"{path.removesuffix('.md')}.html" for path in (*pages(), *PAGES)]
    assert [page for page in made if f'"{page}' not in index] == []


def _page(name: str) -> str:
    return PAGES[f"reference/{name}.md"]()


def test_every_command_and_flag_is_in_the_reference() -> None:
    page = _page("commands")
    sections = dict(re.findall(r"^## `([^`]+)`\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    for name, command in commands():
        for option in (each for each in command.params if each.param_type_name == "option" and not each.hidden):
            assert all(f"`{flag}`" in sections[name] for flag in option.opts), (name, option.opts)
    assert "--advertised" in sections["caudal broker"]


@pytest.mark.parametrize(("name", "definitions"), [("topic-configs", TOPIC_DEFS), ("broker-configs", BROKER_DEFS)])
def test_every_config_is_in_the_reference(name: str, definitions: dict[str, object]) -> None:
    page = _page(name)
    rows = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    assert set(rows) == {key for key, each in definitions.items() if not each.internal}  # type: ignore[attr-defined]


def test_every_function_is_in_the_reference() -> None:
    resolution.load()
    page = _page("sql-functions")
    assert [name for name in (*SCALARS, *AGGREGATES, *TABLE_FUNCTIONS) if f"`{name}(" not in page] == []


def test_every_connector_is_in_the_reference_with_its_keys() -> None:
    page = _page("connectors")
    for plugin in ours(PluginKind.SOURCE, PluginKind.SINK):
        section = page.split(f"\n## {plugin.name}\n")[1].split("\n## ")[0]
        keys = [key.name for key in plugin.cls.config().keys if key.name not in FILLED_IN]
        assert [key for key in keys if f"| `{key}` |" not in section] == [], plugin.name


def test_metrics_that_pages_name_exist() -> None:
    parts = (metrics.broker_families, metrics.registry_families, metrics.connect_families, metrics.ksql_families)
    known = {family.name for part in (*parts, metrics.streams_families) for family in part()}
    known |= {name + end for name in known for end in ("_bucket", "_sum", "_count")}

    def named() -> Iterator[str]:
        for page in ("howto/monitoring.md", "howto/dead-letters.md", "real-time.md"):
            text = (DOCS / page).read_text()
            yield from re.findall(r"\bcaudal_[a-z_]+[a-z]\b", re.sub(r"```console.*?```", "", text, flags=re.DOTALL))

    assert set(named()) - known == set()


@pytest.mark.parametrize("diagram", DIAGRAMS, ids=lambda path: path.stem)
def test_diagrams_are_drawn_alike_and_used(diagram: Path) -> None:
    """One style for all, which the site's stylesheet repeats class by class; a title; and a page that shows it."""
    text = diagram.read_text()
    style = re.search(r"<style>.*?</style>", text, re.DOTALL)
    assert style and style[0] in DIAGRAMS[0].read_text()
    drawing = ElementTree.fromstring(text)
    assert drawing[0].tag.endswith("title") and drawing[0].text
    classes = {name for each in drawing.iter() for name in each.get("class", "").split()}
    stylesheet = (DOCS / "stylesheets" / "caudal.css").read_text()
    assert [name for name in classes if f".diagram .{name}" not in stylesheet] == []
    assert any(f"diagrams/{diagram.name})" in (DOCS / page).read_text() for page in pages())


def test_code_fits_the_page() -> None:
    """Code and outputs of the pages that are ours alone; a reader of a narrow screen scrolls enough as it is."""
    folders = ("concepts/", "howto/", "migrate/")
    long = [
        f"{block}: {line}"
        for page in pages()
        if page.startswith(folders) or page in ("index.md", "tutorial.md", "broker.md", "groups.md")
        for block in blocks_of(page)
        if block.language in ("python", "text", "json", "properties")
        for line in block.text.splitlines()
        if len(line) > 110
    ]
    assert long == []
