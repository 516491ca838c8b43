"""ARCHITECTURE.md's map of the files is checked against the tree, both ways, and so are a few rules of the house."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "caudal"
SITE = SOURCE / "ui" / "site"  # the documentation, where it was built; not in the repository
# words that say nothing about what a file is for
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}


def mapped_files() -> set[str]:
    """The map is a heading per folder with a table of its files: ``### `src/caudal/…/` `` and ``| `file` | what |``."""
    files: set[str] = set()
    folder = ""
    for line in (ROOT / "ARCHITECTURE.md").read_text().splitlines():
        if heading := re.match(r"#+ `(src/.*/)`", line):
            folder = heading[1]
        elif line.startswith("#"):
            folder = ""
        elif folder and (row := re.match(r"\| `([^`]+)` \| .+ \|", line)):
            files.add(folder + row[1])
    return files


def source_files() -> set[str]:
    """Every file with something in it (an empty ``__init__.py`` only marks a package)."""
    return {
        str(path.relative_to(ROOT))
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and SITE not in path.parents and path.stat().st_size > 0
    }


def test_every_file_is_in_the_map() -> None:
    missing = source_files() - mapped_files()
    assert not missing, f"add to ARCHITECTURE.md: {sorted(missing)}"


def test_every_file_of_the_map_exists() -> None:
    gone = mapped_files() - {str(path.relative_to(ROOT)) for path in SOURCE.rglob("*")}
    assert not gone, f"remove from ARCHITECTURE.md: {sorted(gone)}"


def test_links_between_the_pages_lead_somewhere() -> None:
    """Of the repository's own pages. Those of docs/ also lead to pages made from the code: tests/docs/test_site.py."""
    pages = ROOT.glob("*.md")
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())]
    assert not [f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()]


def test_names_say_what_a_file_is_for() -> None:
    assert not [path for path in SOURCE.rglob("*.py") if path.stem in EMPTY_NAMES]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_begins_with_what_it_is_for(path: Path) -> None:
    text = path.read_text()
    assert not text.strip() or text.startswith(('"""', 'r"""')), (
        "a module starts with a docstring that says its purpose"
    )


def test_the_base_package_imports_no_optional_part() -> None:
    """`import caudal.testing` must work, and stay quick, where Spark is not installed."""
    heavy = ("pyspark", "pandas", "pyarrow")
    probe = f"import sys, caudal.testing, caudal.cli.main; print(*(name for name in {heavy} if name in sys.modules))"
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


def test_no_file_names_a_registry_or_a_machine() -> None:
    """Where packages come from is the machine's business (pip's and Ivy's own settings)."""
    pattern = re.compile(
        r"(index-url|extra-index|https?://[^\s)\"']*(pypi|maven|npmjs|artifactory|nexus|mirror)|/root/|/home/\w+/)",
        re.I,
    )
    places = [ROOT / name for name in ("pyproject.toml", "constraints.txt", "Makefile", "Dockerfile", ".ci/run")]
    places += [*(ROOT / "scripts").iterdir(), *SOURCE.rglob("*.py"), *SOURCE.rglob("*.toml")]
    found = [f"{path.name}: {match[0]}" for path in places for match in [pattern.search(path.read_text())] if match]
    assert not found
