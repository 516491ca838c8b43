"""Every block of code in docs/ does what the page says: each page from top to bottom, against one running platform.

Blocks that cannot run here are listed by name and reason, and their syntax is checked all the same.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from tests.docs.blocks import DOCS, ROOT, Block, blocks_of, pages
from tests.docs.coverage import ELSEWHERE, OF_OTHERS, WITH_SPARK, own_test
from tests.docs.platform import Platform
from tests.docs.running import PageRun

HERE = {
    page: found
    for page in pages()
    if page not in (*OF_OTHERS, *WITH_SPARK)
    and (found := [block for block in blocks_of(page) if own_test(block) is None])
}
TYPED = [page for page, found in HERE.items() if any(block.language == "console" for block in found)]
QUIET = [page for page in HERE if page not in TYPED]
SLOW = {"tutorial.md": "Spark starts twice, as it does for the reader"}
NOT_RUN = [block for page in pages() for block in blocks_of(page) if block.note == "not run"]


@pytest.mark.parametrize("page", QUIET)
def test_the_page_without_commands(page: str, tmp_path: Path) -> None:
    PageRun(page, tmp_path).run(HERE[page])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", [pytest.param(page, marks=pytest.mark.slow if page in SLOW else ()) for page in TYPED])
def test_the_page_as_it_is_typed(page: str, platform: Platform) -> None:
    folder = platform.folder / page.removesuffix(".md").replace("/", "-")
    folder.mkdir()
    PageRun(page, folder, platform).run(HERE[page])


@pytest.mark.parametrize("block", NOT_RUN, ids=lambda block: f"{block} ({block.reason})")
def test_what_cannot_run_here_has_a_reason_and_is_well_formed(block: Block) -> None:
    assert block.reason, f"{block} does not say why"
    if block.language == "python":
        compile(block.text, str(block), "exec")
    elif block.language in ("sh", "console"):
        script = "\n".join(line.removeprefix("$ ") for line in block.text.splitlines())
        subprocess.run(["bash", "-n", "-c", script], check=True)
    elif block.language == "yaml":
        assert all("kind" in each for each in yaml.safe_load_all(block.text))
    else:
        assert block.language in ("java", "sql", "dockerfile", "ini"), f"{block}: nobody looks at {block.language}"


def test_pages_with_tests_of_their_own_are_named_there() -> None:
    for page, languages in ELSEWHERE.items():
        assert (DOCS / page).is_file(), page
        for test in languages.values():
            assert Path(page).stem.replace("-", "") in (ROOT / test).read_text().replace("-", ""), (page, test)


def test_every_language_is_one_that_somebody_runs() -> None:
    known = {
        "",
        "text",
        "python",
        "console",
        "sh",
        "sql",
        "json",
        "yaml",
        "toml",
        "properties",
        "java",
        "dockerfile",
        "ini",
    }
    found = {block.language for page in pages() for block in blocks_of(page)}
    assert found <= known, found - known


def test_shell_blocks_are_typed_or_belong_to_another_test() -> None:
    """A `sh` block shows commands without outputs; only pages with tests of their own have them."""
    bare = [block for page in HERE for block in HERE[page] if block.language == "sh" and block.note != "not run"]
    assert bare == []
